"""The wire form of what PySyncObj says and reads itself: everything needed, nothing else."""

from __future__ import annotations

import pytest

from tidelog.raft.pysyncobj.codec import Message, decode, encode
from tidelog.raft.pysyncobj.journal import LibraryEntry
from tidelog.v1.raft_pb2 import AppendEntries, LogEntry, RaftMessage, VoteGranted

VOTES: list[Message] = [
    {"type": "request_vote", "term": 3, "last_log_index": 8, "last_log_term": 3},
    {"type": "response_vote", "term": 3},
]


@pytest.mark.parametrize("message", VOTES, ids=lambda message: str(message["type"]))
def test_what_the_library_says_and_reads_keeps_its_meaning_on_the_wire(message: Message) -> None:
    envelope = RaftMessage(term=3)

    encode(message, envelope)

    assert decode(RaftMessage.FromString(envelope.SerializeToString())) == message


def test_entries_are_sent_without_their_indexes_which_follow_the_previous_one() -> None:
    envelope = RaftMessage(term=3)

    encode(
        {
            "type": "append_entries",
            "prevLogIdx": 6,
            "prevLogTerm": 2,
            "commit_index": 5,
            "entries": [LibraryEntry(b"\0a", 7, 2), LibraryEntry(b"\1", 8, 3)],
        },
        envelope,
    )

    assert envelope.append_entries == AppendEntries(
        previous_index=6,
        previous_term=2,
        commit_index=5,
        entries=[LogEntry(term=2, command=b"\0a"), LogEntry(term=3, command=b"\1")],
    )


@pytest.mark.parametrize(
    "message",
    [
        {"type": "apply_command", "command": b""},
        {"type": "timeout_now"},
        {"type": "append_entries", "serialized": (b"", True, True)},
        {"type": "append_entries", "transmission": "start", "data": b""},
    ],
    ids=str,
)
def test_what_only_pickle_could_carry_has_no_wire_form(message: Message) -> None:
    with pytest.raises(ValueError, match="no wire form"):
        encode(message, RaftMessage())


def test_the_library_is_shown_votes_alone() -> None:
    assert decode(RaftMessage(vote_granted=VoteGranted()))["type"] == "response_vote"
    with pytest.raises(ValueError, match="does not read 'append_entries'"):
        decode(RaftMessage(append_entries=AppendEntries()))
