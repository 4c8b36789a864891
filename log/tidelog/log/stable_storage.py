"""What of one log survives a crash: the offsets a start must know, and how far the disk has them.

Owns the recovery point and the saved checkpoint, which never claims more than is on stable storage,
and the log's first failure: what the disk refused once it is not asked for again, since a failed
fsync may have dropped the pages it was to write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tidelog.core.env import Clock
from tidelog.core.errors import DamagedLogError, StorageError
from tidelog.log.checkpoints import Checkpoint
from tidelog.log.epochs import EpochCache
from tidelog.log.log_folder import LogFolder
from tidelog.log.segment import Segment
from tidelog.log.segment_list import SegmentList
from tidelog.log.snapshot_files import SnapshotFiles


class StableStorage:
    """The offsets may be set by whoever owns the log; `save` makes them last."""

    def __init__(
        self,
        *,
        clock: Clock,
        folder: LogFolder,
        segments: SegmentList,
        snapshots: SnapshotFiles,
        epochs: EpochCache,
        checkpoint: Checkpoint | None,
        log_start_offset: int,
    ) -> None:
        known = checkpoint or Checkpoint(folder.topic_id, 0, 0, 0, 0, ())
        self._clock = clock
        self._folder = folder
        self._segments = segments
        self._snapshots = snapshots
        self._epochs = epochs
        self._saved = checkpoint
        self.is_failed = False
        self.log_start_offset = log_start_offset
        self.recovery_point = known.recovery_point
        self.high_watermark = known.high_watermark
        self.first_dirty_offset = known.first_dirty_offset
        self._unflushed_since_ms: int | None = None
        self.clamp()

    def clamp(self) -> None:
        """Hold all offsets within the log, whose ends have moved."""
        end = self._segments.active.next_offset
        self.log_start_offset = min(self.log_start_offset, end)
        start = self.log_start_offset
        self.recovery_point = max(start, min(self.recovery_point, end))
        self.high_watermark = max(start, min(self.high_watermark, end))
        self.first_dirty_offset = max(start, min(self.first_dirty_offset, end))

    def note_append(self) -> None:
        """Something is in the log that is not on stable storage."""
        if self._unflushed_since_ms is None:
            self._unflushed_since_ms = self._clock.monotonic_ms()

    def unflushed_ms(self) -> int:
        """How long, about, the oldest append has not been on stable storage; -1: all is."""
        since_ms = self._unflushed_since_ms
        return -1 if since_ms is None else self._clock.monotonic_ms() - since_ms

    async def sync(self, segments: Sequence[Segment]) -> None:
        """Bring what is unflushed of the log's first segments to stable storage."""
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
        """Or one whose end a start found: the last life may have cut off what a full disk took."""
        return segment.next_offset > self.recovery_point or segment.has_unsynced_indexes

    async def checkpoint(self, segments: Sequence[Segment]) -> None:
        """Sync the log's first segments, and let a start know it."""
        await self.sync(segments)
        await self.save()

    async def lower_recovery_point(self, offset: int) -> None:
        """Before records are lost or cut: new ones in their place would pass for flushed."""
        self.recovery_point = min(self.recovery_point, offset)
        if self._saved and self._saved.recovery_point > self.recovery_point:
            await self.save()

    async def raise_log_start(self, offset: int) -> None:
        """Serve nothing below: persisted first, since a restart must not bring it back.

        What producers did below is in snapshots alone from now on.
        """
        with self.failing():
            await self._segments.sync_names()
            await self._snapshots.sync()
        self.log_start_offset = max(self.log_start_offset, offset)
        self.clamp()
        await self.save()

    async def begin_at(self, offset: int) -> None:
        """Claim nothing but that the log begins and ends at `offset`."""
        self.log_start_offset = self.recovery_point = offset
        self.high_watermark = self.first_dirty_offset = offset
        await self.save()

    async def save(self) -> None:
        """Write the checkpoint, if anything changed.

        Its recovery point spares a start the segments below: their indexes must be synced, too.
        """
        unsynced = [one.base_offset for one in self._segments.all if one.has_unsynced_indexes]
        current = Checkpoint(
            self._folder.topic_id,
            min([self.recovery_point, *unsynced]),
            self.high_watermark,
            self.log_start_offset,
            self.first_dirty_offset,
            self._epochs.entries,
        )
        if current != self._saved:
            with self.failing():
                await self._folder.save(current)
            self._saved = current

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Work on the disk whose failure ends the log's service; damage to heal is none."""
        try:
            yield
        except DamagedLogError:
            raise
        except StorageError:
            self.is_failed = True
            raise
