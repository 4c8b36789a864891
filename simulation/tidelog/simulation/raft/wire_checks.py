"""Invariants of a voter's messages over its lives: I17, I19 of the fault catalogue.

Only what left a voter counts, so these hold whatever a crash lost. Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.simulation.suites.findings import Findings
from tidelog.v1.raft_pb2 import RaftMessage

_LEADERS_ONLY = frozenset({"append_entries", "install_snapshot"})


class WireChecks:
    """At most one leader a term, one vote a voter a term, terms that never fall."""

    def __init__(self, findings: Findings, *, on_elected: Callable[[int, int], None]) -> None:
        """`on_elected` is called once a term with the leader's first message: node, term."""
        self.leader_by_term: dict[int, int] = {}
        self._findings = findings
        self._on_elected = on_elected
        self._votes: dict[tuple[int, int], int] = {}
        self._terms: dict[int, int] = {}

    def on_wiped(self, node_id: int) -> None:
        """Its disk is new: it may not know its term. Its votes stand all the same."""
        self._terms.pop(node_id, None)

    def on_sent(self, message: RaftMessage) -> None:
        """A voter handed `message` to its transport."""
        kind = message.WhichOneof("body")
        sender = message.sender_id
        self._check_term(sender, message.term)
        if kind in _LEADERS_ONLY:
            self._check_leader(sender, message.term)
        elif kind == "vote_granted":
            self._check_vote(sender, message.term, candidate=message.receiver_id)
        elif kind == "request_vote":
            self._check_vote(sender, message.term, candidate=sender)

    def _check_term(self, sender: int, term: int) -> None:
        known = self._terms.get(sender, 0)
        if term < known:
            self._findings.report("term_falls", f"n{sender} spoke in term {known}, now in {term}")
        self._terms[sender] = term

    def _check_leader(self, sender: int, term: int) -> None:
        leader = self.leader_by_term.get(term)
        if leader is None:
            self.leader_by_term[term] = sender
            self._findings.coverage["elections"] += 1
            self._on_elected(sender, term)
        elif leader != sender:
            self._findings.report("I17", f"n{leader} and n{sender} both lead in term {term}")

    def _check_vote(self, sender: int, term: int, *, candidate: int) -> None:
        known = self._votes.setdefault((sender, term), candidate)
        if known != candidate:
            self._findings.report(
                "I19", f"n{sender} voted for n{known} and for n{candidate} in term {term}"
            )
