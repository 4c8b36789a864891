"""Evidence of a whole history, by partition. Pure; judges nothing.

One pass over the history.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from functools import cached_property
from math import inf
from operator import attrgetter

from tidelog.history.checks.group_evidence import GroupEvidence
from tidelog.history.checks.partition_evidence import Partition, Place
from tidelog.history.checks.record_parts import difference
from tidelog.history.checks.transaction_evidence import Transactions
from tidelog.history.history import History, Poll, Send


class Evidence:
    """The whole history, by partition."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.partitions: dict[tuple[str, int, int], Partition] = {}
        by_number = attrgetter("number")
        for send in sorted(history.sends, key=by_number):
            key = send.topic, send.incarnation, send.partition
            partition = self.partitions.get(key) or self._begin(*key)
            partition.sends.append(send)
            partition.writers[send.value] = send
        for poll in sorted(history.polls, key=by_number):
            key = poll.topic, poll.incarnation, poll.partition
            _note_poll(self.partitions.get(key) or self._begin(*key), poll)
        for deletion in history.deletions:
            key = deletion.topic, deletion.incarnation, deletion.partition
            (self.partitions.get(key) or self._begin(*key)).deletions.append(deletion)
        newest: dict[str, int] = {}
        for topic, incarnation, _ in self.partitions:
            newest[topic] = max(incarnation, newest.get(topic, 0))
        for partition in self.partitions.values():
            partition.is_newest = partition.incarnation == newest[partition.topic]
        self.transactions = Transactions(history, self.partitions.values())
        if history.transactions:
            self.transactions.note_offsets(self.groups)
        for partition in self.partitions.values():
            partition.uncommitted = self.transactions.uncommitted

    def writer(self, value: bytes) -> Send | None:
        """The send of a value, to any partition."""
        for partition in self.partitions.values():
            if (send := partition.writers.get(value)) is not None:
                return send
        return None

    def is_committed(self, send: Send) -> bool:
        """True of a record in a transaction that is surely committed."""
        one = self.transactions.of(send)
        return one is not None and one.outcome == "ok"

    @cached_property
    def groups(self) -> GroupEvidence:
        """The calls of consumer groups."""
        return GroupEvidence(self.history)

    @cached_property
    def began_s(self) -> dict[tuple[str, int], float]:
        """When an incarnation of a topic was first called, in seconds."""
        found: dict[tuple[str, int], float] = {}
        for (topic, incarnation, _), partition in self.partitions.items():
            key = topic, incarnation
            found[key] = min(partition.first_call_s, found.get(key, inf))
        return found

    @cached_property
    def strange_readings(self) -> list[tuple[Partition, Place, Send | None]]:
        """Values read that no write to this partition explains, once each, and who sent them."""
        found = []
        for partition in self.partitions.values():
            first = {place.value: place for place in reversed(partition.strange)}
            found += [(partition, place, self.writer(place.value)) for place in first.values()]
        return found

    def _begin(self, topic: str, incarnation: int, number: int) -> Partition:
        is_lossy = topic in self.history.lossy_topics
        partition = Partition(
            topic,
            incarnation,
            number,
            is_lossy=is_lossy,
            keeping=self.history.keeping.get(topic),
            wall_s=self.history.wall_s,
        )
        return self.partitions.setdefault((topic, incarnation, number), partition)


def _note_poll(partition: Partition, poll: Poll) -> None:
    """Note a poll after every send is noted."""
    partition.polls.append(poll)
    if poll.parts:
        _compare_parts(partition, poll)
    read, writers, end = partition.read, partition.writers, poll.next_position
    for offset, value in poll.records:
        known = read.setdefault(offset, value)
        if known is not value and known == value:
            continue  # As another poll showed it before.
        partition.is_read_alike = partition.is_read_alike and known == value
        send = writers.get(value)
        if send is None or send.outcome == "fail" or send.invoked_s > poll.ended_s:
            partition.strange.append(Place(offset, value, poll))
    if poll.is_final:
        for offset, value in poll.records:
            partition.final.setdefault(offset, value)
        if partition.final_end is None or end >= partition.final_end:
            partition.final_end, partition.last_final = end, poll


def _compare_parts(partition: Partition, poll: Poll) -> None:
    """Note records that were read with other parts than they were sent with."""
    for (offset, value), read in zip(poll.records, poll.parts, strict=True):
        send = partition.writers.get(value)
        sent = None if send is None else send.parts
        if sent is not None and sent != read and (what := difference(sent, read)):
            partition.altered.append((Place(offset, value, poll), what))
