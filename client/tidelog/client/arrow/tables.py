"""Functions that read a topic into Arrow tables, and write Arrow tables to a topic."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import Literal

import pyarrow as pa

from tidelog.client.arrow.columns import SCHEMA, decode_range
from tidelog.client.arrow.table_ranges import Place
from tidelog.client.arrow.table_reader import Chunk, plan, read_chunks
from tidelog.client.arrow.table_writer import TableWriter
from tidelog.client.arrow.write_result import WriteResult
from tidelog.client.connections import RETRIES_MAX
from tidelog.client.consuming.range_reader import RangeReader, RangeReaderConfig
from tidelog.client.sync import LoopThread
from tidelog.net.transport import Transport


def read_table(
    topic: str,
    *,
    bootstrap: str | Sequence[str],
    partitions: Iterable[int] | None = None,
    start: Place = "earliest",
    end: Place = "latest",
    columns: Sequence[str] | None = None,
    include_headers: bool = False,
    fail_on_data_loss: bool = True,
    config: RangeReaderConfig | None = None,
    transport: Transport | None = None,
) -> pa.Table:
    """Read the records of a topic into memory: partition by partition, each in offset order.

    Arguments and errors are those of `iter_batches`.
    """
    batches = iter_batches(
        topic,
        bootstrap=bootstrap,
        partitions=partitions,
        start=start,
        end=end,
        columns=columns,
        include_headers=include_headers,
        fail_on_data_loss=fail_on_data_loss,
        config=config,
        transport=transport,
    )
    return pa.Table.from_batches(batches, schema=_schema(columns, include_headers=include_headers))


def iter_batches(
    topic: str,
    *,
    bootstrap: str | Sequence[str],
    partitions: Iterable[int] | None = None,
    start: Place = "earliest",
    end: Place = "latest",
    columns: Sequence[str] | None = None,
    include_headers: bool = False,
    fail_on_data_loss: bool = True,
    config: RangeReaderConfig | None = None,
    transport: Transport | None = None,
) -> Iterator[pa.RecordBatch]:
    """Iterate over the records of a topic, one fetch answer at a time; read up to ten ahead.

    An answer has up to `config.fetch_max_bytes`, 8 MiB, or a single larger batch.

    - `partitions`: the partitions to read; None: all that exist at the start.
    - `start`, `end`: "earliest", "latest", a datetime with a time zone (the first record at or
      after it; the end if there is none), or an offset for each partition. The end is exclusive and
      fixed at the start, so that the iteration ends however fast the topic grows.
    - `columns`: columns of `SCHEMA`, in this order; default: all, without headers unless
      `include_headers`.
    - `fail_on_data_loss`: False skips records that are gone.

    Only committed records are read: none of aborted transactions, and nothing from the first open
    one on; "latest" is the last stable offset. `config.isolation_level` "read_uncommitted" reads
    all below the high watermark.

    Raises ValueError for arguments that do not fit the topic, KafkaError if it does not exist,
    OffsetOutOfRangeError for records that are gone, CorruptMessageError, UnreachableError.
    """
    schema = _schema(columns, include_headers=include_headers)

    async def chunks() -> AsyncGenerator[Chunk, None]:
        async with RangeReader(bootstrap, transport=transport, config=config) as reader:
            planned = await plan(reader, topic, partitions=partitions, start=start, end=end)
            async for chunk in read_chunks(reader, planned, fail_on_data_loss=fail_on_data_loss):
                yield chunk

    return _decode(chunks, schema.names)


def write_table(
    table: pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch],
    topic: str,
    *,
    bootstrap: str | Sequence[str],
    acks: Literal["all", -1, 0, 1] = "all",
    enable_idempotence: bool | None = None,
    compression: str = "none",
    compression_level: int | None = None,
    batch_size: int = 512 << 10,
    delivery_timeout_ms: int = 120_000,
    retries: int = RETRIES_MAX,
    client_id: str = "tidelog-table-writer",
    bootstrap_timeout_ms: int = 0,
    transport: Transport | None = None,
) -> WriteResult:
    """Produce a table, or batches as they arrive, and wait until all rows are acknowledged.

    Columns, arguments and errors are those of `TableWriter`. After an error some of the rows may be
    stored.
    """
    batches = [table] if isinstance(table, pa.RecordBatch) else table
    batches = table.to_batches() if isinstance(table, pa.Table) else batches

    async def opened() -> TableWriter:
        writer = TableWriter(
            bootstrap,
            acks=acks,
            enable_idempotence=enable_idempotence,
            compression=compression,
            compression_level=compression_level,
            batch_size=batch_size,
            delivery_timeout_ms=delivery_timeout_ms,
            retries=retries,
            client_id=client_id,
            bootstrap_timeout_ms=bootstrap_timeout_ms,
            transport=transport,
        )
        return await writer.__aenter__()

    with LoopThread() as loop:
        writer = loop.run(opened())
        try:
            # The caller's iterator makes a batch here while the loop sends earlier ones.
            for batch in batches:
                loop.run(writer.write(topic, batch))
            return loop.run(writer.flush())
        finally:
            loop.run(writer.close())


def _schema(columns: Sequence[str] | None, *, include_headers: bool) -> pa.Schema:
    """The requested columns. Errors: ValueError for an unknown or duplicate one."""
    if columns is None:
        columns = [name for name in SCHEMA.names if include_headers or name != "headers"]
    if isinstance(columns, str) or not set(columns) <= set(SCHEMA.names):
        raise ValueError(f"columns={columns!r}: a list of some of {', '.join(SCHEMA.names)}")
    if len(set(columns)) < len(columns):
        raise ValueError(f"columns={list(columns)}: each only once")
    return pa.schema([SCHEMA.field(name) for name in columns])


def _decode(
    chunks: Callable[[], AsyncGenerator[Chunk, None]], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Decode on the caller's thread, while the loop fetches the next answers."""
    with LoopThread() as loop:
        for wanted, data in loop.iterate(chunks()):
            for batch in decode_range(data, wanted, columns=columns):
                if batch.num_rows:
                    yield batch
