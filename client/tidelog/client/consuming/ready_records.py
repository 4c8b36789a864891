"""Fetched records that are ready for the application: chunk by chunk, decoded batch by batch.

Owns the position: the next record to return to the application. Nothing here waits, so a cancelled
call has returned either all of an item or nothing of it.
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
from tidelog.client.observer import ReaderObserver, hand_out
from tidelog.client.records import K, Record, V
from tidelog.core.errors import InvariantError
from tidelog.records.batch import CONTROL_FLAG, BatchHeader, check_crc, parse_header

_UNREADABLE = (CorruptMessageError, UnsupportedCompressionTypeError, DeserializationError)


@dataclass(slots=True, eq=False)
class _Opened(Generic[K, V]):
    """A chunk in use, and the records of its last decoded batch."""

    chunk: Chunk
    next_at: int = 0
    """The byte position of the first batch that is not decoded."""
    batch_at: int = 0
    """The byte position of the decoded batch."""
    records: list[Record[K, V]] = field(default_factory=list)
    index: int = 0
    """The index of the first record that was not returned."""
    end: int = 0
    """The position once all of `records` are returned."""
    checked_at: int = -1
    """The byte position of the last batch whose CRC was checked."""

    @property
    def has_records(self) -> bool:
        """True if a decoded record is left."""
        return self.index < len(self.records)

    @property
    def is_used_up(self) -> bool:
        """True if no record of the chunk is left."""
        return not self.has_records and self.next_at >= len(self.chunk.records)

    @property
    def is_void(self) -> bool:
        """True if a seek or a truncation has invalidated the chunk."""
        return self.chunk.generation != self.chunk.position.generation

    @property
    def at(self) -> int:
        """The byte position of the next batch with records left."""
        return self.batch_at if self.has_records else self.next_at

    def batch(self) -> tuple[BatchHeader, memoryview]:
        """The header and bytes of the next batch with records left."""
        at = self.at
        header = parse_header(self.chunk.records, at)
        return header, memoryview(self.chunk.records)[at : at + header.size_in_bytes]

    def shows(self, header: BatchHeader) -> bool:
        """True unless the batch is a marker, or of an aborted transaction."""
        is_control = header.attributes & CONTROL_FLAG
        return not is_control and header.base_offset not in self.chunk.aborted

    def check(self, header: BatchHeader, batch: memoryview) -> None:
        """Check the CRC of the next batch, once per batch. Errors: CorruptMessageError."""
        if self.checked_at != self.at:
            check_crc(header, batch)
            self.checked_at = self.at

    def pass_batch(self, header: BatchHeader) -> None:
        """Move the position past the next batch."""
        self.next_at = self.at + header.size_in_bytes
        self.records = []
        self.chunk.position.position = header.next_offset


class ReadyRecords(Generic[K, V]):
    """Returns fetched records, in order within each partition.

    `is_first` in its methods: the application's present call has returned nothing yet. Only then
    may an error be raised, or the records before it would be lost; the next call raises it.
    """

    def __init__(
        self,
        *,
        fetcher: Fetcher,
        assignment: Assignment,
        check_crcs: bool,
        deserializers: Deserializers[K, V],
        observer: ReaderObserver | None = None,
    ) -> None:
        self._observer = observer
        self._fetcher = fetcher
        self._assignment = assignment
        self._check_crcs = check_crcs
        self._deserializers = deserializers
        self._current: _Opened[K, V] | None = None
        self._aside: list[_Opened[K, V]] = []
        """Chunks of paused partitions, at most one each, used before newly fetched chunks."""

    def clear(self) -> None:
        """Drop all records that were not returned."""
        self._current = None
        self._aside = []

    def positions_changed(self) -> None:
        """Drop chunks that a seek invalidated or whose partition is no longer assigned."""
        self._aside = [opened for opened in self._aside if self._is_current(opened)]
        if self._current is not None and not self._is_current(self._current):
            self._current = None

    def set_paused_aside(self) -> None:
        """Set the current chunk aside if its partition is paused."""
        current = self._current
        if current is not None and current.chunk.position.is_still:
            self._aside.append(current)
            self._current = None

    def fill(self, *, is_first: bool = True) -> bool:
        """True if a record is ready; decodes fetched batches as far as needed."""
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
        """Yield the decoded records one by one, until none is left or they are invalidated.

        Other calls may be made in between: it continues from the new position or ends. Written
        flat, since it runs once per record.
        """
        opened = self._current
        if opened is None:
            return
        records, position = opened.records, opened.chunk.position
        generation, last = opened.chunk.generation, len(records) - 1
        observer = self._observer
        while self._current is opened and opened.records is records:
            index = opened.index
            if index > last or position.generation != generation:
                return
            record = records[index]
            opened.index = index + 1
            position.position = record.offset + 1 if index < last else opened.end
            if observer is not None:
                observer.hands_out((record,))
            yield record

    def take(self, limit: int) -> list[Record[K, V]]:
        """Return up to `limit` records of the current batch."""
        opened = self._current
        if opened is None or not self._has_records():
            return []
        taken = opened.records[opened.index : opened.index + limit]
        opened.index += len(taken)
        if taken:
            is_last = not opened.has_records
            opened.chunk.position.position = opened.end if is_last else taken[-1].offset + 1
            if self._observer is not None:
                self._observer.hands_out(taken)
        return taken

    def fill_batch(self, *, is_first: bool = True) -> BatchHeader | None:
        """The header of the next batch with application records; decodes none."""
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
            if header.records_count and opened.shows(header):
                return header
            opened.pass_batch(header)
        return None

    def take_batch(self) -> RecordBatch[K, V]:
        """Return the batch that `fill_batch` has just found."""
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
        if self._observer is not None:
            hand_out(self._observer, iter_batch(position.tp, data, start=position.position or 0))
        opened.pass_batch(header)
        return batch

    def _has_records(self) -> bool:
        opened = self._current
        if opened is not None and opened.is_void:
            self._current = opened = None
        return opened is not None and opened.has_records

    def _next_opened(self, *, is_first: bool) -> _Opened[K, V] | None:
        """The chunk in use: the current one until it is used up."""
        current = self._current
        if current is None or current.is_void or current.is_used_up:
            self._current = self._resumed() or self._arrived(is_first=is_first)
        return self._current

    def _resumed(self) -> _Opened[K, V] | None:
        for index, opened in enumerate(self._aside):
            if not opened.chunk.position.is_still and not opened.is_void:
                return self._aside.pop(index)
        return None

    def _arrived(self, *, is_first: bool) -> _Opened[K, V] | None:
        item = self._fetcher.pop(with_failures=is_first)
        if isinstance(item, Failure):
            raise item.error
        return None if item is None else _Opened(item)

    def _decode(self, opened: _Opened[K, V]) -> None:
        """Decode the chunk's next batch."""
        position = opened.chunk.position
        header, batch = opened.batch()
        error: DeserializationError | None = None
        records: list[Record[K, V]] = []
        try:
            if self._check_crcs:
                opened.check(header, batch)
            if opened.shows(header):
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
            # The batch will be decoded again from the record that failed, which is then the first.
            opened.end = error.offset
        if not records:
            position.position = opened.end
            if error is not None:
                raise error

    def _give_up(self, opened: _Opened[K, V]) -> None:
        """Fetch the partition again from the application's position: damage may be transient."""
        self._current = None
        opened.chunk.position.rewind()
        self._fetcher.restart()

    def _is_current(self, opened: _Opened[K, V]) -> bool:
        return self._assignment.is_current(opened.chunk.position, opened.chunk.generation)
