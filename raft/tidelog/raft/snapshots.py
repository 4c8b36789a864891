"""Snapshots of the metadata: the newest one on disk, and one that is being received.

It owns the `<last index>-<term>.checkpoint` files; it never decides when one is made or sent. A
file is whole and on stable storage before it gets its name, and the older one goes after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog

from tidelog.core.env import Disk, File, make_directory_durably
from tidelog.core.errors import DiskFullError, StorageError, invariant
from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.snapshot_file import (
    SnapshotKind,
    SnapshotReader,
    encode_snapshot,
    file_name,
    parse_name,
    read_snapshot,
)
from tidelog.raft.wal_file import discard, publish, refusal
from tidelog.raft.wal_frames import SECTOR_BYTES, DamagedFileError, is_whole_sector

logger = structlog.get_logger(__name__)

SNAPSHOT_BYTES_MAX = 1 << 30
"""What `receive` collects at most."""
_OWN, _RECEIVED = ".tmp", ".part"


class SnapshotStore:
    """The snapshots in one folder, of which one counts: the newest."""

    def __init__(self, disk: Disk, directory: str, *, cluster_id: str = "") -> None:
        self.latest: SnapshotId | None = None
        """The newest one on stable storage."""
        self.size_bytes = 0
        """Of its file; 0 when there is none."""
        self.received = 0
        """How many of a leader's were whole."""
        self.installed = 0
        """How many of those are on stable storage, or were older than the newest."""
        self._disk = disk
        self._directory = directory
        self._cluster_id = cluster_id
        self._file: File | None = None
        self._incoming: _Incoming | None = None
        self._publishing = asyncio.Lock()

    @classmethod
    async def open(cls, *, disk: Disk, directory: str, cluster_id: str = "") -> SnapshotStore:
        """Find the newest, read all of it, and remove what is older or was never finished.

        Errors: `StorageError` when it is damaged or of another cluster; the message says what to
        do.
        """
        await make_directory_durably(disk, directory)
        await disk.sync_directory(directory)  # who renamed the newest may not have come to this
        store = cls(disk, directory, cluster_id=cluster_id)
        names = disk.list(directory)
        latest = max(filter(None, map(parse_name, names)), default=None)
        if latest is not None:
            store._use(latest)
            try:
                await store._verify()
            except BaseException:
                store.close()
                raise
        store._remove_others()
        for name in names:
            if name.endswith((_OWN, _RECEIVED)) and parse_name(name.rpartition(".")[0]):
                disk.remove(f"{directory}/{name}")
        return store

    def close(self) -> None:
        """Close the newest's file, and the one that is being received."""
        if self._file is not None:
            self._file.close()
        if self._incoming is not None:
            self._incoming.file.close()

    def records(self) -> list[bytes]:
        """The state the newest holds; none if there is none. Errors: `StorageError`, damaged."""
        if self._file is None:
            return []
        found = read_snapshot(self._file.read_at, self.size_bytes)
        try:
            return [record.body for _, record in found if record.kind == SnapshotKind.RECORD]
        except DamagedFileError as error:
            raise self._damaged(error) from error

    def read_chunk(self, offset: int, max_bytes: int) -> bytes:
        """At most so many bytes of the newest's file from `offset`, which it must have.

        Errors: `StorageError` when they are not what was written.
        """
        invariant(self._file is not None and 0 <= offset < self.size_bytes, "a snapshot", offset)
        assert self._file is not None
        end = min(self.size_bytes, offset + max_bytes)
        start = offset - offset % SECTOR_BYTES
        stored = self._file.read_at(start, end + -end % SECTOR_BYTES - start)
        for at in range(0, len(stored), SECTOR_BYTES):
            if not is_whole_sector(stored[at : at + SECTOR_BYTES]):
                raise self._damaged(DamagedFileError("it has changed", position=start + at))
        return stored[offset - start : end - start]

    async def write(self, snapshot: SnapshotId, records: Iterable[bytes]) -> None:
        """Put the state after `snapshot` on stable storage, as the newest unless one came since.

        Leaves the loop alone every `SLICE_BYTES`; one call at a time. Errors: `StorageError`, as
        for want of space: then the newest is what it was.
        """
        file = self._new_file(snapshot, _OWN)
        try:
            position = 0
            for piece in encode_snapshot(snapshot, records, cluster_id=self._cluster_id):
                file.write_at(position, piece)
                position += len(piece)
                await asyncio.sleep(0)
            await self._publish(snapshot, file)
        finally:
            # Its name is another one now, unless it is of no use.
            discard(self._disk, file)
        self._remove_others()

    def receive(self, snapshot: SnapshotId, *, total_bytes: int, offset: int, data: bytes) -> int:
        """Take a piece of a leader's snapshot; return where the next one must begin.

        `total_bytes` once it is whole and verified (`has_received`): install it. 0 when it is not
        what it should be, or not newer than the newest here: begin again. `offset` when the disk
        has no room for the piece: it may have later. Errors: any other `StorageError`.
        """
        incoming = self._incoming
        if incoming is not None and incoming.is_whole and incoming.snapshot != snapshot:
            return 0  # the one that is here counts as stored already: the log relies on it
        if incoming is None or incoming.snapshot != snapshot or incoming.size_bytes != total_bytes:
            is_newer = self.latest is None or snapshot.index > self.latest.index
            if offset != 0 or not is_newer or not 0 < total_bytes <= SNAPSHOT_BYTES_MAX:
                return 0
            self._drop_incoming()
            incoming = None
        try:
            if incoming is None:
                incoming = self._incoming = self._begin(snapshot, total_bytes)
            was_whole = incoming.is_whole
            next_offset = incoming.take(offset, data)
            self.received += incoming.is_whole and not was_whole
            return next_offset
        except DamagedFileError:
            self._drop_incoming()
            return 0
        except DiskFullError as error:
            logger.warning("no space for the leader's snapshot: free some", error=str(error))
            return offset

    @property
    def has_received(self) -> bool:
        """Whether a leader's snapshot is whole, verified, and not yet installed."""
        return self._incoming is not None and self._incoming.is_whole

    async def install(self) -> None:
        """Make the received snapshot the newest, on stable storage. Errors: `StorageError`."""
        incoming = self._incoming
        assert incoming is not None
        invariant(incoming.is_whole, "a whole snapshot", incoming.snapshot)
        try:
            await self._publish(incoming.snapshot, incoming.file)
        finally:
            self._drop_incoming()
        self.installed = self.received
        self._remove_others()

    def _begin(self, snapshot: SnapshotId, total_bytes: int) -> _Incoming:
        file = self._new_file(snapshot, _RECEIVED)
        return _Incoming(snapshot, total_bytes, file, cluster_id=self._cluster_id)

    def _drop_incoming(self) -> None:
        if self._incoming is not None:
            discard(self._disk, self._incoming.file)
            self._incoming = None

    def _new_file(self, snapshot: SnapshotId, suffix: str) -> File:
        path = self._path(snapshot) + suffix
        self._disk.remove(path)
        return self._disk.open(path, create=True)

    async def _publish(self, snapshot: SnapshotId, file: File) -> None:
        """Sync a file with all of a snapshot in it, and give it its name unless a newer came."""
        await file.sync()
        async with self._publishing:
            if self._is_newest(snapshot):
                await publish(self._disk, file.path, self._path(snapshot))
                self._use(snapshot)

    def _is_newest(self, snapshot: SnapshotId) -> bool:
        return self.latest is None or snapshot.index > self.latest.index

    def _use(self, snapshot: SnapshotId) -> None:
        file = self._disk.open(self._path(snapshot))
        if self._file is not None:
            self._file.close()
        self._file = file
        self.latest, self.size_bytes = snapshot, file.size()

    def _remove_others(self) -> None:
        for name in self._disk.list(self._directory):
            snapshot = parse_name(name)
            if snapshot is not None and snapshot != self.latest:
                self._disk.remove(self._path(snapshot))

    async def _verify(self) -> None:
        assert self._file is not None
        reader = SnapshotReader(self._file.read_at, cluster_id=self._cluster_id)
        try:
            while frame := reader.next_frame(self.size_bytes):
                reader.check(frame)
                await asyncio.sleep(0)
            reader.check_end(self.size_bytes, self.latest)
        except DamagedFileError as error:
            raise self._damaged(error) from error

    def _path(self, snapshot: SnapshotId) -> str:
        return f"{self._directory}/{file_name(snapshot)}"

    def _damaged(self, error: DamagedFileError) -> StorageError:
        return refusal(self._file.path if self._file else self._directory, error)


class _Incoming:
    """The pieces of a snapshot that is being received, checked and stored as they come."""

    def __init__(
        self, snapshot: SnapshotId, size_bytes: int, file: File, *, cluster_id: str
    ) -> None:
        self.snapshot = snapshot
        self.size_bytes = size_bytes
        self.file = file
        self._data = bytearray()
        self._reader = SnapshotReader(
            lambda at, length: bytes(self._data[at : at + length]), cluster_id=cluster_id
        )

    @property
    def is_whole(self) -> bool:
        """And verified."""
        return len(self._data) == self.size_bytes

    def take(self, offset: int, data: bytes) -> int:
        """The next offset wanted. Errors: `DamagedFileError`, also for another snapshot.

        It goes to the file at once: whether there is room must show before anybody counts on it.
        """
        if offset != len(self._data) or self.is_whole:
            return len(self._data)
        if len(data) > self.size_bytes - offset:
            raise self._reader.damaged("it is longer than announced")
        self.file.write_at(offset, data)
        self._data += data
        while frame := self._reader.next_frame(len(self._data)):
            self._reader.check(frame)
        if self.is_whole:
            self._reader.check_end(self.size_bytes, self.snapshot)
        return len(self._data)
