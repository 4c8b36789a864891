"""A batch as the consumer hands it out: what its header says at once, its records when asked for.

Owns how a batch's bytes become records of the client; where reading stands is `handout.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from tidelog.client.deserializers import Deserializers
from tidelog.client.records import K, Record, TopicPartition, V
from tidelog.log.batch import DELETE_HORIZON_FLAG, BatchHeader
from tidelog.log.compression import Codec
from tidelog.log.errors import CorruptMessageError, UnsupportedCompressionTypeError
from tidelog.log.records import iter_records


class RecordBatch(Generic[K, V]):
    """One batch of a partition; iterating decodes it, each time anew.

    Records below the position at which it was handed out are not among those iterated, nor counted
    by `len`. It keeps the bytes of the fetch alive that brought it (`max_partition_fetch_bytes`):
    do not hoard batches. Iterating raises CorruptMessageError where records are not what the header
    says, UnsupportedCompressionTypeError, and DeserializationError; the position is past the batch
    all the same, so seek to read any of it again.
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
        """The records from the position on, in offset order, decoded one after the other."""
        tp = TopicPartition(self.topic, self.partition)
        try:
            yield from self._deserializers.each(iter_batch(tp, self._batch, start=self._start))
        except CorruptMessageError as error:
            raise corrupt(tp, self._header, error) from error

    def __len__(self) -> int:
        """How many records iterating yields; decodes only after a seek into a compacted batch."""
        header = self._header
        if self._start <= header.base_offset:
            return header.records_count
        if header.records_count == header.last_offset_delta + 1:
            return header.next_offset - self._start
        return sum(fields[0] >= self._start for fields in iter_records(self._batch))

    @property
    def base_offset(self) -> int:
        """Of the batch's first record as it was produced; a seek into the batch starts later."""
        return self._header.base_offset

    @property
    def next_offset(self) -> int:
        """The offset after the batch, where the position is now."""
        return self._header.next_offset

    @property
    def record_count(self) -> int:
        """The records in the batch, those below the position too."""
        return self._header.records_count

    @property
    def base_timestamp_ms(self) -> int | None:
        """Of the first record as it was produced; None where compaction overwrote it (KIP-534)."""
        is_horizon = self._header.attributes & DELETE_HORIZON_FLAG
        return None if is_horizon else self._header.base_timestamp

    @property
    def max_timestamp_ms(self) -> int:
        """The largest of all records, or the leader's append time where that is every record's."""
        return self._header.max_timestamp

    @property
    def leader_epoch(self) -> int:
        """Of the leader that appended the batch."""
        return self._header.partition_leader_epoch

    @property
    def size_in_bytes(self) -> int:
        """Of the batch as it is in the log, header included and compressed."""
        return self._header.size_in_bytes

    @property
    def codec(self) -> Codec:
        """How the records are compressed; UnsupportedCompressionTypeError for an unknown number."""
        try:
            return Codec(self._header.codec_id)
        except ValueError as error:
            raise UnsupportedCompressionTypeError(
                f"codec {self._header.codec_id} of {self!r} is not known"
            ) from error


def iter_batch(tp: TopicPartition, batch: memoryview, *, start: int) -> Iterator[Record]:
    """The records of a whole batch from offset `start` on, keys and values as they are."""
    topic, partition = tp
    new = tuple.__new__  # past the named tuple's own __new__: this runs once per record
    for fields in iter_records(batch):
        if fields[0] >= start:
            yield new(Record, (topic, partition, *fields))


def corrupt(
    tp: TopicPartition, header: BatchHeader, error: CorruptMessageError
) -> CorruptMessageError:
    """`error` with where it is and how to get past it."""
    return CorruptMessageError(
        f"{tp.topic}-{tp.partition} is corrupt in the batch at offset {header.base_offset}: "
        f"{error}; seek past offset {header.last_offset} to read on without it"
    )
