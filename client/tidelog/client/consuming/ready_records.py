"""What has arrived, on its way to the application: chunk by chunk, decoded a batch at a time.

Owns what the application has been handed, and with it the position. Nothing here waits, so that a
cancelled call has handed out all of something or nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic

from tidelog.client.consuming.assignment import Assignment
from tidelog.client.consuming.deserializers import Deserializers
from tidelog.client.consuming.fetcher import Chunk, Failure, Fetcher
from tidelog.client.consuming.record_batch import RecordBatch, corrupt, iter_batch
from tidelog.client.errors import (
    CorruptMessageError,
    DeserializationError,
    UnsupportedCompressionTypeError,
)
from tidelog.client.records import K, Record, V
from tidelog.core.errors import InvariantError
from tidelog.records.batch import CONTROL_FLAG, BatchHeader, check_crc, parse_header

_UNREADABLE = (CorruptMessageError, UnsupportedCompressionTypeError, DeserializationError)


@dataclass(slots=True, eq=False)
class _Opened(Generic[K, V]):
    """A chunk that is being handed out, and the records of its batch that was decoded last."""

    chunk: Chunk
    next_at: int = 0
    """The byte where the first batch starts that was not decoded."""
    batch_at: int = 0
    """The byte where the decoded batch starts."""
    records: list[Record[K, V]] = field(default_factory=list)
    index: int = 0
    """Of the first record that was not handed out."""
    end: int = 0
    """Where the position is once all of `records` are handed out."""
    checked_at: int = -1
    """The byte where the batch starts whose CRC was found right last."""

    @property
    def has_records(self) -> bool:
        """Whether a decoded record is left."""
        return self.index < len(self.records)

    @property
    def is_used_up(self) -> bool:
        """Whether nothing of the chunk is left."""
        return not self.has_records and self.next_at >= len(self.chunk.records)

    @property
    def is_void(self) -> bool:
        """Whether a seek or a truncation made what was fetched worthless."""
        return self.chunk.generation != self.chunk.position.generation

    @property
    def at(self) -> int:
        """The byte where the next batch starts that something is left of."""
        return self.batch_at if self.has_records else self.next_at

    def batch(self) -> tuple[BatchHeader, memoryview]:
        """The next batch to hand something out of."""
        at = self.at
        header = parse_header(self.chunk.records, at)
        return header, memoryview(self.chunk.records)[at : at + header.size_in_bytes]

    def check(self, header: BatchHeader, batch: memoryview) -> None:
        """Raise CorruptMessageError unless the next batch is what its CRC says; once a batch."""
        if self.checked_at != self.at:
            check_crc(header, batch)
            self.checked_at = self.at

    def pass_batch(self, header: BatchHeader) -> None:
        """Nothing of the next batch is left to hand out."""
        self.next_at = self.at + header.size_in_bytes
        self.records = []
        self.chunk.position.position = header.next_offset


class ReadyRecords(Generic[K, V]):
    """Hands out what a fetcher brings, in order within each partition.

    `is_first` of its methods: nothing was handed out yet by this call of the application. Only then
    may trouble be raised, or what came before it would be lost; the next call meets it again.
    """

    def __init__(
        self,
        *,
        fetcher: Fetcher,
        assignment: Assignment,
        check_crcs: bool,
        deserializers: Deserializers[K, V],
    ) -> None:
        self._fetcher = fetcher
        self._assignment = assignment
        self._check_crcs = check_crcs
        self._deserializers = deserializers
        self._current: _Opened[K, V] | None = None
        self._aside: list[_Opened[K, V]] = []
        """Of paused partitions, one each at most: a partition's own comes before what arrives."""

    def clear(self) -> None:
        """Forget everything not handed out."""
        self._current = None
        self._aside = []

    def positions_changed(self) -> None:
        """Forget what a seek voided and what is of partitions that are not assigned any more."""
        self._aside = [opened for opened in self._aside if self._is_current(opened)]
        if self._current is not None and not self._is_current(self._current):
            self._current = None

    def set_paused_aside(self) -> None:
        """Hand out nothing of a partition that is paused until it is not."""
        current = self._current
        if current is not None and current.chunk.position.is_paused:
            self._aside.append(current)
            self._current = None

    def fill(self, *, is_first: bool = True) -> bool:
        """Whether there is a record to hand out; decodes what has arrived as far as needed."""
        while not self._has_records():
            opened = self._next_opened(is_first=is_first)
            if opened is None:
                return False
            if opened.has_records:
                return True
            try:
                self._decode(opened)
            except _UNREADABLE:
                if not is_first:
                    return False
                self._give_up(opened)
                raise
        return True

    def each(self) -> Iterator[Record[K, V]]:
        """Hand out the decoded records one by one, until there is none or they are void.

        Whatever else is called in between, it goes on from there or ends. Flat: it runs once per
        record.
        """
        opened = self._current
        if opened is None:
            return
        records, position = opened.records, opened.chunk.position
        generation, last = opened.chunk.generation, len(records) - 1
        while self._current is opened and opened.records is records:
            index = opened.index
            if index > last or position.generation != generation:
                return
            record = records[index]
            opened.index = index + 1
            position.position = record.offset + 1 if index < last else opened.end
            yield record

    def take(self, limit: int) -> list[Record[K, V]]:
        """Hand out up to `limit` records of the current batch."""
        opened = self._current
        if opened is None or not self._has_records():
            return []
        taken = opened.records[opened.index : opened.index + limit]
        opened.index += len(taken)
        if taken:
            is_last = not opened.has_records
            opened.chunk.position.position = opened.end if is_last else taken[-1].offset + 1
        return taken

    def fill_batch(self, *, is_first: bool = True) -> BatchHeader | None:
        """The header of the next batch with records of the application's; decodes nothing."""
        while (opened := self._next_opened(is_first=is_first)) is not None:
            header, batch = opened.batch()
            try:
                if self._check_crcs:
                    opened.check(header, batch)
            except CorruptMessageError as error:
                if not is_first:
                    return None
                self._give_up(opened)
                raise corrupt(opened.chunk.position.tp, header, error) from error
            if header.records_count and not header.attributes & CONTROL_FLAG:
                return header
            opened.pass_batch(header)
        return None

    def take_batch(self) -> RecordBatch[K, V]:
        """Hand out the batch that `fill_batch` has just found."""
        opened = self._current
        if opened is None:
            raise InvariantError("take_batch without a batch that fill_batch found")
        position = opened.chunk.position
        header, data = opened.batch()
        batch = RecordBatch(
            position.tp,
            data,
            header=header,
            start=position.position or 0,
            deserializers=self._deserializers,
        )
        opened.pass_batch(header)
        return batch

    def _has_records(self) -> bool:
        opened = self._current
        if opened is not None and opened.is_void:
            self._current = opened = None
        return opened is not None and opened.has_records

    def _next_opened(self, *, is_first: bool) -> _Opened[K, V] | None:
        """The chunk to hand out of: the current one until it is used up."""
        current = self._current
        if current is None or current.is_void or current.is_used_up:
            self._current = self._resumed() or self._arrived(is_first=is_first)
        return self._current

    def _resumed(self) -> _Opened[K, V] | None:
        for index, opened in enumerate(self._aside):
            if not opened.chunk.position.is_paused and not opened.is_void:
                return self._aside.pop(index)
        return None

    def _arrived(self, *, is_first: bool) -> _Opened[K, V] | None:
        item = self._fetcher.pop(with_failures=is_first)
        if isinstance(item, Failure):
            raise item.error
        return None if item is None else _Opened(item)

    def _decode(self, opened: _Opened[K, V]) -> None:
        """Make the records of the chunk's next batch the next ones to hand out."""
        position = opened.chunk.position
        header, batch = opened.batch()
        error: DeserializationError | None = None
        records: list[Record[K, V]] = []
        try:
            if self._check_crcs:
                opened.check(header, batch)
            if not header.attributes & CONTROL_FLAG:
                raw = iter_batch(position.tp, batch, start=position.position or 0)
                records, error = self._deserializers.all(raw)
        except CorruptMessageError as damage:
            raise corrupt(position.tp, header, damage) from damage
        opened.batch_at = opened.next_at
        opened.records = records
        opened.index = 0
        if error is None:
            opened.end = header.next_offset
            opened.next_at += header.size_in_bytes
        else:
            # The batch is decoded again from the record that failed, which is then the first.
            opened.end = error.offset
        if not records:
            position.position = opened.end
            if error is not None:
                raise error

    def _give_up(self, opened: _Opened[K, V]) -> None:
        """Fetch the partition again from where the application stands: damage may have passed."""
        self._current = None
        opened.chunk.position.rewind()
        self._fetcher.restart()

    def _is_current(self, opened: _Opened[K, V]) -> bool:
        return self._assignment.is_current(opened.chunk.position, opened.chunk.generation)
