"""The present state of a stream's topics, from the brokers: partitions, offsets, record sizes.

Owns a connection to the cluster while a query runs, and the refresh of topic descriptions. Decides
nothing about the stream: `stream_driver.py` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from tidelog.client.consuming.isolation import level_of
from tidelog.client.consuming.offset_ranges import OffsetRange, TopicPartitions
from tidelog.client.consuming.range_reader import RangeReader, RangeReaderConfig
from tidelog.client.errors import (
    InconsistentTopicIdError,
    TidelogError,
    UnknownTopicOrPartitionError,
)
from tidelog.client.offsets import EARLIEST, LATEST, OffsetLookup, OffsetQuery, Spec
from tidelog.client.ports import ClientPorts
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.records.batch import iter_batches
from tidelog.spark.options import Selection
from tidelog.spark.planner import select_partitions
from tidelog.v1.data_pb2 import MetadataRequest, MetadataResponse
from tidelog.v1.methods import METADATA

Found = TypeVar("Found")

TOPICS_MAX_AGE_MS = 5_000
"""The maximum age of topic descriptions: a new partition is found that much later."""
SAMPLED_PARTITIONS_MAX = 32
SAMPLE_BYTES = 64 << 10
"""The bytes read of a partition to estimate the size of its records; at least one batch."""


class Seen(NamedTuple, Generic[Found]):
    """An answer, and the topic ids for which it is valid."""

    answer: Found
    topic_ids: dict[str, bytes]


class StreamCluster:
    """The view of the cluster of one query; the owner must close it."""

    def __init__(
        self,
        bootstrap: str,
        selection: Selection,
        *,
        ports: ClientPorts,
        config: RangeReaderConfig,
    ) -> None:
        self._bootstrap, self._selection = bootstrap, selection
        self._ports, self._config = ports, config
        self._routing = Routing(bootstrap, ports=ports)
        self._lookup = OffsetLookup(
            self._routing,
            backoff=config.backoff,
            request_timeout_ms=config.request_timeout_ms,
            isolation_level=level_of(config.isolation_level),
        )
        self._sampler = RangeReader(
            bootstrap,
            transport=ports.transport,
            clock=ports.clock,
            random=ports.random,
            # Of sizes: a stretch of aborted records has one, too.
            config=replace(
                config, fetch_max_bytes=SAMPLE_BYTES, isolation_level="read_uncommitted"
            ),
        )
        self._topics: dict[str, TopicPartitions] = {}
        self._described_ms: int | None = None
        self._absent: set[str] = set()
        """Topics known not to exist: the search lasted long enough for a lagging broker."""

    async def close(self) -> None:
        """Release the connections."""
        await self._routing.close()
        await self._sampler.close()

    def forget_topics(self) -> None:
        """Make the next call describe the topics again."""
        self._described_ms = None

    async def latest(self) -> Seen[dict[TopicPartition, int]]:
        """The end of every existing partition that the stream reads, by its isolation level."""
        return await self._consistently(self._ends, is_complete=False)

    async def first(
        self, look_up: Callable[[list[TopicPartition]], Awaitable[Found]]
    ) -> Seen[Found]:
        """The result of `look_up` for all partitions that the stream reads.

        Raises PlanError when a topic or partition named by the options does not exist.
        """
        return await self._consistently(look_up, is_complete=True)

    async def offsets(
        self, partitions: Iterable[TopicPartition], spec: Spec
    ) -> dict[TopicPartition, int]:
        """The offset that `spec` means in each partition."""
        wanted = dict.fromkeys(partitions, spec)
        return await self._lookup.lookup(wanted, timeout_ms=self._config.topic_timeout_ms)

    async def times(
        self, times_ms: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int | None]:
        """The offset of the first record at or after each time; None if there is none."""
        queries = {tp: OffsetQuery.of(time_ms) for tp, time_ms in times_ms.items()}
        found = await self._lookup.find(queries, timeout_ms=self._config.topic_timeout_ms)
        return {tp: at.offset if at.offset >= 0 else None for tp, at in found.items()}

    async def earliest(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The log start offsets of partitions; deleted partitions are left out."""

        async def look_up(present: list[TopicPartition]) -> dict[TopicPartition, int]:
            return await self.offsets([tp for tp in present if tp in wanted], EARLIEST)

        wanted = set(partitions)
        return (await self._consistently(look_up, is_complete=False)).answer

    def as_of_now(self, ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
        """The ranges with present leaders, for task processes that may know older ones."""
        return [wanted.as_of(self._routing.metadata) for wanted in ranges]

    async def record_bytes(self, ranges: Collection[OffsetRange]) -> dict[TopicPartition, float]:
        """The stored bytes per offset at the start of each range.

        At most SAMPLED_PARTITIONS_MAX ranges, the largest, are sampled. The others, and a range
        whose records are gone, get the mean of the samples.
        """
        by_size = sorted(ranges, key=lambda one: one.start_offset - one.end_offset)
        sampled = by_size[:SAMPLED_PARTITIONS_MAX]
        samples = await asyncio.gather(*(self._sample(wanted) for wanted in sampled))
        means = [size_bytes for size_bytes in samples if size_bytes is not None]
        mean = sum(means) / len(means) if means else 1.0
        found = {
            TopicPartition(one.topic, one.partition): size_bytes
            for one, size_bytes in zip(sampled, samples, strict=True)
            if size_bytes is not None
        }
        return dict.fromkeys((TopicPartition(r.topic, r.partition) for r in ranges), mean) | found

    async def _sample(self, wanted: OffsetRange) -> float | None:
        first = wanted._replace(end_offset=wanted.start_offset + 1)
        async with aclosing(self._sampler.chunks(first, fail_on_data_loss=False)) as chunks:
            async for data in chunks:
                headers = [header for header, _ in iter_batches(data)]
                return len(data) / (headers[-1].next_offset - headers[0].base_offset)
        return None

    async def _ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return await self.offsets(partitions, LATEST)

    async def _consistently(
        self,
        look_up: Callable[[list[TopicPartition]], Awaitable[Found]],
        *,
        is_complete: bool,
    ) -> Seen[Found]:
        """The result of `look_up`, repeated until no topic is deleted or recreated during it.

        Raises the last failure after `progress_timeout_ms`.
        """
        clock, failures = self._ports.clock, 0
        deadline_ms = clock.monotonic_ms() + self._config.progress_timeout_ms
        while True:
            try:
                topics = await self._describe_topics()
                selection = self._selection if is_complete else self._present(topics)
                partitions = select_partitions(selection, topics, bootstrap=self._bootstrap)
                answer = await look_up(partitions)
                ids = {tp.topic: topics[tp.topic].topic_id for tp in partitions}
                if not any(self._routing.metadata.is_gone(*known) for known in ids.items()):
                    return Seen(answer, ids)
                error: TidelogError = InconsistentTopicIdError(
                    "topics were deleted or recreated during every attempt to describe them",
                )
            except TidelogError as failure:
                if not failure.is_retriable:
                    raise
                error = failure
            self._described_ms = None
            if clock.monotonic_ms() >= deadline_ms:
                raise error
            failures += 1
            delay_ms = self._config.backoff.delay_ms(failures, self._ports.random)
            await asyncio.sleep(delay_ms / 1000)

    def _present(self, topics: Mapping[str, TopicPartitions]) -> Selection:
        """The selection without topics and partitions that do not exist, or not yet."""
        chosen = self._selection
        if chosen.subscribe is not None:
            return replace(chosen, subscribe=tuple(t for t in chosen.subscribe if t in topics))
        if chosen.assign is not None:
            assign = {
                topic: tuple(n for n in numbers if n in topics[topic].partitions)
                for topic, numbers in chosen.assign.items()
                if topic in topics
            }
            return replace(chosen, assign=assign)
        return chosen

    async def _describe_topics(self) -> dict[str, TopicPartitions]:
        now_ms = self._ports.clock.monotonic_ms()
        if self._described_ms is None or now_ms - self._described_ms >= TOPICS_MAX_AGE_MS:
            self._topics = await self._describe(await self._names())
            self._described_ms = now_ms
        return self._topics

    async def _names(self) -> list[str]:
        """The topics to describe: those named, or those that match the pattern."""
        chosen = self._selection
        if chosen.pattern is None:
            return list(chosen.assign or chosen.subscribe or ())
        topics = {
            topic.name: TopicPartitions(
                topic.topic_id, tuple(partition.partition for partition in topic.partitions)
            )
            for topic in (await self._ask([])).topics
        }
        matching = select_partitions(chosen, topics, bootstrap=self._bootstrap)
        return sorted({tp.topic for tp in matching})

    async def _describe(self, names: list[str]) -> dict[str, TopicPartitions]:
        """Describe those of `names` that exist, as brokers know them now."""
        # Unknown topics go through the client's retries: a broker may not know them yet.
        await asyncio.gather(*(self._find(name) for name in names))
        response = await self._ask(names)
        self._routing.metadata.update(response, now_ms=self._ports.clock.monotonic_ms())
        views = {name: self._routing.known(name) for name in names}
        self._absent = {name for name, view in views.items() if view is None}
        return {
            name: TopicPartitions(view.topic_id, tuple(sorted(view.leaders)))
            for name, view in views.items()
            if view is not None
        }

    async def _find(self, name: str) -> None:
        if name in self._absent:
            return
        with suppress(UnknownTopicOrPartitionError):
            await self._routing.topic(name, timeout_ms=self._config.topic_timeout_ms)

    async def _ask(self, names: list[str]) -> MetadataResponse:
        return await self._routing.call_any(
            METADATA,
            MetadataRequest(topics=names),
            timeout_ms=self._config.request_timeout_ms,
        )
