"""Evidence of transactions: of each, what committed readers were shown and what they passed by.

A committed reader passes no record before its transaction is decided (KIP-98: the last stable
offset). So what it was shown is committed, and what it passed without is aborted. A transaction
whose outcome nobody knows may be either; all that is known of it must say the same. Judges nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import NamedTuple

from tidelog.history.checks.group_evidence import GroupEvidence
from tidelog.history.checks.partition_evidence import Partition
from tidelog.history.history import Commit, Committed, History, Outcome, Poll, Send, Transaction


class Effect(NamedTuple):
    """A commit of an offset, as its transaction left it."""

    outcome: Outcome
    known_s: float
    """From then on look-ups must see it, if the outcome is ok."""


@dataclass
class TransactionEvidence:
    """A transaction and its traces. Of several polls of one record the first is kept."""

    call: Transaction
    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    """Its own reading, in it."""
    shown: dict[bytes, Poll] = field(default_factory=dict)
    """By value, the committed reader's poll that showed it."""
    early: dict[bytes, Poll] = field(default_factory=dict)
    """By value, a committed reader's poll that showed it before the commit was begun."""
    passed: dict[bytes, Poll] = field(default_factory=dict)
    """By value, the committed reader's poll that went on behind its offset without it."""
    offset_seen: Committed | Poll | None = None
    """The call that saw an offset which nothing but this transaction committed."""
    by_value: dict[bytes, Send] = field(default_factory=dict)

    @cached_property
    def outcome(self) -> Outcome:
        """Ok: surely committed. Fail: surely aborted. What the client knows is believed first."""
        if self.call.outcome != "unknown":
            return self.call.outcome
        if self.shown or self.offset_seen is not None:
            return "ok"
        return "fail" if self.passed or self.call.commit_begun_s is None else "unknown"

    @property
    def may_be_committed(self) -> bool:
        """False if the client alone knows that it is aborted."""
        return self.call.outcome != "fail" and self.call.commit_begun_s is not None

    @property
    def known_s(self) -> float:
        """From when on it is known to be committed, in seconds; infinity if it is not."""
        if self.outcome != "ok":
            return inf
        seen: list[Committed | Poll] = list(self.shown.values())
        seen += [] if self.offset_seen is None else [self.offset_seen]
        ends = [one.ended_s for one in seen]
        if self.call.outcome == "ok" and self.call.ended_s is not None:
            ends.append(self.call.ended_s)
        return min(ends, default=inf)


class Transactions:
    """Transactions of a history, by number."""

    def __init__(self, history: History, partitions: Iterable[Partition]) -> None:
        self.by_number = {one.number: TransactionEvidence(one) for one in history.transactions}
        for poll in history.polls:
            if poll.transaction is not None and (one := self.by_number.get(poll.transaction)):
                one.polls.append(poll)
        for partition in partitions if self.by_number else ():
            self._note(partition)

    def note_offsets(self, groups: GroupEvidence) -> None:
        """Note offsets seen that only a commit has whose transaction may be either."""
        for shared in groups.partitions.values():
            by_offset: defaultdict[int | None, list[Commit]] = defaultdict(list)
            for commit in shared.commits:
                if self._may_count(commit):
                    by_offset[commit.offset].append(commit)
            for seen in shared.seen():
                fitting = [one for one in by_offset[seen.offset] if one.invoked_s < seen.ended_s]
                owners = {one.transaction for one in fitting}
                owner = self.of(fitting[0]) if len(owners) == 1 else None
                if owner is not None and seen.offset:
                    owner.offset_seen = owner.offset_seen or seen.call
        for one in self.by_number.values():
            one.__dict__.pop("outcome", None)
        self.__dict__.pop("uncommitted", None)

    @cached_property
    def uncommitted(self) -> frozenset[int]:
        """Numbers of transactions that are not surely committed."""
        return frozenset(n for n, one in self.by_number.items() if one.outcome != "ok")

    def of(self, call: Send | Poll | Commit) -> TransactionEvidence | None:
        """The transaction to which a call belongs."""
        return None if call.transaction is None else self.by_number.get(call.transaction)

    def effect(self, commit: Commit) -> Effect:
        """Find the outcome of a commit of an offset."""
        one = self.of(commit)
        if one is None or commit.outcome == "fail":
            return Effect(commit.outcome, inf if commit.ended_s is None else commit.ended_s)
        if one.outcome == "ok":
            return Effect(commit.outcome, one.known_s)
        return Effect(one.outcome, inf)

    def _may_count(self, commit: Commit) -> bool:
        """False for what was refused, or aborted as its client knows."""
        one = self.of(commit)
        return commit.outcome != "fail" and (one is None or one.may_be_committed)

    def _note(self, partition: Partition) -> None:
        own = [send for send in partition.sends if send.transaction in self.by_number]
        for send in own:
            one = self.by_number[send.transaction or 0]
            one.sends.append(send)
            one.by_value[send.value] = send
        if not own or partition.is_lossy or partition.removals is not None:
            return  # An unclean election may lose markers, retention half of a transaction.
        known = sorted(_known_places(partition))
        for poll in partition.polls:
            if poll.is_committed:
                self._note_poll(partition, known, poll)

    def _note_poll(self, partition: Partition, known: list[tuple[int, bytes]], poll: Poll) -> None:
        shown = {value for _, value in poll.records}
        for value in shown:
            send = partition.writers.get(value)
            one = None if send is None else self.of(send)
            if one is not None:
                one.shown.setdefault(value, poll)
                begun_s = one.call.commit_begun_s
                if begun_s is None or poll.ended_s < begun_s:
                    one.early.setdefault(value, poll)
        for at in range(bisect_left(known, (poll.position, b"")), len(known)):
            offset, value = known[at]
            if offset >= poll.next_position:
                break
            if value not in shown:
                one = self.of(partition.writers[value])
                if one is not None:
                    one.passed.setdefault(value, poll)


def _known_places(partition: Partition) -> Iterator[tuple[int, bytes]]:
    """Offsets and values of records in transactions whose place is known for good."""
    noted = set()
    for send in partition.lasting:
        if send.transaction is not None and send.offset is not None:
            noted.add(send.value)
            yield send.offset, send.value
    for offset, value in partition.read.items():
        writer = partition.writers.get(value)
        if writer is not None and writer.transaction is not None and value not in noted:
            yield offset, value
