"""A stream on Spark's driver: its start, the end of each micro-batch, and the ranges to read.

Owns the state of a query between two calls of Spark: the start, the latest offsets seen, the time
of the last micro-batch. Rules are in `stream_planner`, calls to brokers in `stream_cluster`, the
storage of the start in `query_starts`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tidelog.client.consuming.offset_ranges import OffsetBounds, OffsetRange
from tidelog.client.offsets import EARLIEST, LATEST
from tidelog.client.ports import ClientPorts
from tidelog.client.records import TopicPartition
from tidelog.spark.planner import resolve, times_to_find
from tidelog.spark.query_starts import QueryStarts, check_same_source
from tidelog.spark.range_splits import split_ranges
from tidelog.spark.stream_cluster import StreamCluster
from tidelog.spark.stream_offsets import StreamOffset
from tidelog.spark.stream_options import Limits, StreamOptions
from tidelog.spark.stream_planner import (
    Backlog,
    admit,
    backlog,
    cut,
    is_held_back,
    ranges_to_read,
    refuse_losses,
    start_at,
)

LOOK_INTERVAL_MS = 100
"""The minimum time between two look-ups of latest offsets: an idle query asks for new offsets
every 10 ms."""
CONFIRM_MS = 2_000
"""The delay before an observed loss is checked again: a broker that has just started may not
know a topic or a partition yet."""


class StreamDriver:
    """A streaming query; the owner must close it. The ports are for tests."""

    def __init__(self, options: StreamOptions, *, ports: ClientPorts | None = None) -> None:
        self._options = options
        self._ports = ports or ClientPorts.of(
            transport=None, clock=None, random=None, connections=options.client.connections
        )
        self._cluster = StreamCluster(
            options.bootstrap, options.selection, ports=self._ports, config=options.client
        )
        self._start: StreamOffset | None = None
        self._target: StreamOffset | None = None
        self._newest: StreamOffset | None = None
        self._earliest: Mapping[TopicPartition, int] = {}
        self._looked_ms: int | None = None
        self._triggered_ms: int | None = None

    @property
    def newest(self) -> StreamOffset | None:
        """The latest offsets seen last, regardless of limits; None before the first look-up."""
        return self._newest

    async def close(self) -> None:
        """Release the connections."""
        await self._cluster.close()
        await self._ports.close()

    async def initial(self) -> StreamOffset:
        """The start of the query: the same in every call, and with a query id in every process.

        Raises PlanError for topics or partitions that do not exist, DataLossError for offsets that
        the log does not hold.
        """
        if self._start is None:
            self._start = await self._first_start()
            if self._target is not None:  # records may have arrived between the two look-ups
                self._target = self._target.at_least(self._start)
        return self._start

    async def aim(self) -> None:
        """Make the present latest offsets the limit of `advance` (Trigger.AvailableNow)."""
        self._target = await self._look()

    async def advance(self, start: StreamOffset, *, is_limited: bool = True) -> StreamOffset:
        """The end of the micro-batch after `start`: `start` itself when there is none to read.

        Raises DataLossError unless failOnDataLoss is off.
        """
        end = self._newest = await self._end(start)
        found = backlog(start, end, earliest={})
        if waiting := found.waiting():
            self._earliest = await self._cluster.earliest(waiting)
            found = backlog(start, end, earliest=self._earliest)
        self._check(found)
        limits = self._options.limits if is_limited else Limits()
        if self._waits(found, limits):
            return start
        record_bytes = await self._record_bytes(found, limits, end)
        return StreamOffset(admit(found, limits, record_bytes=record_bytes), end.topic_ids)

    async def plan(self, start: StreamOffset, end: StreamOffset) -> list[OffsetRange]:
        """The ranges that the tasks of a micro-batch read, split according to the options.

        A batch planned before a restart is compared with the present topics. Raises DataLossError
        unless failOnDataLoss is off.
        """
        if self._newest is None:
            self._newest = await self._look_for(end)
        newest = self._newest
        found = cut(backlog(start, end, earliest={}), end, newest=newest)
        if set(found.waiting()).difference(self._earliest):
            self._earliest = await self._cluster.earliest(found.waiting())
        found = cut(backlog(start, end, earliest=self._earliest), end, newest=newest)
        self._check(found)
        return split_ranges(
            self._cluster.as_of_now(ranges_to_read(found, newest.topic_ids)),
            min_partitions=self._options.min_partitions,
            max_records=self._options.max_records_per_partition,
        )

    async def _end(self, start: StreamOffset) -> StreamOffset:
        """The limit of the stream after `start`: the present latest offsets, or the target."""
        if self._target is None:
            return await self._look_for(start)
        if not self._target.covers(start):
            now = await self._look_for(start)
            overlooked = now.offsets.keys() & start.offsets.keys() - self._target.offsets.keys()
            added = {tp: now.offsets[tp] for tp in sorted(overlooked)}
            self._target = self._target.at_least(StreamOffset(added, now.topic_ids))
        return self._target

    async def _look_for(self, wanted: StreamOffset) -> StreamOffset:
        """The present latest offsets; looked up again after a delay if `wanted` is not covered."""
        ends = await self._look()
        if not ends.covers(wanted):
            await asyncio.sleep(CONFIRM_MS / 1000)
            self._cluster.forget_topics()
            ends = await self._look()
        return ends

    async def _look(self) -> StreamOffset:
        """The present latest offsets; waits until the last look-up is LOOK_INTERVAL_MS ago."""
        clock = self._ports.clock
        if self._looked_ms is not None:
            wait_ms = self._looked_ms + LOOK_INTERVAL_MS - clock.monotonic_ms()
            if wait_ms > 0:
                await asyncio.sleep(wait_ms / 1000)
        ends = await self._cluster.latest()
        self._looked_ms = clock.monotonic_ms()
        return StreamOffset(ends.answer, ends.topic_ids)

    def _waits(self, found: Backlog, limits: Limits) -> bool:
        """True if the micro-batch waits for more records; if not, note the time of this one."""
        now_ms = self._ports.clock.monotonic_ms()
        if self._target is None and is_held_back(
            found.offsets_count, limits, triggered_ms=self._triggered_ms, now_ms=now_ms
        ):
            return True
        if found.offsets_count:
            self._triggered_ms = now_ms
        return False

    async def _record_bytes(
        self, found: Backlog, limits: Limits, end: StreamOffset
    ) -> dict[TopicPartition, float]:
        if limits.bytes_max is None:
            return {}
        return await self._cluster.record_bytes(ranges_to_read(found, end.topic_ids))

    def _check(self, found: Backlog) -> None:
        if self._options.fail_on_data_loss:
            refuse_losses(found.losses)

    async def _first_start(self) -> StreamOffset:
        query_id = self._options.query_id
        if query_id is None:
            return await self._start_of_now()
        async with QueryStarts(
            self._options.bootstrap, ports=self._ports, config=self._options.client
        ) as starts:
            start = await starts.read(query_id)
            if start is None:
                start = await starts.keep(query_id, await self._start_of_now())
        check_same_source(query_id, start, await self._look())
        return start

    async def _start_of_now(self) -> StreamOffset:
        edge, cluster = self._options.starting, self._cluster

        async def look_up(partitions: list[TopicPartition]) -> Backlog:
            earliest = await cluster.offsets(partitions, EARLIEST)
            latest = await cluster.offsets(partitions, LATEST)
            bounds = {tp: OffsetBounds(earliest[tp], latest[tp]) for tp in partitions}
            found = await cluster.times(times_to_find(edge, partitions))
            return start_at(resolve(edge, bounds, found), bounds)

        seen = await cluster.first(look_up)
        self._check(seen.answer)
        starts = {tp: held.earliest for tp, held in seen.answer.ranges.items()}
        return StreamOffset(starts, seen.topic_ids)
