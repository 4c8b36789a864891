"""The reader of offset ranges as raw record batches, for batch jobs that know where to stop.

Owns the search for leaders, the retries across leader changes, and a fetch of one answer ahead of
the reader. Yields whole batches as the broker stored them, without those of aborted transactions.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Self

from tidelog.client.backoff import Backoff
from tidelog.client.cluster_metadata import UNKNOWN_EPOCH
from tidelog.client.connections import ConnectionConfig
from tidelog.client.consuming.isolation import Isolation, aborted_batches, level_of
from tidelog.client.consuming.offset_ranges import OffsetBounds, OffsetRange, TopicPartitions
from tidelog.client.consuming.record_batch import iter_batch
from tidelog.client.errors import (
    CorruptMessageError,
    KafkaError,
    LeaderNotAvailableError,
    OffsetOutOfRangeError,
    RequestTimedOutError,
    TidelogError,
    UnknownTopicOrPartitionError,
    error_from_wire,
)
from tidelog.client.observer import hand_out
from tidelog.client.offsets import EARLIEST, LATEST, OffsetLookup, OffsetQuery
from tidelog.client.ports import ClientPorts
from tidelog.client.records import Record, TopicPartition
from tidelog.client.routing import Routing
from tidelog.core.env import Clock, Random
from tidelog.net.transport import Transport
from tidelog.records.batch import CONTROL_FLAG, BatchHeader, check_crc, parse_header
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import (
    FetchPartition,
    FetchRequest,
    IsolationLevel,
    MetadataRequest,
    PartitionFetchResult,
)
from tidelog.v1.methods import FETCH, METADATA

_CONNECTIONS = ConnectionConfig("tidelog-reader")


@dataclass(frozen=True, slots=True)
class RangeReaderConfig:
    """The limits of reads; times in milliseconds. `connections`: as in `Producer`."""

    fetch_max_bytes: int = 8 << 20
    fetch_max_wait_ms: int = 500
    request_timeout_ms: int = 10_000
    topic_timeout_ms: int = 5_000
    """The limit of a topic's description, after which a read fails."""
    progress_timeout_ms: int = 30_000
    """The limit without any records, for want of a leader or of records."""
    isolation_level: Isolation = "read_committed"
    backoff: Backoff = field(default_factory=Backoff)
    connections: ConnectionConfig = _CONNECTIONS


_ANOTHER_INCARNATION = (common_pb2.UNKNOWN_TOPIC_ID, common_pb2.INCONSISTENT_TOPIC_ID)
_GONE = (*_ANOTHER_INCARNATION, common_pb2.UNKNOWN_TOPIC_OR_PARTITION)


class _Chunk(NamedTuple):
    records: bytes
    next_offset: int


