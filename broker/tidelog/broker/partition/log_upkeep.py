"""Periodic upkeep of logs: one loop for each kind of work, one log after another.

Flushes and checkpoints visit only logs touched since the last round, so that silent ones cost
nothing; a slow round over all covers any omission. Decides when; the log decides the rest, and a
failing log affects only its partition. Every loop runs as long as the broker, works on one log at a
time, and yields to other tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator

from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.background import Background
from tidelog.core.config_types import MAX_I64
from tidelog.core.env import Clock
from tidelog.core.logs import get_logger
from tidelog.core.workers import Workers
from tidelog.log.cleaner import LogCleaner
from tidelog.log.partition_log import PartitionLog

LOGS_PER_STEP_MAX = 20
"""Logs that a loop visits before yielding to other tasks."""
ALL_TOUCHED_MS = 60_000
"""Period in which every log counts as touched once."""
SCRUB_CHUNK_BYTES = 256 << 10
SCRUB_PAUSE_MS_MIN = 1_000

log = get_logger(__name__)


class LogUpkeep:
    """Upkeep loops of one broker."""

    def __init__(
        self,
        *,
        partitions: PartitionMap,
        config: ReplicaConfig,
        clock: Clock,
        workers: Workers | None = None,
    ) -> None:
        self._partitions = partitions
        self._config = config
        self._clock = clock
        self._cleaner = LogCleaner(clock, config.cleaner, workers)
        self._to_flush: dict[Partition, None] = {}
        self._to_checkpoint: dict[Partition, None] = {}

    def start(self, background: Background) -> None:
        """Start every loop."""
        config = self._config
        for name, interval_ms, logs, work in (
            (
                "checkpoint",
                config.high_watermark_checkpoint_interval_ms,
                lambda: _take(self._to_checkpoint),
                PartitionLog.checkpoint,
            ),
            (
                "flush",
                config.log_flush_scheduler_interval_ms,
                self._take_to_flush,
                _flush_overdue,
            ),
            (
                "retention",
                config.log_retention_check_interval_ms,
                self._snapshot_held,
                self._apply_retention,
            ),
            (
                "remove-deleted",
                config.log_deleted_check_interval_ms,
                self._with_deleted_files,
                PartitionLog.remove_deleted,
            ),
        ):
            background.spawn(name, self._every(interval_ms, logs, work))
        background.spawn("touch-all", self._touch_all())
        background.spawn("clean", self._clean())
        if config.log_scrub_bytes_per_second:
            background.spawn("scrub", self._scrub())

    def touch(self, partition: Partition) -> None:
        """Note that the partition's log may have changed."""
        self._to_flush[partition] = None
        self._to_checkpoint[partition] = None

    async def _every(
        self,
        interval_ms: int,
        logs: Callable[[], Iterable[Partition]],
        work: Callable[[PartitionLog], Awaitable[object]],
    ) -> None:
        while True:
            await asyncio.sleep(interval_ms / 1000)
            for number, partition in enumerate(logs(), start=1):
                await partition.tend(work)
                if number % LOGS_PER_STEP_MAX == 0:
                    await asyncio.sleep(0)

    async def _touch_all(self) -> None:
        while True:
            held = list(self._snapshot_held())
            steps = -(-len(held) // LOGS_PER_STEP_MAX)
            for step in range(steps):
                first = step * LOGS_PER_STEP_MAX
                for partition in held[first : first + LOGS_PER_STEP_MAX]:
                    self.touch(partition)
                await asyncio.sleep(ALL_TOUCHED_MS / steps / 1000)
            if not steps:
                await asyncio.sleep(ALL_TOUCHED_MS / 1000)

    async def _clean(self) -> None:
        while True:
            logs = (partition.log for partition in self._snapshot_held() if partition.is_sound)
            if await self._cleaner.run_once(logs) is None:
                await asyncio.sleep(self._config.cleaner.backoff_ms / 1000)

    async def _scrub(self) -> None:
        """Scrub all logs in rounds, whose starts are at least the interval apart."""
        while True:
            began_ms = self._clock.monotonic_ms()
            for partition in self._snapshot_held():
                await self._scrub_one(partition)
            left_ms = began_ms + self._config.log_scrub_interval_ms - self._clock.monotonic_ms()
            await asyncio.sleep(max(left_ms, SCRUB_PAUSE_MS_MIN) / 1000)

    async def _scrub_one(self, partition: Partition) -> None:
        """Scrub the whole log once, approximately, at the configured rate."""
        left_bytes = partition.log.size_in_bytes if partition.is_sound else 0
        while left_bytes > 0:
            checked = await partition.tend(_scrub_chunk)
            if not checked:
                return
            left_bytes -= checked
            await asyncio.sleep(checked / self._config.log_scrub_bytes_per_second)

    async def _apply_retention(self, partition_log: PartitionLog) -> None:
        done = await partition_log.apply_retention(
            expiration_ms=self._config.producer_id_expiration_ms
        )
        if done.segments:
            log.info(
                "segments expired",
                directory=partition_log.directory,
                segments=done.segments,
                bytes=done.bytes,
                log_start_offset=partition_log.log_start_offset,
            )

    def _take_to_flush(self) -> Iterator[Partition]:
        for partition in _take(self._to_flush):
            yield partition
            if partition.is_sound and _awaits_flush(partition.log):
                self._to_flush[partition] = None

    def _with_deleted_files(self) -> list[Partition]:
        return [
            one for one in self._snapshot_held() if one.is_sound and one.log.has_deleted_files()
        ]

    def _snapshot_held(self) -> Iterator[Partition]:
        """Partitions held now; later additions and removals do not matter."""
        return iter(list(self._partitions.held.values()))


def _take(touched: dict[Partition, None]) -> list[Partition]:
    taken = list(touched)
    touched.clear()
    return taken


def _awaits_flush(partition_log: PartitionLog) -> bool:
    is_asked_for = partition_log.config.flush_ms < MAX_I64
    return is_asked_for and partition_log.recovery_point < partition_log.log_end_offset


async def _flush_overdue(partition_log: PartitionLog) -> None:
    if partition_log.is_flush_overdue:
        await partition_log.flush()


def _scrub_chunk(partition_log: PartitionLog) -> Awaitable[int]:
    return partition_log.scrub(max_bytes=SCRUB_CHUNK_BYTES)
