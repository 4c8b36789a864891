"""Which partitions have something to send, by the broker that leads them. Pure.

Owns each leader's line of ready partitions. Looks only at partitions that changed since it looked
last: a batch became full or due, an answer came, a pause ended, a leader or the topic changed. What
did not change stays where it is, however many partitions wait. Takes no batch and sends nothing.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tidelog.client.producing.ranked import Ranked
from tidelog.client.records import TopicPartition


class ReadySource(Protocol):
    """The accumulator, as far as it is needed here."""

    @property
    def ready(self) -> Mapping[TopicPartition, int]:
        """Partitions whose first batch may be sent now, each with its rank."""

    def take_changes(self) -> list[TopicPartition]:
        """Partitions that may have changed since this was last called."""

    def full_bytes(self, tp: TopicPartition, enough: int) -> int:
        """Bytes of a ready partition's batches that take no more records, up to `enough`."""


@dataclass(slots=True)
class Line:
    """Ready partitions of one leader, the longest waiting first."""

    ready: Ranked[int, TopicPartition] = field(default_factory=Ranked)
    full: Ranked[int, TopicPartition] = field(default_factory=Ranked)
    """Those of them with batches that take no more records."""
    full_bytes: int = 0
    """Of such batches, of each partition counted up to `enough`."""


@dataclass(frozen=True, slots=True)
class _Place:
    address: str | None
    rank: int
    full_bytes: int


class ReadyPartitions:
    """Of one producer.

    `address_of` names a partition's leader, None while there is none; `give_up` takes out batches
    that must not be sent any more and says whether there were some, which is a change of its own.
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
        """Whether a ready partition has no leader."""
        return None in self._lines

    @property
    def addresses(self) -> list[str]:
        """Leaders of ready partitions, that of the longest waiting one first."""
        first_ranks = {
            address: line.ready.first_rank
            for address, line in self._lines.items()
            if address is not None
        }
        return sorted(first_ranks, key=first_ranks.__getitem__)

    def line(self, address: str) -> Line:
        """Of one leader; an empty one when nothing is ready for it."""
        return self._lines.get(address) or Line()

    def look(self) -> None:
        """Bring the lines up to date: look at each partition that changed, and at no other."""
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