class RangeReader:
    """`async with RangeReader("127.0.0.1:9192") as reader`; the ports are for simulations."""

    def __init__(
        self,
        bootstrap: str | Sequence[str],
        *,
        transport: Transport | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        config: RangeReaderConfig | None = None,
    ) -> None:
        self._config = config or RangeReaderConfig()
        self._level = level_of(self._config.isolation_level)
        self._ports = ClientPorts.of(
            transport=transport, clock=clock, random=random, connections=self._config.connections
        )
        self._observer = self._ports.observed_reader(self._config.isolation_level)
        self._routing = Routing(bootstrap, ports=self._ports)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections of a reader that is used without `async with`."""
        await self._routing.close()
        await self._ports.close()

    async def all_topics(self) -> dict[str, TopicPartitions]:
        """Every topic. Raises UnreachableError when no broker answers."""
        response = await self._routing.call_any(
            METADATA, MetadataRequest(), timeout_ms=self._config.request_timeout_ms
        )
        return {
            topic.name: TopicPartitions(
                topic.topic_id, tuple(p.partition for p in topic.partitions)
            )
            for topic in response.topics
            if topic.error.code == common_pb2.NONE
        }

    async def topics(self, names: Iterable[str]) -> dict[str, TopicPartitions]:
        """The existing ones of `names`. Raises UnreachableError when no broker answers."""
        distinct = list(dict.fromkeys(names))
        # Concurrently, so that one metadata call asks for all topics.
        views = await asyncio.gather(*(self._describe(name) for name in distinct))
        return {name: view for name, view in zip(distinct, views, strict=True) if view is not None}

    async def bounds(
        self, partitions: Sequence[TopicPartition], *, isolation_level: Isolation | None = None
    ) -> dict[TopicPartition, OffsetBounds]:
        """The offsets that each partition holds, from its leader, in the order given.

        `isolation_level`: of the latest ones, if not the reader's own.
        """
        lookup = self._lookup(None if isolation_level is None else level_of(isolation_level))
        earliest, latest = [
            await lookup.lookup(
                dict.fromkeys(partitions, spec), timeout_ms=self._config.progress_timeout_ms
            )
            for spec in (EARLIEST, LATEST)
        ]
        return {tp: OffsetBounds(earliest[tp], latest[tp]) for tp in partitions}

    def as_of_now(self, ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
        """Ranges for other readers, which may know older leaders than this one.

        Call `bounds` first, from which this reader learns the present leaders.
        """
        return [wanted.as_of(self._routing.metadata) for wanted in ranges]

    async def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int | None]:
        """The first committed record at or after each time, in milliseconds since the Unix epoch.

        None if there is none (KIP-79). Later records may have earlier times.
        """
        queries = {tp: OffsetQuery.of(time_ms) for tp, time_ms in times_ms.items()}
        found = await self._lookup().find(queries, timeout_ms=self._config.progress_timeout_ms)
        return {tp: at.offset if at.offset >= 0 else None for tp, at in found.items()}

    async def chunks(
        self, wanted: OffsetRange, *, fail_on_data_loss: bool = True
    ) -> AsyncGenerator[bytes, None]:
        """Yield whole batches that cover the range, one fetch answer at a time.

        The first batch may start before the range, the last may end after it; later batches are
        ignored. The next fetch is sent before an answer is yielded. Raises OffsetOutOfRangeError
        when records of the range are gone, and KafkaError when the topic is gone; without
        `fail_on_data_loss` they are skipped instead. CorruptMessageError names the partition and
        the offset of an invalid batch.
        """
        position = wanted.start_offset
        pending: asyncio.Task[_Chunk] | None = None
        try:
            while position < wanted.end_offset:
                pending = pending or asyncio.create_task(self._fetch(wanted, position))
                try:
                    chunk = await pending
                except OffsetOutOfRangeError as error:
                    if fail_on_data_loss:
                        raise
                    if error.log_start_offset <= position:
                        return
                    position, pending = error.log_start_offset, None
                    continue
                except KafkaError as error:
                    if fail_on_data_loss or error.code not in _GONE:
                        raise
                    return
                position, pending = chunk.next_offset, None
                if position < wanted.end_offset:
                    pending = asyncio.create_task(self._fetch(wanted, position))
                if chunk.records:
                    if self._observer is not None:
                        hand_out(self._observer, _records(wanted, chunk.records))
                    yield chunk.records
        finally:
            if pending is not None:
                pending.cancel()

    def _lookup(self, level: IsolationLevel | None = None) -> OffsetLookup:
        return OffsetLookup(
            self._routing,
            backoff=self._config.backoff,
            request_timeout_ms=self._config.request_timeout_ms,
            isolation_level=self._level if level is None else level,
        )

    async def _describe(self, name: str) -> TopicPartitions | None:
        try:
            view = await self._routing.topic(name, timeout_ms=self._config.topic_timeout_ms)
        except UnknownTopicOrPartitionError:
            return None
        return TopicPartitions(view.topic_id, tuple(sorted(view.leaders)))

    async def _fetch(self, wanted: OffsetRange, position: int) -> _Chunk:
        """Fetch the next batches from `position` on; wait for up to progress_timeout_ms."""
        clock, failures = self._ports.clock, 0
        deadline_ms = clock.monotonic_ms() + self._config.progress_timeout_ms
        while True:
            try:
                result = await self._ask_leader(wanted, position)
                if result.records:
                    return _chunk(wanted, position, result)
                failures = 0
                error = _nothing(wanted, position, result)
            except TidelogError as failure:
                failures += 1
                error = failure
            if not error.is_retriable or clock.monotonic_ms() >= deadline_ms:
                raise error
            if failures:
                delay_ms = self._config.backoff.delay_ms(failures, self._ports.random)
                await asyncio.sleep(delay_ms / 1000)

    async def _ask_leader(self, wanted: OffsetRange, position: int) -> PartitionFetchResult:
        """The leader's answer to one long poll. Raises an error in it, or the lack of an answer."""
        tp = TopicPartition(wanted.topic, wanted.partition)
        metadata = self._routing.metadata
        await self._routing.topic(tp.topic, timeout_ms=self._config.topic_timeout_ms)
        leader = metadata.leader(tp)
        try:
            if leader is None or leader.address is None:
                raise LeaderNotAvailableError(f"{tp.topic}-{tp.partition} has no leader")
            response = await self._routing.call_leader(
                leader.address,
                FETCH,
                self._request(wanted, position),
                partitions=[tp],
                answer_ms=self._config.fetch_max_wait_ms,
                timeout_ms=self._config.request_timeout_ms,
            )
        except TidelogError:
            self._routing.request_refresh()
            raise
        result = response.partitions[0]
        if result.error.code == common_pb2.NONE:
            return result
        if not metadata.apply_hint(tp, result.current_leader):
            self._routing.request_refresh()
        raise _error(tp, position, result)

    def _request(self, wanted: OffsetRange, position: int) -> FetchRequest:
        limit = self._config.fetch_max_bytes
        leader_epoch = wanted.as_of(self._routing.metadata).leader_epoch
        partition = FetchPartition(
            topic=wanted.topic,
            topic_id=wanted.topic_id,
            partition=wanted.partition,
            fetch_offset=position,
            # A deposed leader would report its successor's offsets as out of range (KIP-320).
            current_leader_epoch=None if leader_epoch == UNKNOWN_EPOCH else leader_epoch,
            partition_max_bytes=limit,
        )
        return FetchRequest(
            max_wait_ms=self._config.fetch_max_wait_ms,
            min_bytes=1,
            max_bytes=limit,
            isolation_level=self._level,
            partitions=[partition],
        )


