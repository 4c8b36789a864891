"""Opening of a log: check the folder's owner, recover its files, assemble the log's parts.

Decides nothing itself: `log_folder` knows the owner, `recovery` judges the files.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.env import Clock, Disk
from tidelog.core.logs import get_logger
from tidelog.log.config import LogConfig
from tidelog.log.epochs import EpochCache
from tidelog.log.log_ends import LogEnds
from tidelog.log.log_folder import Life, LogFolder
from tidelog.log.log_writer import LogWriter
from tidelog.log.recovery import Damage, Recovered, recover
from tidelog.log.segment_list import SegmentList
from tidelog.log.snapshot_files import SnapshotFiles
from tidelog.log.stable_storage import StableStorage

_log = get_logger(__name__)


@dataclass(slots=True)
class LogParts:
    """Parts of a `PartitionLog` after recovery."""

    folder: LogFolder
    segments: SegmentList
    epochs: EpochCache
    snapshots: SnapshotFiles
    stable: StableStorage
    writer: LogWriter
    ends: LogEnds
    damage: Damage | None
    was_clean: bool


async def open_parts(
    directory: str,
    disk: Disk,
    clock: Clock,
    config: LogConfig,
    *,
    topic_id: bytes,
    life: Life,
) -> LogParts:
    """See `PartitionLog.open`."""
    started_ms = clock.monotonic_ms()
    folder = LogFolder(disk, directory, topic_id, life)
    left = await folder.enter()
    found = await recover(
        disk=disk,
        directory=directory,
        config=config,
        checkpoint=left.checkpoint,
        clean_marker=left.clean_marker,
        page_cache_survived=life.page_cache_survived,
        now_ms=clock.wall_ms(),
    )
    folder.may_have_lost = found.may_have_lost
    if left.is_foreign:
        found.log_start_offset = 0
    if left.trouble is not None:
        found.damage = Damage(found.log_start_offset, left.trouble)
    if found.segments:
        # A kill between the removal of segments and the next checkpoint leaves their epochs in it.
        found.epochs.truncate_from_start(found.segments[0].base_offset)
    segments = SegmentList(disk, directory, segments=found.segments, run_at=found.epochs.run_at)
    stable = StableStorage(
        clock=clock,
        folder=folder,
        segments=segments,
        snapshots=found.snapshots,
        epochs=found.epochs,
        producers=found.producers,
        checkpoint=left.checkpoint,
        log_start_offset=found.log_start_offset,
    )
    _report(
        found,
        directory=directory,
        recovery_point=left.checkpoint.recovery_point if left.checkpoint else 0,
        took_ms=clock.monotonic_ms() - started_ms,
    )
    if found.damage is None:
        await stable.lower_to(found.log_end_offset)
    return _assemble(found, folder, segments, stable, disk=disk, clock=clock)


def _assemble(
    found: Recovered,
    folder: LogFolder,
    segments: SegmentList,
    stable: StableStorage,
    *,
    disk: Disk,
    clock: Clock,
) -> LogParts:
    epochs, snapshots = found.epochs, found.snapshots
    writer = LogWriter(segments=segments, epochs=epochs, snapshots=snapshots, stable=stable)
    ends = LogEnds(
        disk=disk,
        clock=clock,
        folder=folder,
        segments=segments,
        epochs=epochs,
        snapshots=snapshots,
        stable=stable,
        writer=writer,
    )
    return LogParts(
        folder=folder,
        segments=segments,
        epochs=epochs,
        snapshots=snapshots,
        stable=stable,
        writer=writer,
        ends=ends,
        damage=found.damage,
        was_clean=found.is_clean,
    )


def _report(found: Recovered, *, directory: str, recovery_point: int, took_ms: int) -> None:
    """Log one line per start: an error with damage, at info level when a scan or cut was needed."""
    is_usual = not found.scanned_bytes and not found.truncated_bytes
    say = _log.error if found.damage else _log.debug if is_usual else _log.info
    say(
        "log opened",
        directory=directory,
        log_start_offset=found.log_start_offset,
        log_end_offset=found.log_end_offset,
        recovery_point=recovery_point,
        is_clean=found.is_clean,
        segments=len(found.segments),
        scanned_bytes=found.scanned_bytes,
        truncated_bytes=found.truncated_bytes,
        may_have_lost=found.may_have_lost,
        removed_segments=found.removed_segments,
        first_bad_offset=found.damage.first_bad_offset if found.damage else None,
        reason=found.damage.reason if found.damage else None,
        took_ms=took_ms,
    )
