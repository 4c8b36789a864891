"""The consumer: reads its assigned partitions in order, from its position in each.

Owns the interface to the application. The fetch loop fetches batches ahead of it, and
`ready_records` decodes them and moves the positions. Reads below the high watermark, or below the
last stable offset (`isolation`). With a group, `groups.group_reader` says what is read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Literal, Self

from tidelog.client.backoff import Backoff
from tidelog.client.connections import CONNECTIONS_MAX_IDLE_MS, ConnectionConfig
from tidelog.client.consuming.assignment import Assignment, names_and_partitions
from tidelog.client.consuming.consumer_interceptors import ConsumerInterceptor, ConsumerInterceptors
from tidelog.client.consuming.consumer_options import (
    DEFAULT_MAX_RECORDS,
    MemberOptions,
    PollOptions,
    checked_reset,
)
from tidelog.client.consuming.deserializers import Deserializer, Deserializers
from tidelog.client.consuming.fetcher import Fetcher, FetcherConfig
from tidelog.client.consuming.group_methods import GroupMethods
from tidelog.client.consuming.group_reader import (
    GroupReader,
    ReadingParts,
)
from tidelog.client.consuming.isolation import Isolation, level_of, name_of
from tidelog.client.consuming.pattern_text import pattern_text
from tidelog.client.consuming.ready_records import ReadyRecords
from tidelog.client.consuming.record_batch import RecordBatch
from tidelog.client.consuming.subscriptions import Looks, Subscriptions
from tidelog.client.errors import ClientClosedError, ClientConfigError, NothingAssignedError
from tidelog.client.groups.listener import RebalanceListener
from tidelog.client.offsets import (
    OffsetLookup,
    Spec,
)
from tidelog.client.partition_arguments import Partition
from tidelog.client.ports import ClientPorts
from tidelog.client.records import K, Record, TopicPartition, V
from tidelog.client.routing import Routing, RoutingConfig, named_bootstrap
from tidelog.core.env import Clock, Random
from tidelog.net.transport import Transport


class Consumer(GroupMethods[K, V]):
    """Reads records: `async with Consumer(...) as c`, `c.assign([("t", 0)])`, `async for r in c`.

    `c.assign(["t"])` and `await c.subscribe(["t"])` read all partitions, those added later too.
    With `group_id`, `subscribe` joins the consumer group, whose members share the partitions.

    Sizes in bytes, times in milliseconds:
    - `bootstrap`, or by Kafka's name `bootstrap_servers`: brokers to ask first, "host:port,…".
    - `client_id`, `connections_max_idle_ms`, `bootstrap_timeout_ms`: those of `Producer`.
    - `auto_offset_reset`: the start without a seek, when an offset is out of range, and when the
      topic was deleted and recreated: "earliest", "latest", or "none" (OffsetOutOfRangeError; for a
      recreated topic InconsistentTopicIdError).
    - `on_truncation`: when records that were read are gone after an unclean election, "raise" a
      LogTruncationError, or "reset": continue where the log diverges from the records read. None:
      raise under `auto_offset_reset` "none", reset otherwise.
    - `isolation_level`: "read_uncommitted" reads all records below the high watermark;
      "read_committed" none of aborted transactions, and nothing from the first open one on.
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
    - `group_id`: the consumer group, 1 to 249 characters; None: no group, no commits.
    - `group_instance_id`: id of a static member, which may be away for a session (45 s) and keeps
      its partitions; `client_rack`: its location.
    - `group_remote_assignor`: assignor of the coordinator, such as "uniform" or "range".
    - `enable_auto_commit`, `auto_commit_interval_ms`: commit by itself what the application is done
      with: records that were handed out before it asked for more, or before a close without error.
    - `max_poll_interval_ms`: a member that asks for no records for this long leaves the group; and
      the time it has to let go of partitions.
    - `interceptors`: `on_consume` of each gets the records that `getmany` is about to return, or
      the next one of an iteration, and returns the records for the application. An exception is
      logged and ignored. `getbatches` calls none, since its records are not decoded yet.
    """

    _is_started = False
    _is_clean = True
    """False when an exception ends the consumer: what is in hand is not committed."""
    _closing: asyncio.Task[None] | None = None

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
        isolation_level: Isolation = "read_uncommitted",
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
        group_id: str | None = None,
        group_instance_id: str | None = None,
        group_remote_assignor: str | None = None,
        client_rack: str = "",
        enable_auto_commit: bool = True,
        auto_commit_interval_ms: int = 5_000,
        max_poll_interval_ms: int = 300_000,
        request_timeout_ms: int = 10_000,
        api_timeout_ms: int = 60_000,
        retry_backoff_ms: int = 20,
        retry_backoff_max_ms: int = 200,
        transport: Transport | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        bootstrap = named_bootstrap(bootstrap, bootstrap_servers)
        reset = checked_reset(auto_offset_reset, on_truncation, max_poll_records=max_poll_records)
        self._max_poll_records = max_poll_records
        self._interceptors = ConsumerInterceptors(interceptors or ())
        self._api_timeout_ms = api_timeout_ms
        backoff = Backoff(retry_backoff_ms, retry_backoff_max_ms)
        named = ConnectionConfig(client_id, connections_max_idle_ms, bootstrap_timeout_ms)
        self._ports = ClientPorts.of(
            transport=transport, clock=clock, random=random, connections=named
        )
        aged = RoutingConfig(backoff=backoff, metadata_max_age_ms=metadata_max_age_ms)
        self._routing = Routing(bootstrap, ports=self._ports, config=aged)
        level = level_of(isolation_level)
        self._assignment = Assignment()
        is_error = (on_truncation or auto_offset_reset) in {"raise", "none"}
        limits = (fetch_min_bytes, fetch_max_wait_ms, fetch_max_bytes, max_partition_fetch_bytes)
        config = FetcherConfig(reset, is_error, *limits, api_timeout_ms, level, backoff)
        deserializers = Deserializers(key=key_deserializer, value=value_deserializer)
        looks = Looks(reset, request_timeout_ms, api_timeout_ms, metadata_max_age_ms)
        self._prepare_reading(config, looks, deserializers, check_crcs=check_crcs)
        polls = PollOptions(enable_auto_commit, auto_commit_interval_ms, max_poll_interval_ms)
        if group_id is not None:
            said = (group_instance_id, group_remote_assignor or "", client_rack, client_id)
            self._prepare_group(MemberOptions(group_id, *said), polls, looks, backoff)

    def _prepare_reading(
        self,
        config: FetcherConfig,
        looks: Looks,
        deserializers: Deserializers[K, V],
        *,
        check_crcs: bool,
    ) -> None:
        self._lookup = OffsetLookup(
            self._routing,
            backoff=config.backoff,
            request_timeout_ms=looks.request_timeout_ms,
            isolation_level=config.isolation_level,
        )
        self._fetcher = Fetcher(
            assignment=self._assignment, routing=self._routing, lookup=self._lookup, config=config
        )
        self._ready = ReadyRecords(
            fetcher=self._fetcher,
            assignment=self._assignment,
            check_crcs=check_crcs,
            deserializers=deserializers,
            observer=self._ports.observed_reader(name_of(config.isolation_level)),
        )
        self._subscriptions = Subscriptions(
            self._routing, looks, assign=self._assign, on_failure=self._fetcher.restart
        )

    def _prepare_group(
        self, member: MemberOptions, polls: PollOptions, looks: Looks, backoff: Backoff
    ) -> None:
        parts = ReadingParts(self._routing, self._assignment, self._fetcher, self._ready)
        self._group = GroupReader(member, polls, looks, parts, consumer=self, backoff=backoff)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._is_clean = not any(exc_info)
        await self.stop()

    async def start(self) -> None:
        """Do what `async with` does: nothing yet, since brokers are called when needed."""

    async def stop(self) -> None:
        """Close, as leaving `async with` does."""
        await self.close()

    def __aiter__(self) -> AsyncIterator[Record[K, V]]:
        """Iterate over records as they arrive, until `close`. Raises the errors of `getmany`."""
        return self._iterate()

    def assign(self, partitions: Partition | Iterable[Partition | str]) -> None:
        """Read these partitions and no others; those read before keep their positions.

        A topic's name stands for all its partitions, those added later too, as with `subscribe`.
        They are looked up in the background: reads and the methods with `await` wait for them, and
        raise the errors of `subscribe`. Ends a subscription.
        """
        self._check_open()
        if self._group is not None and self._group.is_subscribed:
            raise ClientConfigError("the consumer is subscribed: call unsubscribe before assign")
        self._subscriptions.assign(*names_and_partitions(partitions))

    async def subscribe(
        self,
        topics: Iterable[str] = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Read all partitions of these topics, or of the topics whose names `pattern` matches.

        With a group, join it with this subscription; the coordinator assigns partitions, and the
        listener hears of them. Topics need not exist yet; `topics` and `pattern` may go together. A
        pattern is the coordinator's to match, with whole names (docs/GROUPS.md). Errors are raised
        by the next read, as InvalidRegularExpressionError for a pattern that is refused.

        Without one, every subscriber reads everything. A pattern matches from the first letter of a
        name on, as `re.match` does. Partitions that exist now start as without a seek; those
        added later, found every `metadata_max_age_ms`, at their first record. Topics that match no
        more are not read on. Replaces the assignment; partitions read before keep their positions.
        Raises UnknownTopicOrPartitionError for a named topic that does not exist, UnreachableError.
        """
        self._check_open()
        if self._group is None:
            await self._subscriptions.subscribe(topics, pattern)
            return
        named = [topics] if isinstance(topics, str) else list(topics)
        text = pattern_text(pattern)
        if not named and not text:
            raise ValueError("subscribe to topics by their names, to a pattern, or to both")
        self._subscriptions.end()
        self._group.subscribe(named, text, listener)

    async def unsubscribe(self) -> None:
        """End the subscription: with a group, commit, call the listener, leave it."""
        self._check_open()
        if self._group is not None and self._group.is_subscribed:
            await self._group.unsubscribe(timeout_ms=self._api_timeout_ms)
        else:
            self._subscriptions.end()
            self._assign((), None)

    def assignment(self) -> set[TopicPartition]:
        """The assigned partitions, paused ones included."""
        return {position.tp for position in self._assignment.all()}

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
        with self._polling():
            if not await self._wait_until(self._fill, timeout_ms=timeout_ms):
                return []
            limit = self._max_poll_records if max_records is None else max_records
            taken = ready.take(limit)
            while len(taken) < limit and ready.fill(is_first=False):
                taken += ready.take(limit - len(taken))
            if self._group is not None:
                self._hand((TopicPartition(r.topic, r.partition), r.offset) for r in taken)
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
        with self._polling():
            has_batch = await self._wait_until(self._fill_batch, timeout_ms=timeout_ms)
            header = ready.fill_batch() if has_batch else None
            left = self._max_poll_records if max_records is None else max_records
            taken: list[RecordBatch[K, V]] = []
            while header is not None and (not taken or header.records_count <= left):
                taken.append(ready.take_batch())
                left -= header.records_count
                header = ready.fill_batch(is_first=False)
            self._hand((TopicPartition(b.topic, b.partition), b.start_offset) for b in taken)
        return taken

    async def close(self, *, timeout_ms: int = 30_000) -> None:
        """Stop reading; with a group, commit and leave it, within `timeout_ms`, always.

        Iterations end. Completes even if cancelled; a second call awaits it.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(timeout_ms))
        await asyncio.shield(self._closing)

    async def _close(self, timeout_ms: int) -> None:
        if self._group is not None:
            await self._group.unsubscribe(is_clean=self._is_clean, timeout_ms=timeout_ms)
        self._is_closed = True
        self._ready.clear()
        await self._subscriptions.stop()
        await self._fetcher.stop()
        await self._routing.close()
        await self._ports.close()

    async def _iterate(self) -> AsyncIterator[Record[K, V]]:
        self._start()
        ready, interceptors = self._ready, self._interceptors
        while True:
            await asyncio.sleep(0)
            with self._polling():
                await self._until(self._fill)
            if self._closing is not None:
                return
            if self._group is not None:
                for record in self._each_of_group():
                    yield record
                continue
            for record in ready.each():
                if interceptors:
                    for seen in interceptors.on_consume([record]):
                        yield seen
                else:
                    yield record

    def _fill(self) -> bool:
        """True if a record is ready that may be handed out now."""
        self._look_at_membership()
        return self._ready.fill()

    def _fill_batch(self) -> bool:
        self._look_at_membership()
        return self._ready.fill_batch() is not None

    def _each_of_group(self) -> Iterator[Record[K, V]]:
        """Yield decoded records; each is in the application's hands until it asks for the next."""
        group = self._grouped()
        for record in self._ready.each():
            if group.is_subscribed:
                group.hand(TopicPartition(record.topic, record.partition), record.offset)
                group.end_poll()
            yield from self._interceptors.on_consume([record])
            if group.is_subscribed:
                group.ask()
                group.look()

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
            self._raise_failure()
            if not (self._assignment.all() or self._subscriptions or self._is_subscribed()):
                raise NothingAssignedError(
                    "the consumer has no partitions: call assign first, or subscribe"
                )
            await self._fetcher.wait()

    def _assign(self, partitions: Iterable[TopicPartition], reset: Spec | None) -> None:
        """Read these partitions; those that were not read before start where `reset` says."""
        self._assignment.assign(partitions, reset=reset)
        self._positions_changed()

    def _check_open(self) -> None:
        if self._closing is not None:
            raise ClientClosedError("the consumer is closed")