def _error(tp: TopicPartition, position: int, result: PartitionFetchResult) -> TidelogError:
    if result.error.code != common_pb2.OFFSET_OUT_OF_RANGE:
        error = error_from_wire(result.error)
        # The range was planned for one incarnation: waiting for another one is useless.
        error.is_retriable &= result.error.code not in _ANOTHER_INCARNATION
        return error
    return OffsetOutOfRangeError(
        f"records of {tp.topic}-{tp.partition} from offset {position} on are gone: "
        f"it holds {result.log_start_offset} to {result.high_watermark}",
        log_start_offset=result.log_start_offset,
        log_end_offset=result.high_watermark,
    )


def _nothing(wanted: OffsetRange, position: int, result: PartitionFetchResult) -> TidelogError:
    return RequestTimedOutError(
        f"{wanted.topic}-{wanted.partition} returns no records from offset {position} on: its high "
        f"watermark is {result.high_watermark}, its last stable offset is "
        f"{result.last_stable_offset}, "
        f"the range ends at {wanted.end_offset}",
    )


def _chunk(wanted: OffsetRange, position: int, result: PartitionFetchResult) -> _Chunk:
    """The whole batches from `position` on, without those past the range and aborted ones.

    A base offset is outside the CRC; it is checked here, since batches have no gaps between them.
    """
    at, next_offset, records = 0, position, result.records
    headers: list[BatchHeader] = []
    try:
        while at < len(records) and next_offset < wanted.end_offset:
            header = parse_header(records, at)
            is_first = at == 0 and header.base_offset <= position < header.next_offset
            if not (is_first or header.base_offset == next_offset):
                raise CorruptMessageError(f"the next batch has base offset {header.base_offset}")
            headers.append(header)
            at, next_offset = at + header.size_in_bytes, header.next_offset
    except CorruptMessageError as error:
        raise CorruptMessageError(
            f"{wanted.topic}-{wanted.partition} is corrupt at offset {next_offset}: {error}"
        ) from None
    aborted = aborted_batches(headers, result.aborted_transactions)
    return _Chunk(_without(aborted, headers, records) if aborted else records[:at], next_offset)


def _records(wanted: OffsetRange, data: bytes) -> Iterator[Record]:
    """The records of the range among whole batches; raises the errors of `iter_batch`."""
    tp, at = TopicPartition(wanted.topic, wanted.partition), 0
    while at < len(data):
        header = parse_header(data, at)
        batch = memoryview(data)[at : at + header.size_in_bytes]
        at += header.size_in_bytes
        if not header.attributes & CONTROL_FLAG:
            for record in iter_batch(tp, batch, start=wanted.start_offset):
                if record.offset < wanted.end_offset:
                    yield record


def _without(aborted: Container[int], headers: Iterable[BatchHeader], records: bytes) -> bytes:
    """The batches but the aborted ones; a corrupt one stays, for the reader to complain of."""
    kept, at = [], 0
    for header in headers:
        batch = memoryview(records)[at : at + header.size_in_bytes]
        at += header.size_in_bytes
        # The producer and the flags, by which batches are dropped, may be what is damaged.
        if header.base_offset not in aborted or not _is_intact(header, batch):
            kept.append(batch)
    return b"".join(kept)


def _is_intact(header: BatchHeader, batch: memoryview) -> bool:
    try:
        check_crc(header, batch)
    except CorruptMessageError:
        return False
    return True
