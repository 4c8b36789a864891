"""A history by partition: what was read and acknowledged where. Pure; judges nothing.

One pass over the history, and room in proportion to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.chaos.history import ACKS_ALL, History, Poll, Send


class Place(NamedTuple):
    """A value at an offset, and the first call that showed it there."""

    offset: int
    value: bytes
    call: Send | Poll


@dataclass(slots=True)
class Partition:
    """One partition of one incarnation of a topic, with its calls in their order."""

    topic: str
    incarnation: int
    partition: int
    is_lossy: bool
    is_newest: bool = True
    """The topic was not created again: what it holds was there to be read at the end."""
    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    read: dict[int, Place] = field(default_factory=dict)
    """By offset, what some poll showed first."""
    final: dict[int, Place] = field(default_factory=dict)
    """By offset, what the final polls showed first."""
    final_offsets: dict[bytes, int] = field(default_factory=dict)
    """Where the final polls showed a value first."""
    final_end: int | None = None
    """Where the final polls ended; None: there were none."""
    last_final: Poll | None = None
    """The final poll that ended there."""

    @property
    def name(self) -> str:
        """For people."""
        again = f" (incarnation {self.incarnation})" if self.incarnation else ""
        return f"{self.topic}-{self.partition}{again}"

    @property
    def is_kept(self) -> bool:
        """Whether all that was acknowledged in it must be there at the end."""
        return self.is_newest and not self.is_lossy

    def acknowledged(self) -> Iterator[Send]:
        """What producers were told is done."""
        return (send for send in self.sends if send.outcome == "ok")

    def places(self) -> Iterator[Place]:
        """Every place that must hold what it was shown to hold, from all polls and acks=all.

        Of a lossy topic only what the final polls showed: offsets are given anew there.
        """
        if not self.is_lossy:
            for send in self.acknowledged():
                if send.acks == ACKS_ALL and send.offset is not None:
                    yield Place(send.offset, send.value, send)
        for poll in self.polls:
            if poll.is_final or not self.is_lossy:
                for offset, value in poll.records:
                    yield Place(offset, value, poll)

    def lasting_offset(self, send: Send) -> int | None:
        """Where an acknowledged write lies for good; None: nowhere, or nobody knows.

        acks=all promises its offset; otherwise it must have been read there at the end.
        """
        if send.offset is None or (send.acks == ACKS_ALL and not self.is_lossy):
            return send.offset
        place = self.final.get(send.offset)
        return send.offset if place is not None and place.value == send.value else None

    def is_lost(self, send: Send) -> bool:
        """Whether an acknowledged write is not read at the end where it was acknowledged to be.

        acks=1 and lossy topics: not anywhere.
        """
        if send.value not in self.final_offsets:
            return True
        if send.acks != ACKS_ALL or self.is_lossy or send.offset is None:
            return False
        place = self.final.get(send.offset)
        return place is None or place.value != send.value


class Evidence:
    """The whole history, by partition and by value."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.partitions: dict[tuple[str, int, int], Partition] = {}
        self.writers: dict[bytes, Send] = {}
        """Who sent a value."""
        self.first_calls: dict[tuple[str, int], float] = {}
        """When an incarnation of a topic was first called, in seconds."""
        for send in sorted(history.sends, key=lambda send: send.number):
            self.writers[send.value] = send
            self._partition(send).sends.append(send)
        for poll in sorted(history.polls, key=lambda poll: poll.number):
            _note_poll(self._partition(poll), poll)
        newest: dict[str, int] = {}
        for topic, incarnation, _ in self.partitions:
            newest[topic] = max(incarnation, newest.get(topic, 0))
        for partition in self.partitions.values():
            partition.is_newest = partition.incarnation == newest[partition.topic]

    def _partition(self, call: Send | Poll) -> Partition:
        topic = call.topic, call.incarnation
        self.first_calls[topic] = min(call.invoked_s, self.first_calls.get(topic, call.invoked_s))
        key = (*topic, call.partition)
        partition = self.partitions.get(key)
        if partition is None:
            is_lossy = call.topic in self.history.lossy_topics
            partition = self.partitions[key] = Partition(*key, is_lossy=is_lossy)
        return partition


def _note_poll(partition: Partition, poll: Poll) -> None:
    partition.polls.append(poll)
    end = poll.position
    for offset, value in poll.records:
        place = Place(offset, value, poll)
        partition.read.setdefault(offset, place)
        end = offset + 1
        if poll.is_final:
            partition.final.setdefault(offset, place)
            partition.final_offsets.setdefault(value, offset)
    if poll.is_final and (partition.final_end is None or end >= partition.final_end):
        partition.final_end, partition.last_final = end, poll
