"""Metadata snapshots: the newest one on disk, and the one being received.

Owns the `<last index>-<term>.checkpoint` files; never decides when to take or send a snapshot. A
file is complete and on stable storage before it gets its name; the older one is removed after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from tidelog.core.env import Disk, File, make_directory_durably
from tidelog.core.errors import DiskFullError, StorageError, invariant
from tidelog.core.logs import get_logger
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

logger = get_logger(__name__)

SNAPSHOT_BYTES_MAX = 1 << 30
"""Maximum size of a snapshot: none larger is written, since `receive` accepts no larger one."""
_OWN, _RECEIVED = ".tmp", ".part"


class SnapshotTooLargeError(StorageError):
    """A snapshot would be larger than a follower accepts: the log keeps what it would replace."""


class SnapshotStore:
    """Snapshots in one folder, of which only the newest is kept."""

    def __init__(self, disk: Disk, directory: str, *, cluster_id: str = "") -> None:
        self.latest: SnapshotId | None = None
        """Newest snapshot on stable storage."""
        self.size_bytes = 0
        """Size of its file; 0 when there is none."""
        self.received = 0
        """Number of complete snapshots received from a leader."""
        self.installed = 0
        """Number of those that are on stable storage, or were older than the newest."""
        self._disk = disk
        self._directory = directory
        self._cluster_id = cluster_id
        self._file: File | None = None
        self._incoming: _Incoming | None = None
        self._publishing = asyncio.Lock()

    @classmethod
    async def open(cls, *, disk: Disk, directory: str, cluster_id: str = "") -> SnapshotStore:
        """Find and verify the newest snapshot, and remove older and unfinished ones.

        Errors: `StorageError` when it is damaged or of another cluster; the message says what to
        do.
        """
        await make_directory_durably(disk, directory)
        await disk.sync_directory(
            directory
        )  # the process that renamed the newest may have crashed before this
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
        """Close the newest snapshot's file, and the one being received."""
        if self._file is not None:
            self._file.close()
        if self._incoming is not None:
            self._incoming.file.close()

    def records(self) -> list[bytes]:
        """Read the state in the newest snapshot; empty if there is none. Raises `StorageError`."""
        if self._file is None:
            return []
        found = read_snapshot(self._file.read_at, self.size_bytes)
        try:
            return [record.body for _, record in found if record.kind == SnapshotKind.RECORD]
        except DamagedFileError as error:
            raise self._damage_error(error) from error

    def read_chunk(self, offset: int, max_bytes: int) -> bytes:
        """Read at most `max_bytes` of the newest file from `offset`, which must be inside it.

        Raises `StorageError` when they have changed.
        """
        invariant(self._file is not None and 0 <= offset < self.size_bytes, "a snapshot", offset)
        assert self._file is not None
        end = min(self.size_bytes, offset + max_bytes)
        start = offset - offset % SECTOR_BYTES
        stored = self._file.read_at(start, end + -end % SECTOR_BYTES - start)
        for at in range(0, len(stored), SECTOR_BYTES):
            if not is_whole_sector(stored[at : at + SECTOR_BYTES]):
                raise self._damage_error(DamagedFileError("it has changed", position=start + at))
        return stored[offset - start : end - start]

    async def write(self, snapshot: SnapshotId, records: Iterable[bytes]) -> None:
        """Write a snapshot to stable storage, as the newest unless a newer one was received.

        Yields to other tasks every `SLICE_BYTES`; one call at a time. Raises `StorageError`, for
        example without disk space, and `SnapshotTooLargeError` above `SNAPSHOT_BYTES_MAX`; the
        newest is unchanged then.
        """
        file = self._new_file(snapshot, _OWN)
        try:
            position = 0
            for piece in encode_snapshot(snapshot, records, cluster_id=self._cluster_id):
                if position + len(piece) > SNAPSHOT_BYTES_MAX:
                    raise SnapshotTooLargeError(
                        f"the metadata takes more than {SNAPSHOT_BYTES_MAX} bytes, the maximum of "
                        "a snapshot: delete topics, or configs that are set on them"
                    )
                file.write_at(position, piece)
                position += len(piece)
                await asyncio.sleep(0)
            await self._publish(snapshot, file)
        finally:
            # It was renamed by now, unless it failed or is outdated.
            discard(self._disk, file)
        self._remove_others()

    def receive(self, snapshot: SnapshotId, *, total_bytes: int, offset: int, data: bytes) -> int:
        """Store a piece of a leader's snapshot; return the offset where the next one must begin.

        Returns `total_bytes` once the snapshot is complete and verified (`has_received`): install
        it. Returns 0 when it is invalid, or not newer than the newest here: start over. Returns
        `offset` when the disk has no space for the piece: retry later. Raises any other
        `StorageError`.
        """
        incoming = self._incoming
        if incoming is not None and incoming.is_whole and incoming.snapshot != snapshot:
            return 0  # the log already relies on the received one
        if incoming is None or incoming.snapshot != snapshot or incoming.size_bytes != total_bytes:
            is_newer = self.latest is None or snapshot.index > self.latest.index
            if offset != 0 or not is_newer or not _is_acceptable(total_bytes):
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
            logger.warning("no disk space for the leader's snapshot: free some", error=str(error))
            return offset

    @property
    def has_received(self) -> bool:
        """True when a leader's snapshot is complete, verified, and not yet installed."""
        return self._incoming is not None and self._incoming.is_whole

    async def install(self) -> None:
        """Make the received snapshot the newest, on stable storage. Raises `StorageError`."""
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
        """Sync a file with a complete snapshot, and rename it unless a newer one exists."""
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
            raise self._damage_error(error) from error

    def _path(self, snapshot: SnapshotId) -> str:
        return f"{self._directory}/{file_name(snapshot)}"

    def _damage_error(self, error: DamagedFileError) -> StorageError:
        return refusal(self._file.path if self._file else self._directory, error)


def _is_acceptable(total_bytes: int) -> bool:
    if total_bytes > SNAPSHOT_BYTES_MAX:
        logger.error(
            "the leader's snapshot is larger than a voter accepts, this one stays behind",
            size_bytes=total_bytes,
            bytes_max=SNAPSHOT_BYTES_MAX,
        )
    return 0 < total_bytes <= SNAPSHOT_BYTES_MAX


class _Incoming:
    """Pieces of a snapshot being received: checked as they arrive, and held by the file alone."""

    def __init__(
        self, snapshot: SnapshotId, size_bytes: int, file: File, *, cluster_id: str
    ) -> None:
        self.snapshot = snapshot
        self.size_bytes = size_bytes
        self.file = file
        self._received_bytes = 0
        """Invariant: the file's first bytes, of which `_reader` has checked all whole frames."""
        self._reader = SnapshotReader(file.read_at, cluster_id=cluster_id)

    @property
    def is_whole(self) -> bool:
        """True when the snapshot is complete and verified."""
        return self._received_bytes == self.size_bytes

    def take(self, offset: int, data: bytes) -> int:
        """Store a piece; return the next offset. Raises `DamagedFileError`, also for a wrong id.

        It is written to the file at once, so that missing disk space shows before anything relies
        on it.
        """
        if offset != self._received_bytes or self.is_whole:
            return self._received_bytes
        if len(data) > self.size_bytes - offset:
            raise self._reader.damage_error("it is longer than announced")
        self.file.write_at(offset, data)
        self._received_bytes += len(data)
        while frame := self._reader.next_frame(self._received_bytes):
            self._reader.check(frame)
        if self.is_whole:
            self._reader.check_end(self.size_bytes, self.snapshot)
        return self._received_bytes
