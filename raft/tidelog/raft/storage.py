"""A voter's durable state: write-ahead log and snapshots, opened, checked and synced together.

Owns the order in which the two reach the disk. Decides nothing about Raft.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tidelog.core.env import Disk
from tidelog.core.errors import StorageError
from tidelog.raft import rules
from tidelog.raft.log_origin import are_own
from tidelog.raft.snapshots import SnapshotStore
from tidelog.raft.wal import Wal


class Written(NamedTuple):
    """Counts of a process's writes: log records, and received snapshots."""

    records: int
    snapshots: int


@dataclass(slots=True)
class Storage:
    """A voter's open storage. After a `sync` error the node must stop: its state is unknown.

    Writes may continue while `sync` or `compact` runs, but only one of these runs at a time.
    """

    wal: Wal
    snapshots: SnapshotStore

    @classmethod
    async def open(
        cls,
        *,
        disk: Disk,
        directory: str,
        node_id: int,
        wall_ms: int,
        reserve_bytes: int,
        cluster_id: str = "",
    ) -> Storage:
        """Open and read both.

        Errors: `StorageError` when either is damaged or of another cluster, or they do not fit
        together.
        """
        wal = await Wal.open(
            disk=disk,
            directory=directory,
            node_id=node_id,
            wall_ms=wall_ms,
            reserve_bytes=reserve_bytes,
        )
        try:
            snapshots = await SnapshotStore.open(
                disk=disk, directory=directory, cluster_id=cluster_id
            )
            storage = cls(wal, snapshots)
            storage._check_cluster(directory, cluster_id)
            storage._fit_together(directory)
        except BaseException:
            wal.close()
            raise
        return storage

    def _check_cluster(self, directory: str, cluster_id: str) -> None:
        if not are_own(self.wal.entries, cluster_id):
            raise StorageError(
                f"{directory}: the write-ahead log is not of cluster {cluster_id!r}: the folder is "
                "another cluster's, or its entries were mixed with this one's. Check log.dirs; or "
                "restore the folder from a copy; or, if a majority of the other controllers is "
                "healthy, remove it once, and this node learns everything from them"
            )

    def _fit_together(self, directory: str) -> None:
        """Check that no entries are missing after the snapshot; finish an interrupted install."""
        snapshot = self.snapshots.latest
        if self.wal.base_index > (snapshot.index if snapshot else 0):
            found = f"the newest ends at {snapshot.index}" if snapshot else "there is none"
            raise StorageError(
                f"{directory}: the write-ahead log begins after entry {self.wal.base_index}, so a "
                f"snapshot of it was here, but {found}. Restore it from a copy made while this "
                "node was down; or remove the whole folder once, and this node copies everything "
                "from the other controllers as soon as all of them answer"
            )
        if snapshot is None:
            return
        if not rules.keeps_log(snapshot.term, self.wal.term_at(snapshot.index)):
            # The process crashed after it stored a leader's snapshot and before it reset the log.
            self.wal.write_base(index=snapshot.index, term=snapshot.term)

    @property
    def is_dirty(self) -> bool:
        """True while some writes are not on stable storage yet."""
        return self.wal.is_dirty or self.snapshots.has_received

    @property
    def written(self) -> Written:
        """Writes up to now; `is_stored` tells if they are on stable storage."""
        return Written(self.wal.written, self.snapshots.received)

    def is_stored(self, written: Written) -> bool:
        """True when all of these writes are on stable storage."""
        return self.wal.stored >= written.records and self.snapshots.installed >= written.snapshots

    async def sync(self) -> None:
        """Sync all writes: a received snapshot before the log that depends on it."""
        if self.snapshots.has_received:
            await self.snapshots.install()
        if self.wal.is_dirty:
            await self.wal.sync()

    async def compact(self, *, base_index: int) -> bool:
        """Run `Wal.compact`, unless the log depends on a received snapshot not installed yet."""
        await self.wal.prepare_compaction()
        if self.snapshots.has_received:
            return False
        await self.wal.compact(base_index=base_index)
        return True

    def close(self) -> None:
        """Close the files; unsynced writes are lost, but no other node knows of them."""
        self.wal.close()
        self.snapshots.close()
