"""The partitions with batches to send, by the broker that leads them. Pure.

Owns a line of ready partitions per leader. An update looks only at partitions that changed since
the last one: a batch became full or due, an answer arrived, a pause ended, a leader or the topic
changed. So its cost does not grow with the number of waiting partitions. Takes and sends no batch.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tidelog.client.producing.ranked import Ranked
from tidelog.client.records import TopicPartition


class ReadySource(Protocol):
    """The part of the accumulator that this module uses."""

    @property
    def ready(self) -> Mapping[TopicPartition, int]:
        """Partitions whose first batch may be sent now, each with its rank."""

    def take_changes(self) -> list[TopicPartition]:
        """Partitions that may have changed since this was last called."""

    def full_bytes(self, tp: TopicPartition, enough: int) -> int:
        """Bytes of a ready partition's batches that take no more records, up to `enough`."""


@dataclass(slots=True)
class Line:
    """The ready partitions of one leader, the longest waiting first."""

    ready: Ranked[int, TopicPartition] = field(default_factory=Ranked)
    full: Ranked[int, TopicPartition] = field(default_factory=Ranked)
    """The partitions among them with batches that take no more records."""
    full_bytes: int = 0
    """The bytes of such batches, counted up to `enough` for each partition."""


@dataclass(frozen=True, slots=True)
class _Place:
    address: str | None
    rank: int
    full_bytes: int


class ReadyPartitions:
    """The ready partitions of a producer.

    `address_of` returns the address of a partition's leader, None while there is none. `give_up`
    removes batches that must no longer be sent, and returns whether there were any, which is a
    change too.
    """

    def __init__(
        self,
        source: ReadySource,
        *,
        enough: int,
        address_of: Callable[[TopicPartition], str | None],
        give_up: Callable[[TopicPartition], bool],
    ) -> None:
        self._source = source
        self._enough = enough
        self._address_of = address_of
        self._give_up = give_up
        self._places: dict[TopicPartition, _Place] = {}
        self._lines: dict[str | None, Line] = {}

    @property
    def has_leaderless(self) -> bool:
        """True if a ready partition has no leader."""
        return None in self._lines

    @property
    def addresses(self) -> list[str]:
        """The leaders of ready partitions, that of the longest waiting partition first."""
        first_ranks = {
            address: line.ready.first_rank
            for address, line in self._lines.items()
            if address is not None
        }
        return sorted(first_ranks, key=first_ranks.__getitem__)

    def line(self, address: str) -> Line:
        """The line of a leader; an empty one when nothing is ready for it."""
        return self._lines.get(address) or Line()

    def look(self) -> None:
        """Update the lines of the partitions that changed."""
        while changes := self._source.take_changes():
            for tp in changes:
                self._leave(tp)
                if tp in self._source.ready and not self._give_up(tp):
                    self._enter(tp)

    def _enter(self, tp: TopicPartition) -> None:
        address = self._address_of(tp)
        size_bytes = self._source.full_bytes(tp, self._enough)
        place = self._places[tp] = _Place(address, self._source.ready[tp], size_bytes)
        line = self._lines.setdefault(address, Line())
        line.ready.put(place.rank, tp)
        if size_bytes:
            line.full.put(place.rank, tp)
            line.full_bytes += size_bytes

    def _leave(self, tp: TopicPartition) -> None:
        place = self._places.pop(tp, None)
        if place is None:
            return
        line = self._lines[place.address]
        line.ready.drop(place.rank)
        line.full.drop(place.rank)
        line.full_bytes -= place.full_bytes
        if not line.ready:
            del self._lines[place.address]
