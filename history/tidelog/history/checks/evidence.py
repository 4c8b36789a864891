"""A history by partition: what was read and acknowledged where. Pure; judges nothing.

One pass over the history. Millions of calls must fit: per record nothing is kept but the offset and
the value it was read with; which call showed it first is looked up when somebody asks.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import inf
from operator import attrgetter
from typing import NamedTuple

from tidelog.history.checks.group_evidence import GroupEvidence
from tidelog.history.history import ACKS_ALL, History, Poll, Send


class Place(NamedTuple):
    """A value at an offset, and the first call that showed it there."""

    offset: int
    value: bytes
    call: Send | Poll


@dataclass
class Partition:
    """A partition of one incarnation of a topic, with its calls in their order."""

    topic: str
    incarnation: int
    partition: int
    is_lossy: bool
    is_newest: bool = True
    """The topic was not created again: what it holds was there to be read at the end."""
    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    writers: dict[bytes, Send] = field(default_factory=dict)
    """The send of each value."""
    read: dict[int, bytes] = field(default_factory=dict)
    """By offset, what some poll showed first."""
    final: dict[int, bytes] = field(default_factory=dict)
    """By offset, what the final polls showed first."""
    final_end: int | None = None
    """The offset after the final polls; None: there were none."""
    last_final: Poll | None = None
    """The final poll that ended there."""
    is_read_alike: bool = True
    """No two polls showed another value at one offset."""
    strange: list[Place] = field(default_factory=list)
    """Read, and explained by no write that was sent here before and not refused."""

    @property
    def name(self) -> str:
        """For people."""
        again = f" (incarnation {self.incarnation})" if self.incarnation else ""
        return f"{self.topic}-{self.partition}{again}"

    @property
    def is_kept(self) -> bool:
        """True if all that was acknowledged in it must be there at the end."""
        return self.is_newest and not self.is_lossy

    @cached_property
    def first_call_s(self) -> float:
        """When the first call was made, in seconds."""
        calls: Iterable[Send | Poll] = chain(self.sends, self.polls)
        return min((call.invoked_s for call in calls), default=inf)

    @cached_property
    def final_values(self) -> frozenset[bytes]:
        """Values of the final polls, in any partition."""
        return frozenset(self.final.values())

    @cached_property
    def final_polls(self) -> dict[int, Poll]:
        """By offset, the first final poll that showed it."""
        return _first_polls(poll for poll in self.polls if poll.is_final)

    @cached_property
    def first_polls(self) -> dict[int, Poll]:
        """By offset, the first poll that showed it."""
        return _first_polls(self.polls)

    @cached_property
    def missing(self) -> list[Send]:
        """Acknowledged sends that the final polls did not show at their offset.

        acks=1 and lossy topics: not anywhere.
        """
        final, is_sure = self.final, not self.is_lossy
        return [
            send
            for send in self.sends
            if send.outcome == "ok"
            and (send.offset is None or final.get(send.offset) != send.value)
            and (
                (is_sure and send.acks == ACKS_ALL and send.offset is not None)
                or send.value not in self.final_values
            )
        ]

    @cached_property
    def lasting(self) -> list[Send]:
        """Acknowledged writes whose place is known for good, in the order of their numbers.

        acks=all promises it; the others must have been read there at the end.
        """
        is_sure, final = not self.is_lossy, self.final
        return [
            send
            for send in self.sends
            if send.outcome == "ok"
            and send.offset is not None
            and ((is_sure and send.acks == ACKS_ALL) or final.get(send.offset) == send.value)
        ]

    @cached_property
    def by_offset(self) -> list[Send]:
        """Sends that are `lasting`, by offset."""
        # Nearly sorted: that takes little more than one pass.
        return sorted(self.lasting, key=attrgetter("offset"))

    @cached_property
    def reversals(self) -> list[tuple[Send, Send]]:
        """Each of `lasting` that lies at or below an earlier one of its producer, with that."""
        found = []
        last: dict[str, tuple[int, Send]] = {}
        for send in self.lasting:
            offset = -1 if send.offset is None else send.offset
            before = last.get(send.process)
            if before is not None and offset <= before[0]:
                found.append((before[1], send))
            last[send.process] = offset, send
        return found

    @cached_property
    def moves(self) -> list[tuple[int, int, tuple[Poll, ...]]]:
        """Jumps of a consumer to another offset than follows: expected, actual, the polls."""
        found: list[tuple[int, int, tuple[Poll, ...]]] = []
        last: dict[tuple[str, bool], tuple[int, Poll]] = {}
        for poll in self.polls:
            # A member begins elsewhere after each assignment: `group_evidence` follows those.
            reader = poll.process, poll.is_final
            before, expected = None if poll.group else last.get(reader), poll.position
            if before is not None and before[0] != expected and not self._may_move(poll, before[0]):
                found.append((before[0], expected, (before[1], poll)))
            for offset, _ in poll.records:
                if offset != expected:
                    found.append((expected, offset, (poll,)))
                expected = offset + 1
            last[reader] = expected, poll
        return found

    def _may_move(self, poll: Poll, expected: int) -> bool:
        """Truncation moves a consumer back; forward, past records, only where they may be lost."""
        return poll.is_rewound and (self.is_lossy or poll.position < expected)

    def final_place(self, offset: int) -> Place | None:
        """The first value that the final polls showed at an offset."""
        value = self.final.get(offset)
        return None if value is None else Place(offset, value, self.final_polls[offset])

    def acknowledged(self) -> Iterator[Send]:
        """Sends that producers got acknowledged."""
        return (send for send in self.sends if send.outcome == "ok")

    def places(self) -> Iterator[Place]:
        """Every place that must hold what it was shown to hold, from all polls and acks=all.

        Of a lossy topic only what the final polls showed: offsets are reused there.
        """
        if not self.is_lossy:
            for send in self.acknowledged():
                if send.acks == ACKS_ALL and send.offset is not None:
                    yield Place(send.offset, send.value, send)
        for poll in self.polls:
            if poll.is_final or not self.is_lossy:
                for offset, value in poll.records:
                    yield Place(offset, value, poll)

    @cached_property
    def is_one_to_one(self) -> bool:
        """True if, over all `places`, each offset has one value and each value one offset."""
        if not self.is_read_alike:
            return False
        values = dict(self.final if self.is_lossy else self.read)
        for send in () if self.is_lossy else self.lasting:
            if send.offset is not None and values.setdefault(send.offset, send.value) != send.value:
                return False
        return len(set(values.values())) == len(values)


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
        newest: dict[str, int] = {}
        for topic, incarnation, _ in self.partitions:
            newest[topic] = max(incarnation, newest.get(topic, 0))
        for partition in self.partitions.values():
            partition.is_newest = partition.incarnation == newest[partition.topic]

    def writer(self, value: bytes) -> Send | None:
        """The send of a value, to any partition."""
        for partition in self.partitions.values():
            if (send := partition.writers.get(value)) is not None:
                return send
        return None

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
        partition = Partition(topic, incarnation, number, is_lossy=is_lossy)
        return self.partitions.setdefault((topic, incarnation, number), partition)


def _note_poll(partition: Partition, poll: Poll) -> None:
    """Note a poll after every send is noted."""
    partition.polls.append(poll)
    read, writers, end = partition.read, partition.writers, poll.position
    for offset, value in poll.records:
        known = read.setdefault(offset, value)
        if known is not value and known == value:
            continue  # As another poll showed it before.
        partition.is_read_alike = partition.is_read_alike and known == value
        send = writers.get(value)
        if send is None or send.outcome == "fail" or send.invoked_s > poll.ended_s:
            partition.strange.append(Place(offset, value, poll))
    if poll.records:
        end = poll.records[-1][0] + 1
    if poll.is_final:
        for offset, value in poll.records:
            partition.final.setdefault(offset, value)
        if partition.final_end is None or end >= partition.final_end:
            partition.final_end, partition.last_final = end, poll


def _first_polls(polls: Iterator[Poll] | list[Poll]) -> dict[int, Poll]:
    found: dict[int, Poll] = {}
    for poll in polls:
        for offset, _ in poll.records:
            found.setdefault(offset, poll)
    return found
