"""Elections: a leader has the votes of a majority in its very term: 5.2 of the Raft paper.

Looks only at what left the voters, so it holds whatever a crash lost. Pure.
"""

from __future__ import annotations

from collections import defaultdict

from tidelog.simulation.suites.findings import Findings
from tidelog.v1.raft_pb2 import RaftMessage

_LEADERS_ONLY = frozenset({"append_entries", "install_snapshot"})


class ElectionChecks:
    """Votes that were sent, and the leaders they made."""

    def __init__(self, findings: Findings, *, voters: int) -> None:
        self._findings = findings
        self._majority = voters // 2 + 1
        self._votes: dict[tuple[int, int], set[int]] = defaultdict(set)
        """By term and candidate: who said to have voted for it."""
        self._judged: set[tuple[int, int]] = set()

    def on_sent(self, message: RaftMessage) -> None:
        """A voter handed `message` to its transport."""
        kind = message.WhichOneof("body")
        if kind == "vote_granted":
            self._votes[message.term, message.receiver_id].add(message.sender_id)
        elif kind in _LEADERS_ONLY:
            self._judge(message.sender_id, message.term)

    def _judge(self, leader: int, term: int) -> None:
        if (term, leader) in self._judged:
            return
        self._judged.add((term, leader))
        voted = self._votes[term, leader] | {leader}
        if len(voted) < self._majority:
            self._findings.report(
                "election", f"n{leader} leads in term {term}, voted for by {sorted(voted)} alone"
            )
