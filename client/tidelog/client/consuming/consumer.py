"""The consumer: reads its assigned partitions in order, from its position in each.

Owns the interface to the application. The fetch loop fetches batches ahead of it, and
`ready_records` decodes them and moves the positions. Reads committed records only (below the high
watermark). Stores no offsets in the cluster: the application does.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Generic, Literal, Self

from tidelog.client.backoff import Backoff
from tidelog.client.connections import CONNECTIONS_MAX_IDLE_MS, ConnectionConfig
from tidelog.client.consuming.assignment import Assignment, Position, names_and_partitions
from tidelog.client.consuming.consumer_interceptors import ConsumerInterceptor, ConsumerInterceptors
from tidelog.client.consuming.consumer_options import (
    DEFAULT_MAX_RECORDS,
    RESETS,
    check_options,
)
from tidelog.client.consuming.deserializers import Deserializer, Deserializers
from tidelog.client.consuming.fetcher import Fetcher, FetcherConfig
from tidelog.client.consuming.ready_records import ReadyRecords
from tidelog.client.consuming.record_batch import RecordBatch
from tidelog.client.consuming.subscriptions import Looks, Subscriptions
from tidelog.client.errors import ClientClosedError, NothingAssignedError
from tidelog.client.offsets import (
    EARLIEST,
    LATEST,
    ListedOffset,
    OffsetLookup,
    OffsetQuery,
    Spec,
)
from tidelog.client.ports import ClientPorts
from tidelog.client.records import K, Record, TopicPartition, V
from tidelog.client.routing import Routing, RoutingConfig, named_bootstrap
from tidelog.core.env import Clock, Random
from tidelog.net.transport import Transport


class Consumer(Generic[K, V]):
    """Reads records: `async with Consumer(...) as c`, `c.assign([("t", 0)])`, `async for r in c`.

    `c.assign(["t"])` and `await c.subscribe(["t"])` read all partitions, those added later too.

    Sizes in bytes, times in milliseconds:
    - `bootstrap`, or by Kafka's name `bootstrap_servers`: brokers to ask first, "host:port,…".
    - `client_id`, `connections_max_idle_ms`, `bootstrap_timeout_ms`: those of `Producer`.
    - `auto_offset_reset`: the start without a seek, when an offset is out of range, and when the
      topic was deleted and recreated: "earliest", "latest", or "none" (OffsetOutOfRangeError; for a
      recreated topic InconsistentTopicIdError).
    - `on_truncation`: when records that were read are gone after an unclean election, "raise" a
      LogTruncationError, or "reset": continue where the log diverges from the records read. None:
      raise under `auto_offset_reset` "none", reset otherwise.
    - `fetch_min_bytes`, `fetch_max_wait_ms`: a leader answers when it has this many bytes, or after
      this time.
    - `fetch_max_bytes`, `max_partition_fetch_bytes`: limits of one answer; a larger batch is still
      returned whole. The consumer holds at most two answers per leader.
    - `check_crcs`: check every batch's CRC32C before its records are returned.
    - `max_poll_records`: default limit of the records returned by `getmany` and `getbatches`.
    - `key_deserializer`, `value_deserializer`: called with topic and bytes (None: null), once per
      record; their result replaces the bytes. An exception becomes a DeserializationError, and the
      position stays at that record: seek past it to continue.
    - `metadata_max_age_ms`: the interval at which a subscription looks for new partitions.
    - `interceptors`: `on_consume` of each gets the records that `getmany` is about to return, or
      the next one of an iteration, and returns the records for the application. An exception is
      logged and ignored. `getbatches` calls none, since its records are not decoded yet.
    """

    def __init__(
        self,
        bootstrap: str | Sequence[str] | None = None,
        *,
        bootstrap_servers: str | Sequence[str] | None = None,
        client_id: str = "tidelog-consumer",
        connections_max_idle_ms: int = CONNECTIONS_MAX_IDLE_MS,
        bootstrap_timeout_ms: int = 0,
        auto_offset_reset: Literal["earliest", "latest", "none"] = "earliest",
        on_truncation: Literal["raise", "reset"] | None = None,
        fetch_min_bytes: int = 1,
        fetch_max_wait_ms: int = 500,
        fetch_max_bytes: int = 8 << 20,
        max_partition_fetch_bytes: int = 1 << 20,
        check_crcs: bool = True,
        max_poll_records: int = DEFAULT_MAX_RECORDS,
        metadata_max_age_ms: int = 300_000,
        key_deserializer: Deserializer[K] | None = None,
        value_deserializer: Deserializer[V] | None = None,
        interceptors: Sequence[ConsumerInterceptor[K, V]] | None = None,
        request_timeout_ms: int = 10_000,
        api_timeout_ms: int = 60_000,
        retry_backoff_ms: int = 20,
        retry_backoff_max_ms: int = 200,
        transport: Transport | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        bootstrap = named_bootstrap(bootstrap, bootstrap_servers)
        check_options(auto_offset_reset, on_truncation, max_poll_records=max_poll_records)
        self._max_poll_records = max_poll_records
        self._interceptors = ConsumerInterceptors(interceptors or ())
        self._api_timeout_ms = api_timeout_ms
        reset = RESETS[auto_offset_reset]
        backoff = Backoff(retry_backoff_ms, retry_backoff_max_ms)
        named = ConnectionConfig(client_id, connections_max_idle_ms, bootstrap_timeout_ms)
        self._ports = ClientPorts.of(
            transport=transport, clock=clock, random=random, connections=named
        )
        aged = RoutingConfig(backoff=backoff, metadata_max_age_ms=metadata_max_age_ms)
        routing = self._routing = Routing(bootstrap, ports=self._ports, config=aged)
        self._lookup = OffsetLookup(routing, backoff=backoff, request_timeout_ms=request_timeout_ms)
        self._assignment = Assignment()
        config = FetcherConfig(
            reset=reset,
            is_truncation_error=(on_truncation or auto_offset_reset) in {"raise", "none"},
            fetch_min_bytes=fetch_min_bytes,
            fetch_max_wait_ms=fetch_max_wait_ms,
            fetch_max_bytes=fetch_max_bytes,
            max_partition_fetch_bytes=max_partition_fetch_bytes,
            lookup_timeout_ms=api_timeout_ms,
            backoff=backoff,
        )
        deserializers = Deserializers(key=key_deserializer, value=value_deserializer)
        looks = Looks(reset, request_timeout_ms, api_timeout_ms, metadata_max_age_ms)
        self._prepare_reading(config, looks, deserializers, check_crcs=check_crcs)
        self._is_started = False
        self._closing: asyncio.Task[None] | None = None

    def _prepare_reading(
        self,
        config: FetcherConfig,
        looks: Looks,
        deserializers: Deserializers[K, V],
        *,
        check_crcs: bool,
    ) -> None:
        self._fetcher = Fetcher(
            assignment=self._assignment, routing=self._routing, lookup=self._lookup, config=config
        )
        self._ready = ReadyRecords(
            fetcher=self._fetcher,
            assignment=self._assignment,
            check_crcs=check_crcs,
            deserializers=deserializers,
        )
        self._subscriptions = Subscriptions(
            self._routing, looks, assign=self._assign, on_failure=self._fetcher.restart
        )

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Do what `async with` does: nothing yet, since brokers are called when needed."""

    async def stop(self) -> None:
        """Close, as leaving `async with` does."""
        await self.close()

    def __aiter__(self) -> AsyncIterator[Record[K, V]]:
        """Iterate over records as they arrive, until `close`. Raises the errors of `getmany`."""
        return self._iterate()

    def assign(self, partitions: Iterable[tuple[str, int] | str]) -> None:
        """Read these partitions and no others; those read before keep their positions.

        A topic's name stands for all its partitions, those added later too, as with `subscribe`.
        They are looked up in the background: reads and the methods with `await` wait for them, and
        raise the errors of `subscribe`. Ends a subscription.
        """
        self._check_open()
        self._subscriptions.assign(*names_and_partitions(partitions))

    async def subscribe(
        self, topics: Iterable[str] = (), *, pattern: str | re.Pattern[str] | None = None
    ) -> None:
        """Read all partitions of these topics, or of the topics whose names `pattern` matches.

        A pattern matches from the first letter of a name on, as `re.match` does. There is no group:
        every subscriber reads everything. Partitions that exist now start as without a seek; those
        added later, found every `metadata_max_age_ms`, at their first record. Topics that match no
        more are not read on. Replaces the assignment; partitions read before keep their positions.
        Raises UnknownTopicOrPartitionError for a named topic that does not exist, UnreachableError.
        """
        self._check_open()
        await self._subscriptions.subscribe(topics, pattern)

    def assignment(self) -> set[TopicPartition]:
        """The assigned partitions, paused ones included."""
        return {position.tp for position in self._assignment.all()}

    def pause(self, *partitions: tuple[str, int]) -> None:
        """Return no records of these partitions and fetch none for them, until `resume`.

        Records already fetched, or in a fetch in flight, are kept and returned first then. A seek
        does not end a pause; a newly assigned partition is not paused.
        """
        for position in [self._assigned(p) for p in partitions]:
            position.is_paused = True
        self._ready.set_paused_aside()

    def resume(self, *partitions: tuple[str, int]) -> None:
        """Read paused partitions again from their positions; others are left unchanged."""
        resumed = [p for p in map(self._assigned, partitions) if p.is_paused]
        for position in resumed:
            position.is_paused = False
        self._fetcher.resume(resumed)

    def paused(self) -> set[TopicPartition]:
        """The assigned partitions that are paused."""
        return {position.tp for position in self._assignment.all() if position.is_paused}

    def seek(self, partition: tuple[str, int], offset: int) -> None:
        """Read an assigned partition from `offset` on."""
        if offset < 0:
            raise ValueError(f"offset {offset} is negative")
        self._assigned(partition).seek(offset)
        self._positions_changed()

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> None:
        """Read these partitions (none named: all) from their log start."""
        self._seek_to(EARLIEST, partitions)

    def seek_to_end(self, *partitions: tuple[str, int]) -> None:
        """Read these partitions (none named: all) from their high watermark at the next read."""
        self._seek_to(LATEST, partitions)

    async def seek_to_time(self, times: Mapping[tuple[str, int], datetime | int]) -> None:
        """Read each partition from its first record at or after a time; from its end if none.

        Times are those of `offsets_for_times`, whose errors this raises; then no position has
        changed. It overrides a seek made during the look-up.
        """
        await self._subscriptions.found()
        wanted = {self._assigned(tp).tp: OffsetQuery.of(time) for tp, time in times.items()}
        self._go_to(await self._lookup.starts_at_times(wanted, timeout_ms=self._api_timeout_ms))

    async def tail(self, partitions: Iterable[tuple[str, int]], n: int) -> None:
        """Read each partition from `n` offsets before its end, or from its log start.

        These are `n` records unless compaction removed some or a transaction ended there. Raises
        the errors of `end_offsets`; then no position has changed.
        """
        if n < 0:
            raise ValueError(f"n={n} is negative")
        await self._subscriptions.found()
        wanted = [self._assigned(partition).tp for partition in partitions]
        self._go_to(
            await self._lookup.starts_before_ends(
                wanted, offsets_count=n, timeout_ms=self._api_timeout_ms
            )
        )

    async def position(self, partition: tuple[str, int]) -> int:
        """The offset of the next record for the application; looked up if none was read yet.

        Raises KafkaError for a partition that does not exist, OffsetOutOfRangeError under "none".
        """
        await self._subscriptions.found()
        position = self._assigned(partition)
        if position.position is None and position.reset is not None:
            generation = position.generation
            offset, topic_id = await self._lookup.start_of(
                position.tp, position.reset, timeout_ms=self._api_timeout_ms
            )
            if position.generation == generation:
                position.seek(offset, topic_id=topic_id)
                self._positions_changed()
        if position.position is None:
            raise ValueError(f"{position.tp} has no position yet: seek first")
        return position.position

    async def lag(
        self, partitions: Iterable[tuple[str, int]] | None = None
    ) -> dict[TopicPartition, int]:
        """The lag of each partition's position behind its high watermark; None: all assigned.

        Counts offsets, including compacted and control records, and records fetched but not yet
        returned. The high watermark is that of the newest fetch answer, without a call; it is
        looked up for a partition that is paused or has had no answer yet. Raises the errors of
        `position`.
        """
        await self._subscriptions.found()
        named = None if partitions is None else [self._assigned(p) for p in partitions]
        positions = self._assignment.all() if named is None else named
        for position in positions:
            await self.position(position.tp)
        ends = await self._offsets(
            LATEST, [p.tp for p in positions if p.is_paused or p.high_watermark is None]
        )
        return {p.tp: _lag(p, ends.get(p.tp)) for p in positions}

    async def partitions_for(self, topic: str) -> list[int]:
        """The partitions of the topic. Errors: KafkaError if it is missing, UnreachableError."""
        self._check_open()
        view = await self._routing.topic(topic, timeout_ms=self._api_timeout_ms)
        return sorted(view.leaders)

    async def beginning_offsets(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, int]:
        """The log start offset of each partition."""
        return await self._offsets(EARLIEST, partitions)

    async def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """The high watermark of each partition: the offset its next readable record will have."""
        return await self._offsets(LATEST, partitions)

    async def offsets_for_times(
        self, times: Mapping[tuple[str, int], datetime | int]
    ) -> dict[TopicPartition, ListedOffset]:
        """The first record at or after a time in each partition; offset -1 if there is none.

        Times have a time zone, or are milliseconds since the Unix epoch.
        """
        self._check_open()
        wanted = {TopicPartition(*tp): OffsetQuery.of(time) for tp, time in times.items()}
        return await self._lookup.find(wanted, timeout_ms=self._api_timeout_ms)

    async def getmany(
        self, *, timeout_ms: int = 0, max_records: int | None = None
    ) -> list[Record[K, V]]:
        """Return up to `max_records` fetched records; wait up to `timeout_ms` for the first one.

        Records are in offset order within a partition. Raises CorruptMessageError and
        DeserializationError, which name topic, partition and offset; OffsetOutOfRangeError under
        "none" and its LogTruncationError; UnknownTopicOrPartitionError; NothingAssignedError
        while no partition is assigned and
        no topic subscribed.
        Records before the error are returned first. The position stays at the error: the next call
        raises it again unless the application seeks.
        """
        ready = self._ready
        if not await self._wait_until(ready.fill, timeout_ms=timeout_ms):
            return []
        limit = self._max_poll_records if max_records is None else max_records
        taken = ready.take(limit)
        while len(taken) < limit and ready.fill(is_first=False):
            taken += ready.take(limit - len(taken))
        return self._interceptors.on_consume(taken)

    async def getbatches(
        self, *, timeout_ms: int = 0, max_records: int | None = None
    ) -> list[RecordBatch[K, V]]:
        """Return whole batches, whose records are decoded when iterated; the fast way to read.

        The batches hold at most `max_records` together, but at least one batch is returned. The
        position is past each returned batch. Waits and raises like `getmany`, except for errors of
        decoding: iterating a batch raises those.
        """
        ready = self._ready
        has_batch = await self._wait_until(
            lambda: ready.fill_batch() is not None, timeout_ms=timeout_ms
        )
        header = ready.fill_batch() if has_batch else None
        left = self._max_poll_records if max_records is None else max_records
        taken: list[RecordBatch[K, V]] = []
        while header is not None and (not taken or header.records_count <= left):
            taken.append(ready.take_batch())
            left -= header.records_count
            header = ready.fill_batch(is_first=False)
        return taken

    async def close(self) -> None:
        """Stop fetching; iterations end. Completes even if cancelled; a second call awaits it."""
        if self._closing is None:
            self._ready.clear()
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._subscriptions.stop()
        await self._fetcher.stop()
        await self._routing.close()
        await self._ports.close()

    async def _iterate(self) -> AsyncIterator[Record[K, V]]:
        self._start()
        ready, interceptors = self._ready, self._interceptors
        while True:
            await asyncio.sleep(0)
            await self._until(ready.fill)
            if self._closing is not None:
                return
            for record in ready.each():
                if interceptors:
                    for seen in interceptors.on_consume([record]):
                        yield seen
                else:
                    yield record

    def _start(self) -> None:
        if not self._is_started:
            self._is_started = True
            self._fetcher.start()

    async def _wait_until(self, is_filled: Callable[[], bool], *, timeout_ms: int) -> bool:
        """True if a record became ready in time."""
        self._check_open()
        self._start()
        # Yield to the loop once: else a busy reader would never let the fetches run.
        await asyncio.sleep(0)
        self._subscriptions.raise_failure()
        if is_filled():
            return True
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._until(is_filled)
        except TimeoutError:
            return False
        return self._closing is None

    async def _until(self, is_filled: Callable[[], bool]) -> None:
        """Wait until a record is ready, or until `close`.

        Raises NothingAssignedError while no partition is assigned.
        """
        while self._closing is None and not is_filled():
            self._subscriptions.raise_failure()
            if not self._assignment.all() and not self._subscriptions:
                raise NothingAssignedError(
                    "the consumer has no partitions: call assign first, or subscribe"
                )
            await self._fetcher.wait()

    def _assign(self, partitions: Iterable[TopicPartition], reset: Spec | None) -> None:
        """Read these partitions; those that were not read before start where `reset` says."""
        self._assignment.assign(partitions, reset=reset)
        self._positions_changed()

    def _assigned(self, partition: tuple[str, int]) -> Position:
        self._check_open()
        position = self._assignment.get(TopicPartition(*partition))
        if position is None:
            raise ValueError(
                f"{partition[0]}-{partition[1]} is not assigned: call assign first, and "
                "after a topic's name await position(), which waits for its partitions"
            )
        return position

    def _seek_to(self, spec: Spec, partitions: Sequence[tuple[str, int]]) -> None:
        positions = [self._assigned(p) for p in partitions] or self._assignment.all()
        for position in positions:
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

    async def _offsets(
        self, spec: Spec, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, int]:
        self._check_open()
        wanted = {TopicPartition(*tp): spec for tp in partitions}
        return await self._lookup.lookup(wanted, timeout_ms=self._api_timeout_ms)

    def _check_open(self) -> None:
        if self._closing is not None:
            raise ClientClosedError("the consumer is closed")


def _lag(position: Position, end: int | None) -> int:
    high_watermark = position.high_watermark if end is None else end
    return max(0, (high_watermark or 0) - (position.position or 0))
