"""The writer of tables to topics: Arrow columns in, record batches out, without work row by row.

Owns the gathering of rows until they fill batches, and the result of a write. `rows` checks
columns, `row_partitions` chooses partitions, `record_bytes` encodes; order, retries and sequence
numbers are those of every producer, see `producer_engine`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

import pyarrow as pa

from tidelog.client.arrow.record_bytes import EncodedBatch, encoded, record_bounds
from tidelog.client.arrow.row_partitions import RowPartitioning, by_partition
from tidelog.client.arrow.rows import (
    TableRows,
    check_rows,
    check_schema,
    concatenate,
    pieces,
    rows_of,
)
from tidelog.client.arrow.write_result import Tally, WriteResult
from tidelog.client.backoff import Backoff
from tidelog.client.cluster_metadata import TopicView
from tidelog.client.connections import (
    CONNECTIONS_MAX_IDLE_MS,
    RETRIES_MAX,
    ConnectionConfig,
)
from tidelog.client.errors import TidelogError
from tidelog.client.observer import Delivery
from tidelog.client.ports import ClientPorts
from tidelog.client.producing.producer_engine import ProducerEngine, ProducerEngineConfig
from tidelog.client.producing.transaction_methods import TransactionMethods
from tidelog.client.producing.transaction_state import TransactionMember
from tidelog.client.records import TopicPartition
from tidelog.core.env import Clock, Random
from tidelog.net.transport import Transport
from tidelog.records.batch import HEADER_BYTES
from tidelog.records.records import iter_records

GATHER_BYTES_MAX = 1 << 30
"""The maximum of gathered rows, which are concatenated in columns that count bytes in 31 bits."""
_FIRST_TURNS = 1 << 16
_ports_of = ClientPorts.of


@dataclass(slots=True)
class _Gathered:
    """Rows for one incarnation of a topic, and an upper bound for the bytes of their records."""

    view: TopicView
    transaction: int
    """Number of the transaction that they were written in."""
    parts: list[TableRows] = field(default_factory=list)
    size_bytes: int = 0


class _Outgoing(NamedTuple):
    tp: TopicPartition
    topic_id: bytes
    batch: EncodedBatch
    transaction: int


class TableWriter(TransactionMethods):
    """`async with TableWriter("127.0.0.1:9192") as writer: await writer.write("t", batch)`.

    Leaving the block flushes, and raises the errors of `flush`; after an exception no more rows are
    sent. Arguments have the same meaning as in `Producer`; sizes in bytes, times in milliseconds.

    - `batch_size`: of a batch before compression; the topic's max.message.bytes should allow it.
    - `transactional_id`: rows are written in transactions, see `transaction`; a commit flushes.
      `transaction_timeout_ms` as in `Producer`.
    - `gather_bytes`: rows are gathered up to this size, or to a batch for each partition, before
      they are encoded and sent: small writes make large batches. `buffer_memory` counts encoded
      batches.
    """

    def __init__(
        self,
        bootstrap: str | Sequence[str],
        *,
        client_id: str = "tidelog-table-writer",
        connections_max_idle_ms: int = CONNECTIONS_MAX_IDLE_MS,
        bootstrap_timeout_ms: int = 0,
        acks: Literal["all", -1, 0, 1] = "all",
        enable_idempotence: bool | None = None,
        compression: str = "none",
        compression_level: int | None = None,
        batch_size: int = 512 << 10,
        gather_bytes: int = 8 << 20,
        max_request_size: int = 1 << 20,
        buffer_memory: int = 64 << 20,
        max_block_ms: int = 60_000,
        max_in_flight: int = 5,
        request_timeout_ms: int = 10_000,
        delivery_timeout_ms: int = 120_000,
        transactional_id: str | None = None,
        transaction_timeout_ms: int = 60_000,
        retries: int = RETRIES_MAX,
        retry_backoff_ms: int = 20,
        retry_backoff_max_ms: int = 200,
        transport: Transport | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        if not 0 < gather_bytes <= GATHER_BYTES_MAX:
            raise ValueError(f"gather_bytes={gather_bytes}: from 1 to {GATHER_BYTES_MAX}")
        self._config = ProducerEngineConfig(
            acks=acks,
            enable_idempotence=enable_idempotence,
            linger_ms=0,
            batch_size=batch_size,
            compression=compression,
            compression_level=compression_level,
            max_request_size=max_request_size,
            buffer_memory=buffer_memory,
            max_block_ms=max_block_ms,
            max_in_flight=max_in_flight,
            request_timeout_ms=request_timeout_ms,
            delivery_timeout_ms=delivery_timeout_ms,
            retries=retries,
            backoff=Backoff(retry_backoff_ms, retry_backoff_max_ms),
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
        )
        named = ConnectionConfig(client_id, connections_max_idle_ms, bootstrap_timeout_ms)
        self._ports = _ports_of(transport=transport, clock=clock, random=random, connections=named)
        self._engine = ProducerEngine(bootstrap, ports=self._ports, config=self._config)
        self._gather_bytes = gather_bytes
        self._gathered: dict[str, _Gathered] = {}
        self._partitionings: dict[str, RowPartitioning] = {}
        self._turn = asyncio.Lock()
        self._tally = Tally()
        # Batches that a cancelled call left behind are sent before any others.
        self._outgoing: Iterator[_Outgoing] = iter(())
        self._next: _Outgoing | None = None

    async def __aenter__(self) -> Self:
        await self._engine.initialise()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        try:
            if exc_info[0] is None and not self._engine.is_transactional:
                await self.flush()
        finally:
            await self.close()

    async def close(self) -> None:
        """Stop sending: rows that were not flushed may or may not be stored. See `async with`.

        An open transaction is aborted, for at most `request_timeout_ms`.
        """
        limit_ms = self._config.request_timeout_ms if self._engine.is_transactional else 0
        await self._engine.close(timeout_ms=limit_ms)

    async def write(self, topic: str, batch: pa.RecordBatch) -> None:
        """Take the rows of a batch; its columns are those of `rows`, at least "value".

        Returns once they are gathered or in the buffer, for which it may wait. Rows written by one
        task keep their order in a partition. Raises ValueError for a column or a value that no
        record can hold, MessageTooLargeError, and KafkaError for a topic that does not exist; then
        no row of the batch was taken. Raises the first error of earlier writes,
        BufferExhaustedError after max_block_ms, and ClientClosedError; then some of the rows may be
        stored, and `flush` raises too. If cancelled, it may have taken the first rows. In a
        transaction any of these leaves only the abort.
        """
        transaction = self._engine.enter()
        try:
            await self._write(topic, batch, transaction)
        except BaseException as error:
            self._engine.note_failure(transaction, error)
            raise

    async def _write(self, topic: str, batch: pa.RecordBatch, transaction: int) -> None:
        check_schema(batch.schema)
        view = await self._engine.topic(topic)
        async with self._turn:
            self._engine.check(transaction)
            self._tally.raise_error()
            for rows, size_bytes in self._check(view, batch):
                await self._gather(topic, view, rows, size_bytes)

    async def flush(self) -> WriteResult:
        """Send gathered rows and wait for all outcomes; return the result since the last flush.

        Raises the first error if a record was not acknowledged; it is then unknown which of the
        others are stored. The writer may be used again.
        """
        async with self._turn:
            with suppress(TidelogError):  # in the tally: raised when no batch is in flight
                await self._send_gathered()
            await self._engine.flush()
            tally, self._tally = self._tally, Tally()
        tally.raise_error()
        return tally.write_result()

    def _check(self, view: TopicView, batch: pa.RecordBatch) -> list[tuple[TableRows, int]]:
        """The checked rows in parts, with an upper bound for the bytes of their records."""
        now_ms = self._ports.clock.wall_ms()
        limit = self._config.max_request_size - HEADER_BYTES
        parts, first_row = [], 0
        for piece in pieces(batch, piece_bytes=self._gather_bytes):
            rows = rows_of(piece, now_ms=now_ms, record_bytes_max=limit, first_row=first_row)
            size_bytes = check_rows(
                rows,
                partitions_count=len(view.leaders),
                record_bytes_max=limit,
                first_row=first_row,
            )
            parts.append((rows, size_bytes))
            first_row += piece.num_rows
        return parts

    async def _gather(self, topic: str, view: TopicView, rows: TableRows, size_bytes: int) -> None:
        """Add rows to those gathered for the topic; send them if there are enough."""
        gathered = self._gathered.get(topic)
        if gathered is not None and (
            gathered.view.topic_id != view.topic_id
            or gathered.size_bytes + size_bytes > self._gather_bytes
        ):
            await self._send(topic)
            gathered = None
        if gathered is None:
            gathered = self._gathered[topic] = _Gathered(view, self._engine.enter())
        gathered.view = view
        gathered.parts.append(rows)
        gathered.size_bytes += size_bytes
        if gathered.size_bytes >= self._config.batch_size * len(view.leaders):
            await self._send(topic)
        elif sum(one.size_bytes for one in self._gathered.values()) >= self._gather_bytes:
            await self._send_gathered()

    async def _send_gathered(self) -> None:
        await self._send_outgoing()
        for topic in list(self._gathered):
            await self._send(topic)

    async def _send(self, topic: str) -> None:
        await self._send_outgoing()
        self._outgoing = self._batches(topic, self._gathered.pop(topic))
        await self._send_outgoing()

    async def _send_outgoing(self) -> None:
        """Put batches into the buffer, each once there is room for it."""
        try:
            while (one := self._next or next(self._outgoing, None)) is not None:
                self._next = one
                self._tally.raise_error()
                await self._engine.admit(one.tp.topic, len(one.batch.data))
                self._engine.check(one.transaction)
                self._hand_over(one)
                self._next = None
        except TidelogError as error:
            self._tally.fail(error, 0)
            self._drop_all()
            raise

    def _hand_over(self, one: _Outgoing) -> None:
        data, records_count = one.batch
        self._engine.accumulator.add(
            one.tp,
            data,
            records_count=records_count,
            waiter=self._tally,
            waiters=self._observed(one),
            now_ms=self._ports.clock.monotonic_ms(),
            topic_id=one.topic_id,
        )
        self._tally.count_sent(len(data))
        self._engine.announce()

    def _observed(self, one: _Outgoing) -> list[Delivery]:
        """The waiters of the batch's records, if an observer hears of each; else none."""
        observer = self._engine.observer
        if observer is None:
            return []
        return [
            observer.sends(one.tp, (row.key, row.value), self._tally, topic_id=one.topic_id)
            for row in iter_records(memoryview(one.batch.data))
        ]

    async def _commit(self) -> None:
        """Flush, then commit; rows that cannot be sent leave only the abort."""
        await self._flush_transaction()
        await self._end(self._engine.transactions.commit())

    async def _leave_open(self) -> TransactionMember | None:
        await self._flush_transaction()
        return await self._engine.transactions.hand_over()

    async def _flush_transaction(self) -> None:
        state = self._engine.transactions.state
        if state.may_send:
            number = state.number
            try:
                await self.flush()
            except TidelogError as error:
                self._engine.note_failure(number, error)

    async def _abort(self) -> None:
        await self._end(self._engine.transactions.abort())

    async def _end(self, ending: Coroutine[None, None, None]) -> None:
        """End a transaction; of one that was aborted no row is left to be sent."""
        try:
            await ending
        finally:
            if not self._engine.transactions.state.may_send:
                self._drop_all()
                self._tally = Tally()

    def _drop_all(self) -> None:
        """Drop all unsent rows after an error, since no caller could learn which are stored."""
        self._outgoing, self._next = iter(()), None
        self._gathered.clear()

    def _batches(self, topic: str, gathered: _Gathered) -> Iterator[_Outgoing]:
        rows, view, config = concatenate(gathered.parts), gathered.view, self._config
        partitions = self._partitioning(topic).choose(
            rows,
            record_bounds(rows.records, batch_size=config.batch_size),
            count=len(view.leaders),
            available=view.available,
        )
        records, runs = by_partition(rows.records, partitions)
        for partition, batch in encoded(
            records,
            runs,
            batch_size=config.batch_size,
            codec=config.codec,
            level=config.compression_level,
        ):
            tp = TopicPartition(topic, partition)
            yield _Outgoing(tp, view.topic_id, batch, gathered.transaction)

    def _partitioning(self, topic: str) -> RowPartitioning:
        found = self._partitionings.get(topic)
        if found is None:
            found = self._partitionings[topic] = RowPartitioning(
                first_turn=self._ports.random.randrange(0, _FIRST_TURNS),
                switch_bytes=self._config.batch_size,
            )
        return found
