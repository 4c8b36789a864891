"""Mutants of a replica's log: its epochs, its producers, what a start and a cut make of it."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from collections.abc import Sequence

from tidelog.core.env import Disk
from tidelog.core.errors import CorruptMessageError, OutOfOrderSequenceError
from tidelog.log import log_ends, producer_replay, producers, recovery, validation
from tidelog.log.epochs import EpochCache, EpochEntry
from tidelog.log.log_ends import LogEnds
from tidelog.log.partition_log import AppendResult, PartitionLog
from tidelog.log.producers import BatchMetadata, ProducerStates
from tidelog.log.record_check import RecordRules
from tidelog.log.segment import Segment
from tidelog.log.snapshot_files import SnapshotFiles
from tidelog.log.stable_storage import StableStorage
from tidelog.log.transactions import Transactions
from tidelog.records import batch
from tidelog.records.batch import BatchHeader, Buffer
from tidelog.simulation.mutants.mutant import replaces

_append_as_follower = PartitionLog.append_as_follower
_check = ProducerStates.check
_check_sequence = producers._check_sequence
_cut = LogEnds.cut

# Log starts


@replaces(StableStorage, "raise_log_start")
async def log_start_not_saved(self: StableStorage, offset: int) -> None:
    """A log start is told before it is on stable storage: a start lowers it again."""
    self.log_start_offset = max(self.log_start_offset, offset)
    self.clamp()


# Epochs


@replaces(EpochCache, "truncate_from_end")
def epochs_outlive_a_cut(_self: EpochCache, _end_offset: int) -> None:
    """Epochs of records that were cut stay in the cache (KAFKA-10706)."""


@replaces(EpochCache, "assign")
def epochs_without_records_kept(self: EpochCache, epoch: int, start_offset: int) -> None:
    """An epoch that begins where a later one does makes no way for it (KAFKA-10706)."""
    if epoch == self.latest_epoch:
        return
    if epoch < self.latest_epoch:
        raise CorruptMessageError(f"epoch {epoch} comes after {self.latest_epoch}")
    self._entries.append(EpochEntry(epoch, start_offset))


@replaces(EpochCache, "end_offset_for")
def unknown_epoch_ends_at_log_end(
    self: EpochCache, epoch: int, *, log_end_offset: int
) -> tuple[int, int]:
    """A leader asked for an epoch it does not have answers with its log's end (KIP-279)."""
    known = {entry.epoch for entry in self.entries}
    if epoch not in known:
        return epoch, log_end_offset
    return _end_offset_for(self, epoch, log_end_offset=log_end_offset)


_end_offset_for = EpochCache.end_offset_for


@replaces(PartitionLog, "assign_epoch")
def epoch_not_assigned(_self: PartitionLog, *, epoch: int, start_offset: int) -> None:
    """A new leader does not mark where its epoch begins."""


# Producers


@replaces(producers, "_check_sequence")
def duplicates_appended(producer: producers._Producer, header: BatchHeader) -> BatchMetadata | None:
    """A batch that comes again is stored again (before KIP-98)."""
    try:
        _check_sequence(producer, header)
    except OutOfOrderSequenceError:
        if header.base_sequence > producer.next_sequence:
            raise
    return None


@replaces(producers, "_check_sequence")
def sequence_gaps_accepted(
    producer: producers._Producer, header: BatchHeader
) -> BatchMetadata | None:
    """A batch is taken though one before it is missing (KIP-98)."""
    try:
        return _check_sequence(producer, header)
    except OutOfOrderSequenceError:
        return None


@replaces(ProducerStates, "check")
def older_producer_epochs_accepted(
    self: ProducerStates, header: BatchHeader, *, numbered: bool = True
) -> BatchMetadata | None:
    """A batch of an epoch that its producer has ended is stored yet (KIP-360)."""
    known = self._producers.get(header.producer_id)
    if known is not None and 0 <= header.producer_epoch < known.epoch:
        return None
    return _check(self, header, numbered=numbered)


@replaces(PartitionLog, "append_as_follower")
def followers_note_no_producers(self: PartitionLog, records: bytes) -> AppendResult:
    """A follower does not learn of producers: they are unknown once it leads."""
    known, self.producers = self.producers, ProducerStates()
    try:
        return _append_as_follower(self, records)
    finally:
        self.producers = known


@replaces(LogEnds, "cut")
async def producers_outlive_a_cut(self: LogEnds, end: int) -> None:
    """Records that were truncated still count as written: sent again they are duplicates."""
    known = self._stable.producers
    await _cut(self, end)
    self._stable.producers = known


@replaces(log_ends, "rebuild_producers")
async def producers_forgotten_at_a_cut(
    _disk: Disk,
    _segments: Sequence[Segment],
    _snapshots: SnapshotFiles,
    _before: Transactions,
    _now_ms: int,
) -> ProducerStates:
    """A replica that truncated its log forgets every producer."""
    return ProducerStates()


@replaces(SnapshotFiles, "drop_above")
def snapshots_outlive_a_cut(_self: SnapshotFiles, _offset: int) -> None:
    """Snapshots of producers whose records were cut are read at the next start."""


@replaces(producer_replay, "update_producers")
def producers_forgotten_at_a_start(
    _producers: ProducerStates, _header: BatchHeader, _batch: memoryview, _now_ms: int
) -> None:
    """A start takes the producers from snapshots alone."""


# What is stored


@replaces(batch, "check_crc")
def reads_not_checked(_header: BatchHeader, _batch: Buffer) -> None:
    """Records are served without a check of their bytes."""


@replaces(recovery, "check_crc")
def torn_batches_kept(_header: BatchHeader, _batch: Buffer) -> None:
    """A start takes what a power cut left of a batch for the batch."""


@replaces(validation, "check_records")
def records_not_walked(header: BatchHeader, _batch: memoryview, _rules: RecordRules) -> int:
    """A leader takes a batch for what its header says, whatever lies in it."""
    return header.max_timestamp


@replaces(StableStorage, "sync")
async def records_never_synced(self: StableStorage, _segments: Sequence[Segment]) -> None:
    """Records count as stored that are not."""
    self.recovery_point = max(self.recovery_point, self._segments.active.next_offset)
    self._unflushed_since_ms = None


@replaces(StableStorage, "lower_to")
async def recovery_point_not_lowered(_self: StableStorage, _offset: int) -> None:
    """New records in the place of those that were cut pass for flushed."""
