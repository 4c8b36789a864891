"""No number at its end, and no entry out of its place, comes as far as a voter."""

from __future__ import annotations

import pytest

from tidelog.raft.well_formed import NUMBER_MAX, fault
from tidelog.v1.raft_pb2 import (
    AppendEntries,
    AppendEntriesReply,
    InstallSnapshot,
    LogEntry,
    PreVote,
    RaftMessage,
    Rejoin,
    RequestVote,
)


def entries(*terms: int, previous_term: int = 1) -> AppendEntries:
    return AppendEntries(
        previous_index=4, previous_term=previous_term, entries=[LogEntry(term=t) for t in terms]
    )


@pytest.mark.parametrize(
    "message",
    [
        RaftMessage(term=-1),
        RaftMessage(term=NUMBER_MAX),
        RaftMessage(term=1, incarnation=-1, rejoin=Rejoin()),
        RaftMessage(term=1, incarnation=2**63 - 1, rejoin=Rejoin()),
        RaftMessage(term=1, pre_vote=PreVote(last_log_index=-5)),
        RaftMessage(term=1, request_vote=RequestVote(last_log_term=2**63 - 1)),
        RaftMessage(term=1, append_entries_reply=AppendEntriesReply(next_index=-(2**63))),
        RaftMessage(term=1, append_entries=AppendEntries(previous_index=2**63 - 1)),
        RaftMessage(term=3, append_entries=entries(1, 4)),
        RaftMessage(term=3, append_entries=entries(2, 1)),
        RaftMessage(term=3, append_entries=entries(1, previous_term=2)),
        RaftMessage(term=3, install_snapshot=InstallSnapshot(last_term=4)),
        RaftMessage(term=3, install_snapshot=InstallSnapshot(total_bytes=1, offset=1, data=b"x")),
    ],
)
def test_what_no_voter_writes_has_a_fault(message: RaftMessage) -> None:
    assert fault(message)


@pytest.mark.parametrize(
    "message",
    [
        RaftMessage(),
        RaftMessage(term=NUMBER_MAX - 1, incarnation=NUMBER_MAX - 1),
        RaftMessage(term=3, append_entries=entries()),
        RaftMessage(term=3, append_entries=entries(1, 2, 2, 3)),
        RaftMessage(term=3, install_snapshot=InstallSnapshot(total_bytes=1, data=b"x")),
    ],
)
def test_what_a_voter_may_write_has_none(message: RaftMessage) -> None:
    assert fault(message) is None
