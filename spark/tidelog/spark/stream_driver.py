"""Runs a stream on Spark's driver: where it starts, how far each micro-batch goes, what it reads.

Owns what a query remembers between two calls of Spark: the start, the ends seen last, when the last
micro-batch was let through. Rules are in `stream_planner`, questions to brokers in
`stream_cluster`, the start's storage in `query_starts`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tidelog.client.arrow.offset_ranges import OffsetBounds, OffsetRange
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
"""How long after the last look at the ends the next may come: an idle query asks for new offsets
every 10 ms."""
CONFIRM_MS = 2_000
"""How long after a loss was seen it is looked for again: a broker that has just started may not
have heard of a topic or a partition yet."""


class StreamDriver:
    """One streaming query; close it at the end. The ports are for tests."""

    def __init__(self, options: StreamOptions, *, ports: ClientPorts | None = None) -> None:
        self._options = options
        self._ports = ports or ClientPorts.of(transport=None, clock=None, random=None)
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
        """The ends seen last, whatever limits there are; None before the first look."""
        return self._newest

    async def close(self) -> None:
        """Release the connections."""
        await self._cluster.close()
        await self._ports.close()

    async def initial(self) -> StreamOffset:
        """Where the query starts; the same each time, and with a query id in each process.

        Raises PlanError for topics or partitions that do not exist, DataLossError for offsets that
        are not held.
        """
        if self._start is None:
            self._start = await self._first_start()
            if self._target is not None:  # records may have come between the two looks
                self._target = self._target.at_least(self._start)
        return self._start

    async def aim(self) -> None:
        """Let the ends of now be the last ones that `advance` goes to (Trigger.AvailableNow)."""
        self._target = await self._look()

    async def advance(self, start: StreamOffset, *, is_limited: bool = True) -> StreamOffset:
        """Where the micro-batch after `start` ends: at `start` itself when there is none to read.

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
        """What the tasks of a micro-batch read, split as the options ask.

        A batch planned before a restart is held against what there is now. Raises DataLossError
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
        """How far the stream may go on from `start`: the ends of now, or those aimed at."""
        if self._target is None:
            return await self._look_for(start)
        if not self._target.covers(start):
            now = await self._look_for(start)
            overlooked = now.offsets.keys() & start.offsets.keys() - self._target.offsets.keys()
            added = {tp: now.offsets[tp] for tp in sorted(overlooked)}
            self._target = self._target.at_least(StreamOffset(added, now.topic_ids))
        return self._target

    async def _look_for(self, wanted: StreamOffset) -> StreamOffset:
        """The ends of now; when something of `wanted` is not there, as they are a while later."""
        ends = await self._look()
        if not ends.covers(wanted):
            await asyncio.sleep(CONFIRM_MS / 1000)
            self._cluster.forget_topics()
            ends = await self._look()
        return ends

    async def _look(self) -> StreamOffset:
        """The ends of now; waits until the last look is LOOK_INTERVAL_MS ago."""
        clock = self._ports.clock
        if self._looked_ms is not None:
            wait_ms = self._looked_ms + LOOK_INTERVAL_MS - clock.monotonic_ms()
            if wait_ms > 0:
                await asyncio.sleep(wait_ms / 1000)
        ends = await self._cluster.latest()
        self._looked_ms = clock.monotonic_ms()
        return StreamOffset(ends.answer, ends.topic_ids)

    def _waits(self, found: Backlog, limits: Limits) -> bool:
        """Whether more is waited for; else what there is counts as let through."""
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
