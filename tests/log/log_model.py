"""What a log must hold, may hold and must not hold: the plain side of `test_log_machine`.

Kept as what was acknowledged, batch by batch, never as files. A crash may take what was not flushed
from the end; compaction may take records that newer ones of their key replace; nothing else goes.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.log.index import OFFSET_ENTRY, TIME_ENTRY
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import BatchHeader, iter_batches
from tidelog.records.records import Record, iter_records

END = 1 << 60
BATCHES_KNOWN_OF_A_PRODUCER = 5


class Batch(NamedTuple):
    """A batch as a log holds it."""

    header: BatchHeader
    data: bytes
    records: tuple[Record, ...]


def batches_of(data: bytes) -> Iterator[Batch]:
    """Whole batches, their CRCs checked (I27)."""
    for header, view in iter_batches(data):
        yield Batch(header, bytes(view), tuple(iter_records(view)))


def as_leader_places(
    data: bytes, *, base_offset: int, epoch: int, append_time_ms: int | None
) -> list[Batch]:
    """What a leader makes of a producer's batches, whose `data` stays as it was sent."""
    found = []
    for header, sent, records in batches_of(data):
        placed = header._replace(base_offset=base_offset, partition_leader_epoch=epoch)
        moved = [
            record._replace(
                offset=base_offset + place,
                timestamp=record.timestamp if append_time_ms is None else append_time_ms,
            )
            for place, record in enumerate(records)
        ]
        found.append(Batch(placed, sent, tuple(moved)))
        base_offset = placed.next_offset
    return found


def scan(log: PartitionLog) -> list[Batch]:
    """All that `log` serves, read batch by batch: gapless (I8), epochs never falling (I9)."""
    found: list[Batch] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        result = log.read(offset, max_bytes=1, upper_bound=END)
        (batch,) = batches_of(result.records)
        header = batch.header
        assert header.base_offset <= offset < header.next_offset == result.next_offset
        if found:
            assert header.base_offset == offset
            assert header.partition_leader_epoch >= found[-1].header.partition_leader_epoch
        found.append(batch)
        offset = result.next_offset
    assert offset == log.log_end_offset
    return found


def check_index_entries(log: bytes, index: bytes, times: bytes, *, base_offset: int) -> None:
    """Entries grow, and name a batch; no batch before it is as new as an entry of time."""
    position, positions, firsts, newest = 0, {}, {}, -1
    for header, batch in iter_batches(log):
        relative = header.last_offset - base_offset
        positions[relative] = position
        if header.records_count and header.max_timestamp > newest:
            newest = header.max_timestamp
            firsts[newest] = relative
        position += len(batch)
    entries = list(OFFSET_ENTRY.iter_unpack(index))
    assert entries == sorted(set(entries))
    assert set(entries) <= positions.items()
    entries = list(TIME_ENTRY.iter_unpack(times))
    assert entries == sorted(set(entries))
    assert set(entries) <= firsts.items()


def records_of(batches: Sequence[Batch], *, start: int) -> list[tuple[Record, int]]:
    """Records from `start` on, each with its epoch."""
    return [
        (record, batch.header.partition_leader_epoch)
        for batch in batches
        for record in batch.records
        if record.offset >= start
    ]


class Cleaning(NamedTuple):
    """Records below `end_offset` were looked at, at that time."""

    end_offset: int
    now_ms: int


