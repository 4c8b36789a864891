"""Durability of one log: the offsets saved for the next start, and the recovery point.

Owns the recovery point and the saved checkpoint, which never claims more than is on stable storage,
and the log's first failure: a refused write or sync is never retried, since a failed fsync may have
dropped the dirty pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tidelog.core.env import Clock
from tidelog.core.errors import DamagedLogError, StorageError
from tidelog.log.checkpoints import Checkpoint, IndexSeal
from tidelog.log.epochs import EpochCache
from tidelog.log.log_folder import LogFolder
from tidelog.log.producers import ProducerStates
from tidelog.log.segment import Segment
from tidelog.log.segment_list import SegmentList
from tidelog.log.snapshot_files import SnapshotFiles


class StableStorage:
    """Offsets of one log, set by its owner; `save` makes them durable."""

    def __init__(
        self,
        *,
        clock: Clock,
        folder: LogFolder,
        segments: SegmentList,
        snapshots: SnapshotFiles,
        epochs: EpochCache,
        producers: ProducerStates,
        checkpoint: Checkpoint | None,
        log_start_offset: int,
    ) -> None:
        known = checkpoint or Checkpoint(folder.topic_id, 0, 0, 0, 0, ())
        self._clock = clock
        self._folder = folder
        self._segments = segments
        self._snapshots = snapshots
        self._epochs = epochs
        self.producers = producers
        """Producers of the log's records; a checkpoint names transactions that are not decided."""
        self._saved = checkpoint
        self.is_failed = False
        self.log_start_offset = log_start_offset
        self.recovery_point = known.recovery_point
        self.high_watermark = known.high_watermark
        self.first_dirty_offset = known.first_dirty_offset
        self._unflushed_since_ms: int | None = None
        self.clamp()

    @property
    def last_stable_offset(self) -> int:
        """See `PartitionLog`. The log start bounds it: a transaction may have begun below that."""
        first = self.producers.transactions.first_undecided_offset
        if first is None:
            return self.high_watermark
        return min(self.high_watermark, max(first, self.log_start_offset))

    def clamp(self) -> None:
        """Clamp all offsets to the log's ends after these moved."""
        end = self._segments.active.next_offset
        self.log_start_offset = min(self.log_start_offset, end)
        start = self.log_start_offset
        self.recovery_point = max(start, min(self.recovery_point, end))
        self.high_watermark = max(start, min(self.high_watermark, end))
        self.first_dirty_offset = max(start, min(self.first_dirty_offset, end))

    def note_append(self) -> None:
        """Note that the log contains records that are not on stable storage."""
        if self._unflushed_since_ms is None:
            self._unflushed_since_ms = self._clock.monotonic_ms()

    def unflushed_ms(self) -> int:
        """Approximate age of the oldest unflushed append in ms; -1: all are flushed."""
        since_ms = self._unflushed_since_ms
        return -1 if since_ms is None else self._clock.monotonic_ms() - since_ms

    async def sync(self, segments: Sequence[Segment]) -> None:
        """Flush the unflushed segments among the log's first `segments` to stable storage."""
        unflushed = [one for one in segments if self._is_unflushed(one)]
        flushed = max([self.recovery_point, *(one.next_offset for one in unflushed)])
        began_ms = self._clock.monotonic_ms()
        with self.failing():
            await self._segments.sync_names()
            await self._snapshots.sync()
            for segment in segments:
                await segment.sync_indexes()
            for segment in unflushed:
                await segment.file.sync()
        self.recovery_point = flushed
        is_all = flushed == self._segments.active.next_offset
        self._unflushed_since_ms = None if is_all else began_ms

    def _is_unflushed(self, segment: Segment) -> bool:
        """True with unflushed records, or after a scan: an earlier truncation may be unsynced."""
        return segment.next_offset > self.recovery_point or segment.has_unsynced_indexes

    async def checkpoint(self, segments: Sequence[Segment]) -> None:
        """Flush the log's first segments and save the checkpoint."""
        await self.sync(segments)
        await self.save()

    async def lower_to(self, offset: int) -> None:
        """Lower recovery point and high watermark before records are cut.

        Later ones would pass for flushed after a start, or for committed.
        """
        self.recovery_point = min(self.recovery_point, offset)
        self.high_watermark = min(self.high_watermark, offset)
        saved = self._saved
        if saved and (saved.recovery_point > self.recovery_point or saved.high_watermark > offset):
            await self.save()

    async def raise_log_start(self, offset: int) -> None:
        """Raise the log start offset, durably first: a restart must not lower it.

        Producer state from below is only in snapshots from now on.
        """
        with self.failing():
            await self._segments.sync_names()
            await self._snapshots.sync()
        self.log_start_offset = max(self.log_start_offset, offset)
        self.clamp()
        await self.save()

    async def begin_at(self, offset: int) -> None:
        """Reset all offsets: the log begins and ends at `offset`."""
        self.log_start_offset = self.recovery_point = offset
        self.high_watermark = self.first_dirty_offset = offset
        await self.save()

    async def save(self) -> None:
        """Save the checkpoint, if anything changed.

        A start does not scan segments below its recovery point: their indexes must be synced, too.
        """
        unsynced = [one.base_offset for one in self._segments.all if one.has_unsynced_indexes]
        current = Checkpoint(
            self._folder.topic_id,
            min([self.recovery_point, *unsynced]),
            self.high_watermark,
            self.log_start_offset,
            self.first_dirty_offset,
            self._epochs.entries,
            self.producers.transactions.ended,
            self._aborted_seals(),
        )
        if current != self._saved:
            with self.failing():
                await self._folder.save(current)
            self._saved = current

    def _aborted_seals(self) -> tuple[IndexSeal, ...]:
        """Seals of what is in memory, synced or not.

        The active segment's index is not synced with its records. Without a seal a start would take
        an index that a power cut emptied for that of a segment without aborted transactions.
        """
        indexes = [(one.base_offset, one.aborted) for one in self._segments.all]
        return tuple(
            IndexSeal(base_offset, *index.seal)
            for base_offset, index in indexes
            if not index.is_empty
        )

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Run disk work whose failure ends the log's service; damage can be healed and does not."""
        try:
            yield
        except DamagedLogError:
            raise
        except StorageError:
            self.is_failed = True
            raise
