"""Clients of a workload that write and read tables, as Spark's sink and source do.

Owns how rows of Arrow become a record's parts and back. A writer's error leaves open which of its
rows are stored, so the outcome of all that it was writing is unknown then.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import pyarrow as pa

from tidelog.chaos.workloads.clients import BrokenClientError
from tidelog.chaos.workloads.plans import ProducerPlan
from tidelog.client import Record, RecordMetadata, TopicPartition
from tidelog.client.arrow.columns import HEADER_TYPE, decode_range
from tidelog.client.arrow.table_writer import TableWriter
from tidelog.client.arrow.write_result import WriteResult
from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.consuming.range_reader import RangeReader, RangeReaderConfig
from tidelog.client.errors import OffsetOutOfRangeError
from tidelog.core.errors import TidelogError, UnknownTopicOrPartitionError

COLUMNS = ("key", "value", "offset", "timestamp", "headers")
WRITTEN = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("partition", pa.int32()),
        ("timestamp", pa.timestamp("ms", tz="UTC")),
        ("headers", pa.list_(HEADER_TYPE)),
    ]
)
ROWS_MAX = 50
"""Rows of one table."""
POLLS = 4
"""Looks at the ends within the time of one call."""


class Row(NamedTuple):
    """A record to be written."""

    key: bytes | None
    value: bytes | None
    partition: int
    timestamp_ms: int | None
    headers: list[tuple[str, bytes | None]]


class _Submitted(NamedTuple):
    topic: str
    row: Row
    outcome: asyncio.Future[RecordMetadata]


class TableProducer:
    """See `LoadProducer`; writes what was submitted meanwhile as one table, then the next."""

    def __init__(self, bootstrap: Sequence[str], plan: ProducerPlan, ports: Mapping[str, Any]):
        self._writer = TableWriter(
            bootstrap,
            acks="all",
            compression=plan.compression,
            request_timeout_ms=plan.request_timeout_ms,
            delivery_timeout_ms=plan.delivery_timeout_ms,
            max_block_ms=5_000,
            bootstrap_timeout_ms=5_000,
            **ports,
        )
        self._submitted: deque[_Submitted] = deque()
        self._work: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._writer.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._work is not None:
            await self._work
        await self._writer.close()

    async def submit(
        self,
        topic: str,
        /,
        *,
        value: bytes | None,
        partition: int,
        key: bytes | None = None,
        headers: tuple[tuple[str, bytes | None], ...] = (),
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """See `LoadProducer.submit`."""
        outcome: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
        row = Row(key, value, partition, timestamp_ms, list(headers))
        self._submitted.append(_Submitted(topic, row, outcome))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._write_all())
        return outcome

    async def _write_all(self) -> None:
        while self._submitted:
            count = min(len(self._submitted), ROWS_MAX)
            taken = [self._submitted.popleft() for _ in range(count)]
            try:
                await self._writer.write(taken[0].topic, table_of([one.row for one in taken]))
                written = await self._writer.flush()
            except (TidelogError, ValueError) as error:
                failed = BrokenClientError(f"a table of {count} rows: {error}")
                for one in (*taken, *self._submitted):
                    one.outcome.set_exception(failed)
                self._submitted.clear()
            else:
                for one, offset in zip(taken, offsets_of(taken, written), strict=True):
                    tp = TopicPartition(one.topic, one.row.partition)
                    one.outcome.set_result(RecordMetadata(*tp, offset, one.row.timestamp_ms or -1))


class TableReader:
    """See `LoadReader`; reads ranges of offsets and decodes them column by column."""

    def __init__(self, bootstrap: Sequence[str], topic: str, ports: Mapping[str, Any]) -> None:
        config = RangeReaderConfig(request_timeout_ms=2_000)
        self._reader = RangeReader(bootstrap, config=config, **ports)
        self._topic = topic
        self._positions: dict[int, int] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._reader.close()

    def assign(self, partitions: Sequence[tuple[str, int]], /) -> None:
        """See `LoadReader.assign`."""
        self._positions = {partition: 0 for _, partition in partitions}

    def seek(self, partition: tuple[str, int], offset: int, /) -> None:
        """See `LoadReader.seek`."""
        self._positions[partition[1]] = offset

    async def position(self, partition: tuple[str, int], /) -> int:
        """See `LoadReader.position`."""
        return self._positions[partition[1]]

    async def beginning_offsets(
        self, partitions: Sequence[tuple[str, int]], /
    ) -> Mapping[TopicPartition, int]:
        """See `LoadReader.beginning_offsets`."""
        return {tp: one.earliest for tp, one in (await self._bounds(partitions)).items()}

    async def end_offsets(
        self, partitions: Sequence[tuple[str, int]], /
    ) -> Mapping[TopicPartition, int]:
        """See `LoadReader.end_offsets`."""
        return {tp: one.latest for tp, one in (await self._bounds(partitions)).items()}

    async def getmany(self, *, timeout_ms: int, max_records: int) -> Sequence[Record]:
        """See `LoadReader.getmany`."""
        for _ in range(POLLS):
            records = await self._read(max_records)
            if records:
                return records
            await asyncio.sleep(timeout_ms / 1000 / POLLS)
        return []

    async def _bounds(self, partitions: Sequence[tuple[str, int]]) -> Mapping[TopicPartition, Any]:
        return await self._reader.bounds([TopicPartition(*one) for one in partitions])

    async def _read(self, max_records: int) -> list[Record]:
        known = (await self._reader.topics([self._topic])).get(self._topic)
        if known is None:
            raise UnknownTopicOrPartitionError(f"there is no topic {self._topic!r}")
        tps = [TopicPartition(self._topic, one) for one in self._positions]
        records: list[Record] = []
        ends: dict[int, int] = {}
        for tp, bounds in (await self._reader.bounds(tps)).items():
            position = self._positions[tp.partition]
            if not bounds.earliest <= position <= bounds.latest:
                raise OffsetOutOfRangeError(f"{tp.topic}-{tp.partition} has not offset {position}")
            end = min(bounds.latest, position + max_records - len(records))
            if position < end:
                asked = OffsetRange(tp.topic, known.topic_id, tp.partition, position, end)
                records += await self._records(*self._reader.as_of_now([asked]))
                ends[tp.partition] = end
        self._positions |= ends  # of all or, after an error, of none
        return records

    async def _records(self, wanted: OffsetRange) -> list[Record]:
        records: list[Record] = []
        async for chunk in self._reader.chunks(wanted):
            for batch in decode_range(chunk, wanted, columns=COLUMNS):
                records += records_of(batch, wanted.topic, wanted.partition)
        return records


def table_of(rows: Sequence[Row]) -> pa.RecordBatch:
    """Make a table of rows."""
    keys, values, partitions, times_ms, headers = zip(*rows, strict=True)
    listed = [[{"key": name, "value": value} for name, value in one] for one in headers]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(column, WRITTEN.field(name).type)
            for name, column in zip(
                WRITTEN.names, (keys, values, partitions, times_ms, listed), strict=True
            )
        ],
        schema=WRITTEN,
    )


def offsets_of(taken: Sequence[_Submitted], written: WriteResult) -> Iterator[int]:
    """Yield the offset of each row; -1 where others' records may lie between a partition's rows."""
    seen: dict[int, int] = defaultdict(int)
    for one in taken:
        partition = one.row.partition
        records, first, last = written.partitions[TopicPartition(one.topic, partition)]
        is_dense = first >= 0 and last - first + 1 == records
        yield first + seen[partition] if is_dense else -1
        seen[partition] += 1


def records_of(batch: pa.RecordBatch, topic: str, partition: int) -> Iterator[Record]:
    """Yield the rows of a decoded range as records."""
    times_us = batch.column("timestamp").cast(pa.int64()).to_pylist()
    columns = (batch.column(name).to_pylist() for name in ("offset", "key", "value", "headers"))
    for time_us, offset, key, value, headers in zip(times_us, *columns, strict=True):
        listed = tuple((one["key"], one["value"]) for one in headers or ())
        yield Record(topic, partition, offset, time_us // 1000, key, value, listed)
