"""A batch for the application: header fields at once, records decoded when iterated.

Owns the decoding of a batch into the client's records; `ready_records.py` owns the position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any, Generic

from tidelog.client.consuming.deserializers import Deserializers
from tidelog.client.records import K, Record, TopicPartition, V
from tidelog.core.errors import CorruptMessageError, UnsupportedCompressionTypeError
from tidelog.records.batch import DELETE_HORIZON_FLAG, BatchHeader
from tidelog.records.compression import Codec
from tidelog.records.record_columns import Columns
from tidelog.records.records import iter_columns


class RecordBatch(Generic[K, V]):
    """A batch of a partition; every iteration decodes it again.

    Records below the position at which it was returned are neither iterated nor counted by `len`.
    It keeps all bytes of its fetch alive (`max_partition_fetch_bytes`): do not collect batches.
    Iterating raises CorruptMessageError if the records contradict the header,
    UnsupportedCompressionTypeError, and DeserializationError; the position is past the batch even
    then, so seek to read it again.
    """

    __slots__ = ("_batch", "_deserializers", "_header", "_start", "partition", "topic")

    def __init__(
        self,
        tp: TopicPartition,
        batch: memoryview,
        *,
        header: BatchHeader,
        start: int,
        deserializers: Deserializers[K, V],
    ) -> None:
        self.topic, self.partition = tp
        self._batch = batch
        self._header = header
        self._start = start
        self._deserializers = deserializers

    def __repr__(self) -> str:
        return (
            f"RecordBatch({self.topic}-{self.partition}, offsets {self.base_offset} to "
            f"{self.next_offset}, {self.record_count} records, {self.size_in_bytes} bytes)"
        )

    def __iter__(self) -> Iterator[Record[K, V]]:
        """Iterate over the records from the position on, in offset order, decoding each."""
        tp = TopicPartition(self.topic, self.partition)
        return self._deserializers.each(records_of(tp, self._columns()))

    def values(self) -> list[V]:
        """The values of the records: the cheapest way to read. Raises the errors of iteration."""
        if self._deserializers:
            return [record.value for record in self]
        values: list[Any] = []  # V is bytes | None without deserializers
        for columns in self._columns():
            values += columns.values
        return values

    def __len__(self) -> int:
        """The number of records to iterate; decodes only after a seek into a compacted batch."""
        header = self._header
        if self._start <= header.base_offset:
            return header.records_count
        if header.records_count == header.last_offset_delta + 1:
            return header.next_offset - self._start
        return sum(len(columns.offsets) for columns in self._columns())

    @property
    def start_offset(self) -> int:
        """The position at which the batch was returned: the first record to iterate, or before."""
        return max(self._start, self._header.base_offset)

    @property
    def base_offset(self) -> int:
        """The offset of the batch's first record as produced; after a seek reading starts later."""
        return self._header.base_offset

    @property
    def next_offset(self) -> int:
        """The offset after the batch, to which the position has moved."""
        return self._header.next_offset

    @property
    def record_count(self) -> int:
        """The number of records in the batch, those below the position included."""
        return self._header.records_count

    @property
    def base_timestamp_ms(self) -> int | None:
        """The first record's timestamp as produced; None if compaction replaced it (KIP-534)."""
        is_horizon = self._header.attributes & DELETE_HORIZON_FLAG
        return None if is_horizon else self._header.base_timestamp

    @property
    def max_timestamp_ms(self) -> int:
        """The largest timestamp, or the leader's append time if the topic uses LogAppendTime."""
        return self._header.max_timestamp

    @property
    def leader_epoch(self) -> int:
        """The epoch of the leader that appended the batch."""
        return self._header.partition_leader_epoch

    @property
    def size_in_bytes(self) -> int:
        """The size of the batch in the log, compressed, header included."""
        return self._header.size_in_bytes

    def _columns(self) -> Iterator[Columns]:
        try:
            yield from columns_since(self._batch, self._start)
        except CorruptMessageError as error:
            tp = TopicPartition(self.topic, self.partition)
            raise corrupt(tp, self._header, error) from error

    @property
    def codec(self) -> Codec:
        """The codec of the records. Errors: UnsupportedCompressionTypeError."""
        try:
            return Codec(self._header.codec_id)
        except ValueError as error:
            raise UnsupportedCompressionTypeError(
                f"codec {self._header.codec_id} of {self!r} is not known"
            ) from error


def iter_batch(tp: TopicPartition, batch: memoryview, *, start: int) -> Iterator[Record]:
    """The records of a whole batch from offset `start` on, with keys and values as bytes."""
    return records_of(tp, columns_since(batch, start))


def columns_since(batch: memoryview, start: int) -> Iterator[Columns]:
    """The records of a whole batch from offset `start` on; none may be in the first columns."""
    return (columns.since(start) for columns in iter_columns(batch))


def records_of(tp: TopicPartition, columns: Iterable[Columns]) -> Iterator[Record]:
    """The client's records, made in a loop of C without Python code per record."""
    topic, partition = tp
    return chain.from_iterable(
        # Bypasses the named tuple's own __new__, which costs as much as the rest of a record.
        map(tuple.__new__, repeat(Record), zip(repeat(topic), repeat(partition), *found))
        for found in columns
    )


def corrupt(
    tp: TopicPartition, header: BatchHeader, error: CorruptMessageError
) -> CorruptMessageError:
    """`error` with its place, and how a consumer gets past it."""
    found = corrupt_at(tp, header, error)
    return CorruptMessageError(
        f"{found}; seek past offset {header.last_offset} to continue without it"
    )


def corrupt_at(
    tp: TopicPartition, header: BatchHeader, error: CorruptMessageError
) -> CorruptMessageError:
    """`error` with its place; the caller adds what to do."""
    return CorruptMessageError(
        f"{tp.topic}-{tp.partition} is corrupt in the batch at offset {header.base_offset}, whose "
        f"last offset is {header.last_offset}: {error}"
    )
