"""The wire form of what voters say: everything needed, nothing else."""

from __future__ import annotations

import pytest

from tidelog.raft.codec import Message, decode, encode
from tidelog.raft.wal import WalEntry
from tidelog.v1 import raft_pb2

MESSAGES: list[Message] = [
    {
        "type": "append_entries",
        "prevLogIdx": 6,
        "prevLogTerm": 2,
        "commit_index": 5,
        "entries": [WalEntry(b"\0a", 7, 2), WalEntry(b"\1", 8, 3)],
    },
    {
        "type": "append_entries",
        "prevLogIdx": 1,
        "prevLogTerm": 0,
        "commit_index": 1,
        "entries": [],
    },
    {"type": "next_node_idx", "next_node_idx": 9, "success": True, "reset": False},
    {"type": "request_vote", "last_log_index": 8, "last_log_term": 3},
    {"type": "response_vote"},
    {"type": "pre_vote", "last_log_index": 8, "last_log_term": 3},
    {"type": "pre_vote_reply", "asked_term": 3, "is_granted": True},
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: str(message["type"]))
def test_a_message_keeps_its_meaning_on_the_wire(message: Message) -> None:
    data = encode(message, raft_pb2.RaftMessage(term=3)).SerializeToString()

    assert decode(raft_pb2.RaftMessage.FromString(data)) == {**message, "term": 3}


@pytest.mark.parametrize("kind", ["apply_command", "timeout_now", "apply_command_response"])
def test_what_only_pickle_could_carry_has_no_wire_form(kind: str) -> None:
    with pytest.raises(ValueError, match=kind):
        encode({"type": kind}, raft_pb2.RaftMessage())


def test_a_body_of_a_later_version_is_no_message() -> None:
    assert decode(raft_pb2.RaftMessage(term=3)) is None