@dataclass
class LogModel:
    """Offsets are exclusive ends; `batches` reach from `base_offset` to the end."""

    delete_retention_ms: int
    base_offset: int = 0
    batches: list[Batch] = field(default_factory=list)
    start_at_least: int = 0
    """The log start offset that was persisted."""
    start_at_most: int = 0
    end_at_least: int = 0
    """Everything below was flushed."""
    anew_at: int | None = None
    """A crash came while the log was started anew at this offset."""
    refused: list[Batch] = field(default_factory=list)
    """Cut off when the disk was full, at what was the end: nothing says that the cut is stored."""
    cleanings: list[Cleaning] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.batches[-1].header.next_offset if self.batches else self.base_offset

    @property
    def cleaned_below(self) -> int:
        return max((cleaning.end_offset for cleaning in self.cleanings), default=0)

    def append(self, batches: Sequence[Batch]) -> None:
        """These lie at the end of the log now."""
        for batch in batches:
            assert batch.header.base_offset == self.end
            self.batches.append(batch)

    def end_if_cut(self, end: int) -> int:
        """Where the batch with offset `end` begins."""
        bases = (one.header.base_offset for one in self.batches if one.header.next_offset > end)
        return min(bases, default=end)

    def cut(self, end: int) -> None:
        """Drop the batches with `end` or a later offset."""
        while self.batches and self.batches[-1].header.next_offset > end:
            self.batches.pop()
        self.cleanings = [Cleaning(min(one.end_offset, end), one.now_ms) for one in self.cleanings]

    def restart_at(self, offset: int) -> None:
        """Forget everything."""
        self.batches, self.cleanings, self.anew_at, self.refused = [], [], None, []
        self.base_offset = self.end_at_least = offset
        self.start_at_least = self.start_at_most = offset

    def take_back(self, log: PartitionLog) -> None:
        """After a power cut: what was refused may be there instead of what was not flushed."""
        bases = [one.header.base_offset for one in self.refused]
        first = max(self.end_at_least, min(bases, default=0))
        possible = {_told_apart(one): one for one in self.batches + self.refused}
        there = [_told_apart(one) for one in scan(log) if one.header.base_offset >= first]
        if any(_told_apart(one) in there for one in self.refused):
            self.cut(first)
            self.batches += [possible[found] for found in there]

    def check(self, log: PartitionLog) -> list[Batch]:
        """The log is what it may be; returns what it holds."""
        found = scan(log)
        start, end = log.log_start_offset, log.log_end_offset
        if self.anew_at == start == end:
            self.restart_at(start)
            return found
        assert self.start_at_least <= start <= self.start_at_most
        assert max(self.end_at_least, start) <= end <= max(self.end, start)
        self._check_epochs(log, found)
        self._check_records(found, start=start, end=end)
        return found

    def accept(self, log: PartitionLog) -> None:
        """After a start: what is not there is gone for good."""
        self.anew_at, self.refused = None, []
        self.start_at_most = log.log_start_offset
        self.cut(log.log_end_offset)
        if self.end < log.log_end_offset:
            self.restart_at(log.log_end_offset)  # The log start lay within the first batch lost.

    def of_producer(self, producer_id: int) -> list[Batch]:
        """The last batches a log remembers of its newest epoch, oldest first."""
        own = [batch for batch in self.batches if batch.header.producer_id == producer_id]
        epoch = own[-1].header.producer_epoch if own else -1
        same = [batch for batch in own if batch.header.producer_epoch == epoch]
        return same[-BATCHES_KNOWN_OF_A_PRODUCER:]

    def _check_epochs(self, log: PartitionLog, found: Sequence[Batch]) -> None:
        """The cache says what the batches say (I9)."""
        ends = {one.header.partition_leader_epoch: one.header.next_offset for one in found}
        for epoch, end in ends.items():
            assert log.epoch_end_offset(epoch) == (epoch, end)

    def _check_records(self, found: Sequence[Batch], *, start: int, end: int) -> None:
        written = {
            record.offset: (record, epoch)
            for record, epoch in records_of(self.batches, start=start)
            if record.offset < end
        }
        there = {record.offset: (record, epoch) for record, epoch in records_of(found, start=start)}
        assert there.items() <= written.items()
        missing = written.keys() - there.keys()
        assert not missing or max(missing) < self.cleaned_below
        for offset in missing:
            self._check_replaced(written[offset][0], written, there)

    def _check_replaced(
        self, record: Record, written: dict[int, tuple[Record, int]], there: Container[int]
    ) -> None:
        """A newer record of the key is there, or was a tombstone that had its time."""
        newer = [
            other
            for offset, (other, _) in written.items()
            if offset >= record.offset and other.key == record.key
        ]
        if any(other.offset in there for other in newer):
            return
        newest = max(newer)
        assert newest.value is None
        assert any(
            later.now_ms - first.now_ms >= self.delete_retention_ms
            for first in self.cleanings
            for later in self.cleanings
            if min(first.end_offset, later.end_offset) > newest.offset
        )


def _told_apart(batch: Batch) -> tuple[int, tuple[Record, ...]]:
    """Epoch and records: the same records may come again in a newer epoch."""
    return batch.header.partition_leader_epoch, batch.records
