"""Snapshots of this voter's own state: when to take one, concurrently with the quorum's work.

Owns the task that writes it. The state is frozen at the start and written in slices, between which
the node keeps running; the write-ahead log is compacted only when the snapshot is on stable
storage. A full disk only delays it: the log continues in its preallocated space, and the next
attempt comes later. So does a state that is too large for a snapshot: the log keeps all of it, and
the next attempt comes when it has grown by another interval. Any other storage error is final.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from tidelog.core.errors import DiskFullError
from tidelog.core.logs import get_logger
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.replicated_log import StateMachine
from tidelog.raft.snapshots import SnapshotTooLargeError
from tidelog.raft.storage import Storage

logger = get_logger(__name__)

RETRY_S = 30.0


class Snapshotting:
    """Writer of one snapshot at a time; the sync's task calls `finish_if_written` and `wait`."""

    def __init__(self, storage: Storage, config: RaftConfig) -> None:
        self._storage = storage
        self._config = config
        self._task: asyncio.Task[None] | None = None
        self._begun_bytes = 0
        self._not_before_s = float("-inf")

    def begin_if_due(
        self,
        machine: StateMachine,
        *,
        applied_index: int,
        now_s: float,
        may_replace: bool,
        on_done: Callable[[], None],
    ) -> None:
        """Start when the log has grown enough; `may_replace`: no follower receives the last one."""
        wal, latest = self._storage.wal, self._storage.snapshots.latest
        grown_bytes = wal.size_bytes - self._begun_bytes
        if (
            self._task is not None
            or grown_bytes < self._config.snapshot_interval_bytes
            or applied_index <= (latest.index if latest else 0)
            or not (may_replace or wal.size_bytes > self._config.wal_reserve_bytes // 2)
            or now_s < self._not_before_s
        ):
            return
        term = wal.term_at(applied_index)
        if term is None:  # a snapshot was just installed, and is not applied yet
            return
        self._not_before_s = now_s + RETRY_S
        self._task = asyncio.create_task(
            self._write(SnapshotId(applied_index, term), machine.records()), name="raft-snapshot"
        )
        self._task.add_done_callback(lambda _: on_done())

    @property
    def is_written(self) -> bool:
        """True when a snapshot was written, or failed, and the log is not compacted yet."""
        return self._task is not None and self._task.done()

    async def finish_if_written(self) -> None:
        """Compact the log once the snapshot is on stable storage.

        Do not call it during a sync. Raises `StorageError`, except for a lack of disk space, and
        for a state that is too large.
        """
        if self._task is None or not self._task.done():
            return
        try:
            self._task.result()
            if not await self._cut_head():
                return
        except DiskFullError as error:
            logger.warning("no disk space for a metadata snapshot: free some", error=str(error))
        except SnapshotTooLargeError as error:
            logger.warning("no metadata snapshot, the log keeps growing", error=str(error))
            self._begun_bytes = self._storage.wal.size_bytes
        else:
            self._begun_bytes = self._storage.wal.size_bytes
            self._not_before_s = float("-inf")
        self._task = None

    async def _cut_head(self) -> bool:
        """Compact the log; False: a leader's snapshot must be installed before."""
        wal, latest = self._storage.wal, self._storage.snapshots.latest
        base_index = self._base_index(latest.index if latest else 0)
        return base_index <= wal.base_index or await self._storage.compact(base_index=base_index)

    def _base_index(self, snapshot_index: int) -> int:
        """New base index: some entries below the snapshot are kept, limited in number and size."""
        wal, left_bytes = self._storage.wal, self._config.snapshot_interval_bytes // 4
        index = snapshot_index
        oldest = max(wal.base_index, snapshot_index - self._config.retained_entries)
        while index > oldest:
            (entry,) = wal.entries_from(index, max_entries=1, max_bytes=0)
            left_bytes -= len(entry.command)
            if left_bytes < 0:
                break
            index -= 1
        return index

    async def wait(self) -> None:
        """Wait for a snapshot being written."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def abandon(self) -> None:
        """Wait for the snapshot when the node stops, ignoring its outcome."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _write(self, snapshot: SnapshotId, records: Iterator[bytes]) -> None:
        await self._storage.snapshots.write(snapshot, records)
        await self._storage.wal.prepare_compaction()
