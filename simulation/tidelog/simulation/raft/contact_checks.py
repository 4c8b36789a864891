"""Contacts: a leader is in contact with a majority, and its hearers do not help to depose it.

Check quorum and leader stickiness are no safety rules, but what a client waits for depends on them.
All times are the voter's own clock, in seconds. A voter acts on what it took in before its step and
speaks when its disk has synced, so both checks allow for what it cannot know. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.raft import rules
from tidelog.simulation.suites.findings import Findings
from tidelog.v1.raft_pb2 import RaftMessage

_LEADERS_ONLY = frozenset({"append_entries", "install_snapshot"})
_FOREVER_AGO = float("-inf")


@dataclass(slots=True)
class _Contacts:
    """Messages that one life of a voter took in."""

    since_s: float
    """It began, was elected, or went on after a pause."""
    led_term: int = 0
    by_peer: dict[int, float] = field(default_factory=dict)
    """When each last spoke in the term this voter leads."""
    incarnations: dict[int, int] = field(default_factory=dict)
    """By peer, the newest it was heard of, or came to on the way there."""
    leader_id: int = 0
    leader_term: int = 0
    leader_heard_s: list[float] = field(default_factory=list)
    """When the leader of `leader_term` spoke."""
    asked_s: dict[int, float] = field(default_factory=dict)
    """By candidate: its first pre-vote since it was last answered."""


class ContactChecks:
    """Check quorum, and leader stickiness where no connection can be lost."""

    def __init__(
        self, findings: Findings, *, voters: int, timeout_s_min: float, timeout_s_max: float
    ) -> None:
        self._findings = findings
        self._majority_of_peers = voters // 2
        self._timeout_s_min = timeout_s_min
        self._timeout_s_max = timeout_s_max
        self._contacts: dict[int, _Contacts] = {}

    def begin_life(self, node_id: int, now_s: float) -> None:
        """A voter starts."""
        self._contacts[node_id] = _Contacts(now_s)

    def on_resumed(self, node_id: int, now_s: float) -> None:
        """It was paused, and could not know what time it is."""
        self._contacts[node_id].since_s = now_s

    def on_delivered(self, node_id: int, message: RaftMessage, now_s: float, *, term: int) -> None:
        """A message reached a voter, whose own term is `term`.

        One from too far ahead is not heard, but a step on the way there (decision 0025): after a
        leap a restarted voter hears the leader's second message, not the first.
        """
        contacts = self._contacts[node_id]
        sender = message.sender_id
        known = contacts.incarnations.get(sender, 0)
        if message.incarnation < known:
            return  # what an earlier process said counts for nothing
        reached = rules.climbed_incarnation(message.incarnation, known)
        if reached > known and sender == contacts.leader_id:
            contacts.leader_heard_s = []
        contacts.incarnations[sender] = reached
        if reached < message.incarnation or rules.climbed_term(message.term, term) < message.term:
            return
        if message.term == contacts.led_term:
            contacts.by_peer[sender] = now_s
        kind = message.WhichOneof("body")
        if kind == "pre_vote":
            contacts.asked_s.setdefault(sender, now_s)
        elif kind in _LEADERS_ONLY:
            self._hear(contacts, message, now_s)

    def _hear(self, contacts: _Contacts, message: RaftMessage, now_s: float) -> None:
        if message.term > contacts.leader_term:
            contacts.leader_id, contacts.leader_term = message.sender_id, message.term
            contacts.leader_heard_s = []
        if (message.sender_id, message.term) == (contacts.leader_id, contacts.leader_term):
            contacts.leader_heard_s.append(now_s)

    def on_sent(
        self, message: RaftMessage, now_s: float, *, sync_s: float, can_lose_connections: bool
    ) -> None:
        """A voter speaks; a sync of its disk takes `sync_s` now."""
        contacts = self._contacts[message.sender_id]
        kind = message.WhichOneof("body")
        if kind in _LEADERS_ONLY:
            self._check_quorum(contacts, message, now_s, decided_s=now_s - 8 * sync_s)
        elif kind == "pre_vote_reply":
            asked_s = contacts.asked_s.pop(message.receiver_id, _FOREVER_AGO)
            if message.pre_vote_reply.is_granted and not can_lose_connections:
                self._check_stickiness(contacts, message, asked_s, now_s)

    def _check_quorum(
        self, contacts: _Contacts, message: RaftMessage, now_s: float, *, decided_s: float
    ) -> None:
        if message.term != contacts.led_term:
            contacts.led_term = message.term
            contacts.by_peer = {}
            contacts.since_s = now_s
        heard_s = sorted(contacts.by_peer.values(), reverse=True)
        is_enough = len(heard_s) >= self._majority_of_peers
        contact_s = heard_s[self._majority_of_peers - 1] if is_enough else _FOREVER_AGO
        silent_s = decided_s - max(contacts.since_s, contact_s)
        if silent_s > 2 * self._timeout_s_max:
            self._findings.report(
                "check_quorum",
                f"n{message.sender_id} leads in term {message.term} though no majority spoke to "
                f"it for {silent_s:.2f} s",
            )

    def _check_stickiness(
        self, contacts: _Contacts, message: RaftMessage, asked_s: float, now_s: float
    ) -> None:
        if message.term != contacts.leader_term:
            return
        heard_s = max((at for at in contacts.leader_heard_s if at <= asked_s), default=None)
        if heard_s is not None and now_s - heard_s < self._timeout_s_min:
            self._findings.report(
                "leader_stickiness",
                f"n{message.sender_id} would vote for n{message.receiver_id}, having heard the "
                f"leader of term {message.term} {now_s - heard_s:.3f} s before",
            )
