"""Methods of a consumer about positions and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from tidelog.client.consuming.assignment import Assignment, Position
from tidelog.client.consuming.consumer_base import ConsumerBase
from tidelog.client.consuming.fetcher import Fetcher
from tidelog.client.consuming.ready_records import ReadyRecords
from tidelog.client.consuming.subscriptions import Subscriptions
from tidelog.client.offsets import (
    EARLIEST,
    LATEST,
    ListedOffset,
    OffsetLookup,
    OffsetQuery,
    Spec,
)
from tidelog.client.partition_arguments import (
    Partition,
    Partitions,
    partition_of,
    partitions_of,
)
from tidelog.client.records import K, TopicPartition, V
from tidelog.client.routing import Routing


class PositionMethods(ConsumerBase[K, V]):
    """Part of `Consumer`."""

    _routing: Routing
    _lookup: OffsetLookup
    _api_timeout_ms: int
    _assignment: Assignment
    _subscriptions: Subscriptions
    _fetcher: Fetcher
    _ready: ReadyRecords[K, V]

    def pause(self, *partitions: Partitions) -> None:
        """Return no records of these partitions and fetch none for them, until `resume`.

        Records already fetched, or in a fetch in flight, are kept and returned first then. A seek
        does not end a pause; a newly assigned partition is not paused.
        """
        for position in self._all_assigned(*partitions, method="pause"):
            position.is_paused = True
        self._ready.set_paused_aside()

    def resume(self, *partitions: Partitions) -> None:
        """Read paused partitions again from their positions; others are left unchanged."""
        named = self._all_assigned(*partitions, method="resume")
        resumed = [position for position in named if position.is_paused]
        for position in resumed:
            position.is_paused = False
        self._fetcher.resume(resumed)

    def paused(self) -> set[TopicPartition]:
        """The assigned partitions that are paused."""
        return {position.tp for position in self._assignment.all() if position.is_paused}

    def seek(self, partition: Partition, offset: int) -> None:
        """Read an assigned partition from `offset` on."""
        if offset < 0:
            raise ValueError(f"offset {offset} is negative")
        self._assigned(partition, method="seek").seek(offset)
        self._positions_changed()

    def seek_to_beginning(self, *partitions: Partitions) -> None:
        """Read these partitions (none named: all) from their log start."""
        self._seek_to(EARLIEST, self._all_assigned(*partitions, method="seek_to_beginning"))

    def seek_to_end(self, *partitions: Partitions) -> None:
        """Read these partitions (none named: all) from their `end_offsets` at the next read."""
        self._seek_to(LATEST, self._all_assigned(*partitions, method="seek_to_end"))

    async def seek_to_time(self, times: Mapping[tuple[str, int], datetime | int]) -> None:
        """Read each partition from its first record at or after a time; from its end if none.

        Times are those of `offsets_for_times`, whose errors this raises; then no position has
        changed. It overrides a seek made during the look-up.
        """
        await self._subscriptions.found()
        wanted = {
            self._assigned(tp, method="seek_to_time").tp: OffsetQuery.of(time)
            for tp, time in times.items()
        }
        self._go_to(await self._lookup.starts_at_times(wanted, timeout_ms=self._api_timeout_ms))

    async def tail(self, partitions: Partitions, n: int) -> None:
        """Read each partition from `n` offsets before its end, or from its log start.

        These are `n` records unless compaction removed some or a transaction ended there. Raises
        the errors of `end_offsets`; then no position has changed.
        """
        if n < 0:
            raise ValueError(f"n={n} is negative")
        await self._subscriptions.found()
        wanted = [position.tp for position in self._all_assigned(partitions, method="tail")]
        self._go_to(
            await self._lookup.starts_before_ends(
                wanted, offsets_count=n, timeout_ms=self._api_timeout_ms
            )
        )

    async def position(self, partition: Partition) -> int:
        """The offset of the next record for the application; looked up if none was read yet.

        Raises KafkaError for a partition that does not exist, OffsetOutOfRangeError under "none".
        """
        await self._subscriptions.found()
        position = self._assigned(partition, method="position")
        has_start = position.reset is not None or self._fetcher.find_committed is not None
        if position.position is None and has_start:
            generation = position.generation
            offset, topic_id = await self._fetcher.start_of(position)
            if position.generation == generation:
                position.seek(offset, topic_id=topic_id)
                self._positions_changed()
        if position.position is None:
            raise ValueError(f"{position.tp} has no position yet: seek first")
        return position.position

    async def lag(self, partitions: Partitions | None = None) -> dict[TopicPartition, int]:
        """The lag of each partition's position behind its end; None: all assigned.

        Counts offsets, including compacted, aborted and control records, and records fetched but
        not yet returned. The end is that of the newest fetch answer, without a call; it is
        looked up for a partition that is paused or has had no answer yet. Raises the errors of
        `position`.
        """
        await self._subscriptions.found()
        named = None if partitions is None else self._all_assigned(partitions, method="lag")
        positions = self._assignment.all() if named is None else named
        for position in positions:
            try:
                await self.position(position.tp)
            except ValueError:
                if named is not None or self._assignment.get(position.tp) is position:
                    raise
        if named is None:  # a group may have revoked some meanwhile
            positions = [p for p in positions if self._assignment.get(p.tp) is p]
        unknown = [p.tp for p in positions if p.is_paused or p.end_offset is None]
        ends = await self._offsets(LATEST, unknown)
        return {p.tp: _lag(p, ends.get(p.tp)) for p in positions}

    async def partitions_for(self, topic: str) -> list[int]:
        """The partitions of the topic. Errors: KafkaError if it is missing, UnreachableError."""
        self._check_open()
        view = await self._routing.topic(topic, timeout_ms=self._api_timeout_ms)
        return sorted(view.leaders)

    async def beginning_offsets(self, partitions: Partitions) -> dict[TopicPartition, int]:
        """The log start offset of each partition."""
        return await self._offsets(EARLIEST, partitions_of(partitions, method="beginning_offsets"))

    async def end_offsets(self, partitions: Partitions) -> dict[TopicPartition, int]:
        """The end of each partition: the offset its next readable record will have.

        That is the high watermark, or with "read_committed" the last stable offset.
        """
        return await self._offsets(LATEST, partitions_of(partitions, method="end_offsets"))

    async def offsets_for_times(
        self, times: Mapping[tuple[str, int], datetime | int]
    ) -> dict[TopicPartition, ListedOffset]:
        """The first record at or after a time in each partition; offset -1 if there is none.

        Times have a time zone, or are milliseconds since the Unix epoch.
        """
        self._check_open()
        wanted = {
            partition_of(tp, method="offsets_for_times"): OffsetQuery.of(time)
            for tp, time in times.items()
        }
        return await self._lookup.find(wanted, timeout_ms=self._api_timeout_ms)

    async def _offsets(
        self, spec: Spec, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        self._check_open()
        wanted = dict.fromkeys(partitions, spec)
        return await self._lookup.lookup(wanted, timeout_ms=self._api_timeout_ms)

    def _all_assigned(self, *partitions: Partitions, method: str) -> list[Position]:
        named = partitions_of(*partitions, method=method)
        return [self._assigned(partition, method=method) for partition in named]

    def _assigned(self, partition: Partition, *, method: str) -> Position:
        self._check_open()
        position = self._assignment.get(partition_of(partition, method=method))
        if position is None:
            raise ValueError(
                f"{partition[0]}-{partition[1]} is not assigned: call assign first, and "
                "after a topic's name await position(), which waits for its partitions"
            )
        return position

    def _seek_to(self, spec: Spec, named: Sequence[Position]) -> None:
        for position in named or self._assignment.all():
            position.seek_to(spec)
        self._positions_changed()

    def _positions_changed(self) -> None:
        self._check_open()
        self._ready.positions_changed()
        self._fetcher.restart()

    def _go_to(self, offsets: Mapping[TopicPartition, tuple[int, bytes]]) -> None:
        """Seek to looked-up offsets, each in the incarnation of its topic."""
        for tp, (offset, topic_id) in offsets.items():
            position = self._assignment.get(tp)
            if position is not None:
                position.seek(offset, topic_id=topic_id)
        self._positions_changed()


def _lag(position: Position, end: int | None) -> int:
    known = position.end_offset if end is None else end
    return max(0, (known or 0) - (position.position or 0))
