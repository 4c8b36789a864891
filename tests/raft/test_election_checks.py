"""Who leads was voted for by a majority in its own term: found where it was not, not elsewhere."""

from __future__ import annotations

import pytest

from tidelog.simulation.raft.election_checks import ElectionChecks
from tidelog.simulation.suites.findings import Findings
from tidelog.v1.raft_pb2 import RaftMessage


@pytest.mark.parametrize(
    ("votes", "violated"),
    [
        ([(2, 4, 1), (3, 4, 1)], []),
        ([(2, 4, 1), (2, 4, 1)], ["election"]),
        ([(2, 4, 1), (3, 3, 1)], ["election"]),
        ([(2, 4, 1), (3, 4, 5)], ["election"]),
    ],
    ids=["two others of five", "the same one twice", "one in an older term", "one for another"],
)
def test_a_leader_needs_the_votes_of_a_majority_in_its_own_term(
    votes: list[tuple[int, int, int]], violated: list[str]
) -> None:
    findings = Findings()
    checks = ElectionChecks(findings, voters=5)
    for sender, term, candidate in votes:
        message = RaftMessage(sender_id=sender, receiver_id=candidate, term=term)
        message.vote_granted.SetInParent()
        checks.on_sent(message)

    leaders_word = RaftMessage(sender_id=1, receiver_id=2, term=4)
    leaders_word.append_entries.SetInParent()
    checks.on_sent(leaders_word)
    checks.on_sent(leaders_word)

    assert [violation.invariant for violation in findings.violations] == violated
