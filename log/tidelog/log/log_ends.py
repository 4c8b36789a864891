"""The ends of one log: cutting off its last batches, dropping its first segments, starting over.

Owns the order of the changes on the disk, so that no crash brings back what was dropped. Never
decides where an end is: `partition_log` does, which alone calls this, one call at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tidelog.core.env import Clock, Disk
from tidelog.core.memory_reads import reading
from tidelog.log.config import LogConfig
from tidelog.log.epochs import EpochCache
from tidelog.log.log_folder import LogFolder
from tidelog.log.log_writer import LogWriter
from tidelog.log.producer_replay import rebuild_producers
from tidelog.log.retention import RetentionResult, SegmentFacts, expired_segments
from tidelog.log.segment_list import SegmentList
from tidelog.log.snapshot_files import SnapshotFiles
from tidelog.log.stable_storage import StableStorage


class LogEnds:
    """Both ends of one log. After a `StorageError` the log is failed."""

    def __init__(
        self,
        *,
        disk: Disk,
        clock: Clock,
        folder: LogFolder,
        segments: SegmentList,
        epochs: EpochCache,
        snapshots: SnapshotFiles,
        stable: StableStorage,
        writer: LogWriter,
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._folder = folder
        self._segments = segments
        self._epochs = epochs
        self._snapshots = snapshots
        self._stable = stable
        self._writer = writer

    async def cut(self, end: int) -> None:
        """Truncate the files, so that no power loss brings back the removed batches."""
        segments = self._segments
        self._epochs.truncate_from_end(end)
        await self._stable.lower_to(end)
        with self._stable.failing():
            place = await reading(self._disk, partial(segments.end_place, end))
            segments.cut(end, place)
            self._stable.clamp()
            await segments.active.file.sync()
            segments.has_new_names = True  # Files of later segments are gone.
            await segments.sync_names()
            self._snapshots.drop_above(segments.active.next_offset)
            self._stable.producers = await rebuild_producers(
                self._disk,
                segments.all,
                self._snapshots,
                self._stable.producers.transactions,
                self._clock.wall_ms(),
            )

    async def restart_at(self, offset: int, config: LogConfig) -> None:
        """Drop everything and begin an empty log at `offset`."""
        # Below the log's end at each moment: the new start may be below the old one.
        self._stable.high_watermark = min(self._stable.high_watermark, offset)
        with self._stable.failing():
            # All must be removed before the checkpoint says so: a start in between finds damage.
            self._segments.restart_at(offset, config)
            self._snapshots.drop_above(-1)
            await self._segments.sync_names()
            self._stable.producers.clear()
            self._epochs.truncate_from_end(0)
            await self._stable.begin_at(offset)
            await self._folder.claim()

    async def retire_expired(
        self, facts: Sequence[SegmentFacts], *, config: LogConfig, now_ms: int
    ) -> RetentionResult:
        """Remove the expired ones of the log's segments, whose `facts` these are."""
        count = expired_segments(
            facts,
            config=config,
            log_start_offset=self._stable.log_start_offset,
            last_stable_offset=self._stable.last_stable_offset,
            now_ms=now_ms,
        )
        if not count:
            return RetentionResult(0, 0)
        if count == len(self._segments.all):
            with self._stable.failing():
                self._writer.roll(config)
        await self._stable.raise_log_start(self._segments.all[count].base_offset)
        return self.retire_below_start()

    def retire_below_start(self) -> RetentionResult:
        """Remove the segments wholly below the log start offset from the log."""
        start = self._stable.log_start_offset
        gone = [one for one in self._segments.all[:-1] if one.next_offset <= start]
        if not gone:
            return RetentionResult(0, 0)
        with self._stable.failing():
            now_ms = self._clock.monotonic_ms()
            size_bytes = self._segments.retire_first(len(gone), now_ms=now_ms)
            self._snapshots.drop_below(self._segments.all[0].base_offset)
        self._epochs.truncate_from_start(self._segments.all[0].base_offset)
        return RetentionResult(len(gone), size_bytes)
