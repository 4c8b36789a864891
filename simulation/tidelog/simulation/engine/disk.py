"""A disk in memory that forgets at a crash what was not synced, and some of it only in part.

Names and contents are as `medium` has them: what a system may count on that syncs what POSIX asks
it to sync, and no more. Folders right below "/" are mounted: they are there for good. What goes
wrong without a crash is up to `faults`. Nothing here waits for real time.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field
from functools import partial

from tidelog.core.env import DiskSpace, Random
from tidelog.core.errors import DiskFullError, StorageError
from tidelog.core.memory_reads import (
    READ_AHEAD_BYTES,
    Changes,
    Loaded,
    MemoryMode,
    NotInMemoryError,
    Readable,
    ReadByPath,
)
from tidelog.simulation.engine.disk_faults import DiskFaults
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.medium import Content, Folder

_ENDLESS = 1 << 40
"""Size of a disk without a capacity, in bytes, as its file system tells."""
SYNC_THREADS, METADATA_SYNC_THREADS, READ_THREADS, REMOVAL_THREADS = 4, 2, 4, 1


@dataclass(slots=True)
class _State:
    """State that every view of one disk shares, beside faults and files."""

    sync_latency_s: float
    flush_delay_s: float = 0.0
    removal_latency_s: float = 0.0
    life: int = 0
    capacity_bytes: int | None = None
    syncs: int = 0
    flipped: set[str] = field(default_factory=set)


class _Threads:
    """So many at once do what takes long; what comes later waits in line."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free_s: list[float] = []
        """When each has done all that was given to it."""

    def __deepcopy__(self, _memo: object) -> _Threads:
        """Idle ones, for a copy of the disk."""
        return _Threads(self._count)

    async def work(self, seconds: float) -> None:
        """Wait for a thread, then so long."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        if loop is not self._loop:  # a new process
            self._loop, self._free_s = loop, [now_s] * self._count
        end_s = max(now_s, heapq.heappop(self._free_s)) + seconds
        heapq.heappush(self._free_s, end_s)
        await asyncio.sleep(end_s - now_s)


class SimDisk:
    """Implements `Disk`. Every sync takes `sync_latency_s` of the running loop's time."""

    def __init__(self, random: Random, sync_latency_s: float) -> None:
        self.faults = DiskFaults()
        self.mode = MemoryMode()
        self.syncing = _Threads(SYNC_THREADS)
        self.reading = _Threads(READ_THREADS)
        self.removing = _Threads(REMOVAL_THREADS)
        self.is_for_metadata = False
        self._random = random
        self._state = _State(sync_latency_s)
        self._root = Folder()

    def with_own_threads(self) -> SimDisk:
        """See `Disk`; the same disk for all that faults do."""
        other = copy(self)
        other.syncing, other.reading = _Threads(METADATA_SYNC_THREADS), _Threads(READ_THREADS)
        other.removing, other.is_for_metadata = _Threads(REMOVAL_THREADS), True
        return other

    def from_memory(self, loaded: Loaded | None) -> AbstractContextManager[None]:
        """See `Disk`."""
        return self.mode.using(loaded)

    @property
    def life(self) -> int:
        """Grows with each crash; a handle of an earlier life raises `StorageError`."""
        return self._state.life

    @property
    def capacity_bytes(self) -> int | None:
        """Capacity of the disk; below the size of its files the disk is full."""
        return self._state.capacity_bytes

    @capacity_bytes.setter
    def capacity_bytes(self, size_bytes: int | None) -> None:
        self._state.capacity_bytes = size_bytes

    @property
    def sync_latency_s(self) -> float:
        """Duration of a sync that begins now."""
        return self._state.sync_latency_s

    @property
    def syncs(self) -> int:
        """Begun since the start."""
        return self._state.syncs

    @property
    def flipped(self) -> set[str]:
        """Files of which `flip` changed a bit, ever."""
        return self._state.flipped

    @property
    def operations(self) -> int:
        """Changes and syncs begun since the start."""
        return self.faults.operations

    def crash_at(self, number: int) -> None:
        """See `DiskFaults`."""
        self.faults.crash_at(number)

    def slow_down(self, sync_latency_s: float) -> None:
        """Let every sync from now on take this long."""
        self._state.sync_latency_s = sync_latency_s

    def slow_down_records(self, *, flush_delay_s: float, removal_latency_s: float) -> None:
        """Let syncs take so much longer, but for the metadata log's, and removals this long."""
        self._state.flush_delay_s = flush_delay_s
        self._state.removal_latency_s = removal_latency_s

    def crash(self) -> None:
        """Lose what is not stored, every open handle and all faults."""
        self._state.life += 1
        self.faults.heal()
        self._root.crash(self._random)

    def flip(self, path: str, byte: int, bit: int) -> None:
        """Change one bit on the medium, behind everyone's back."""
        self.flipped.add(path)
        content = self._content(path)
        for image in (content.written, content.stored):
            if byte < len(image):
                image[byte] ^= 1 << bit

    def vanish(self, path: str) -> None:
        """Lose a file for good, behind everyone's back."""
        folder = self._folder(_parent(path))
        folder.entries.pop(_name(path), None)
        folder.stored.pop(_name(path), None)

    def names(self, path: str) -> list[str]:
        """`list`, for faults: it always works."""
        folder = self._find(path)
        return sorted(folder.entries) if isinstance(folder, Folder) else []

    def length(self, path: str) -> int:
        """`size`, for faults: it always works."""
        content = self._find(path)
        return len(content.written) if isinstance(content, Content) else 0

    def look(self, path: str, offset: int, length: int) -> bytes:
        """Bytes the running system would read there; not an operation, so it cannot fail."""
        content = self._find(path)
        return (
            bytes(content.written[offset : offset + length])
            if isinstance(content, Content)
            else b""
        )

    def open(self, path: str, *, create: bool = False) -> SimFile:
        """See `Disk`."""
        self.faults.check("open", path)
        if create and not self.exists(path):
            self._create(path)
        return SimFile(self, path, self._content(path))

    def open_index(self, path: str, *, capacity_bytes: int) -> SimIndexBuffer:
        """See `Disk`."""
        self.faults.check("map", path)
        if not self.exists(path):
            self._create(path)
        content = self._content(path)
        self._read_before_mapping(path, len(content.written))
        missing_bytes = max(0, capacity_bytes - len(content.written))
        if self.room_for(missing_bytes) < missing_bytes:
            raise _no_space("map", path)
        content.map(capacity_bytes)
        if missing_bytes:
            self.faults.count()
        return SimIndexBuffer(self, path, content)

    def exists(self, path: str) -> bool:
        """See `Disk`."""
        return self._find(path) is not None

    def size(self, path: str) -> int:
        """See `Disk`."""
        self.faults.check("look at", path)
        content = self._find(path)
        return len(content.written) if isinstance(content, Content) else 0

    async def space(self, path: str) -> DiskSpace:
        """See `Disk`; without a capacity it has a tebibyte."""
        self.faults.check("look at the file system of", path)
        total_bytes = _ENDLESS if self.capacity_bytes is None else self.capacity_bytes
        return DiskSpace(total_bytes, max(0, total_bytes - self.used_bytes()))

    def list(self, path: str) -> list[str]:
        """See `Disk`."""
        self.faults.check("list", path)
        folder = self._find(path)
        return sorted(folder.entries) if isinstance(folder, Folder) else []

    def make_directory(self, path: str) -> None:
        """See `Disk`."""
        if self.exists(path):
            return
        parent = _parent(path)
        self.make_directory(parent)
        self.faults.check("make", path)
        self._folder(parent).change({_name(path): Folder()})
        if parent == "/":
            self._root.store(self._root.mark())
        self.faults.count()

    def rename(self, source: str, target: str) -> None:
        """See `Disk`; within one folder."""
        self.faults.check(f"rename {source} to", target)
        node, replaced = self._find(source), self._find(target)
        if node is None or _parent(source) != _parent(target):
            raise StorageError(f"cannot rename {source} to {target}: No such file or directory")
        if isinstance(replaced, Folder) and replaced.entries:
            raise StorageError(f"cannot rename {source} to {target}: Directory not empty")
        self._folder(_parent(source)).change({_name(source): None, _name(target): node})
        self.faults.count()

    def remove(self, path: str) -> None:
        """See `Disk`."""
        self.faults.check("remove", path)
        if self.exists(path):
            self._folder(_parent(path)).change({_name(path): None})
            self.faults.count()

    async def discard(self, path: str) -> None:
        """See `Disk`."""
        await self.removing.work(self._state.removal_latency_s)
        self.remove(path)

    def remove_tree(self, path: str) -> None:
        """See `Disk`."""
        node = self._find(path)
        if isinstance(node, Folder):
            for name in sorted(node.entries):
                self.remove_tree(f"{path}/{name}")
        self.remove(path)

    async def sync_directory(self, path: str) -> None:
        """See `Disk`."""
        await self.sync(path, self._folder(path))

    async def sync(self, path: str, node: Content | Folder) -> None:
        """Store every change made up to now.

        After an error nobody knows which were, and a later sync says nothing about these.
        """
        self.require(self.life)
        self._state.syncs += 1
        self.faults.count()
        life, mark = self.life, node.mark()
        state = self._state
        delay_s = 0.0 if self.is_for_metadata else state.flush_delay_s
        await self.syncing.work(state.sync_latency_s + delay_s)
        self.require(life)
        try:
            self.faults.check("sync", path)
        except StorageError as error:
            error.is_sync_failure = True
            node.lose(mark, self._random)
            raise
        node.store(mark)

    def require(self, life: int) -> None:
        """Raise for a handle of an earlier life, and where there is no power."""
        if life != self.life:
            raise StorageError("the disk has crashed since this was opened")
        self.faults.check("use", "/")

    def used_bytes(self) -> int:
        """The length of all files together."""
        return sum(len(content.written) for content in _contents(self._root))

    def room_for(self, size_bytes: int) -> int:
        """The part of so many more bytes that there is room for."""
        if self.capacity_bytes is None:
            return size_bytes
        return max(0, min(size_bytes, self.capacity_bytes - self.used_bytes()))

    def begin_read(self, file: Readable, path: str, offset: int, length: int) -> bytes | None:
        """Bytes loaded for the read that begins now; None: the caller takes what it finds.

        Raises `NotInMemoryError` where it may not wait; else it waits on the loop, and all with it.
        """
        loaded = self.mode.loaded
        key = path if isinstance(file, ReadByPath) else file
        found = None if loaded is None else loaded.find(key, offset, length)
        if found is None and (latency_s := self.faults.read_latency_s(path)):
            if loaded is not None:
                raise NotInMemoryError(file, offset, length)
            loop = asyncio.get_running_loop()
            if isinstance(loop, NodeLoop):
                loop.stall(latency_s)
        return found

    def _read_before_mapping(self, path: str, size_bytes: int) -> None:
        if size_bytes:
            self.begin_read(ReadByPath(path, partial(self._read, path)), path, 0, size_bytes)

    async def _read(self, path: str, _offset: int, _length: int) -> bytes:
        """Nothing: what counts is that it took its time."""
        await self.reading.work(self.faults.read_latency_s(path))
        return b""

    def _create(self, path: str) -> None:
        self._folder(_parent(path)).change({_name(path): Content()})
        self.faults.count()

    def _find(self, path: str) -> Content | Folder | None:
        node: Content | Folder | None = self._root
        for name in path.split("/"):
            if name:
                node = node.entries.get(name) if isinstance(node, Folder) else None
        return node

    def _content(self, path: str) -> Content:
        content = self._find(path)
        if not isinstance(content, Content):
            raise StorageError(f"cannot open {path}: No such file or directory")
        return content

    def _folder(self, path: str) -> Folder:
        folder = self._find(path)
        if not isinstance(folder, Folder):
            raise StorageError(f"cannot open {path}: No such file or directory")
        return folder


class SimFile:
    """Implements `File`."""

    def __init__(self, disk: SimDisk, path: str, content: Content) -> None:
        self.path = path
        self._disk = disk
        self._content = content
        self._life = disk.life
        self._changes = Changes()

    def size(self) -> int:
        """See `File`."""
        self._disk.require(self._life)
        return len(self._content.written)

    def read_at(self, offset: int, length: int) -> bytes:
        """See `File`."""
        self._disk.require(self._life)
        found = self._disk.begin_read(self, self.path, offset, length)
        if found is not None:
            return found
        self._disk.faults.check("read", self.path)
        return bytes(self._content.written[offset : offset + length])

    async def load(self, loaded: Loaded, offset: int, length: int) -> None:
        """See `File`; takes the bytes at once, and gives them when the time is over."""
        piece = self._changes.begin(self, offset, max(length, READ_AHEAD_BYTES))
        data = bytes(self._content.written[offset : piece.end])
        await self._disk.reading.work(self._disk.faults.read_latency_s(self.path))
        try:
            self._disk.require(self._life)
            self._disk.faults.check("read", self.path)
            piece.data = data
        except StorageError as error:
            piece.error = error
        loaded.add(piece)

    def write_at(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """See `File`; a full disk takes what fits."""
        self._disk.require(self._life)
        self._disk.faults.check("write", self.path)
        self._changes.note(offset, offset + len(data))
        end = max(len(self._content.written), offset)
        added_bytes = max(0, offset + len(data) - end)
        missing_bytes = added_bytes - self._disk.room_for(added_bytes)
        self._content.change(offset, bytes(data[: len(data) - missing_bytes]))
        self._disk.faults.count()
        if missing_bytes:
            raise _no_space("write", self.path)

    def write_pieces_at(
        self, offset: int, pieces: Sequence[bytes | bytearray | memoryview]
    ) -> None:
        """See `File`."""
        self.write_at(offset, b"".join(pieces))

    def truncate(self, size: int) -> None:
        """See `File`."""
        self._disk.require(self._life)
        self._disk.faults.check("truncate", self.path)
        self._changes.note(size)
        self._content.change(size, None)
        self._disk.faults.count()

    async def sync(self) -> None:
        """See `File`."""
        self._disk.require(self._life)
        await self._disk.sync(self.path, self._content)

    def close(self) -> None:
        """See `File`."""
        self._changes.note(0)
        self._life = -1


class SimIndexBuffer:
    """Implements `IndexBuffer`."""

    def __init__(self, disk: SimDisk, path: str, content: Content) -> None:
        self.path = path
        self.view = memoryview(content.written)
        self._disk = disk
        self._content = content
        self._life = disk.life

    async def sync(self) -> None:
        """See `IndexBuffer`."""
        self._disk.require(self._life)
        await self._disk.sync(self.path, self._content)

    def close(self, *, trim_to: int | None = None) -> None:
        """See `IndexBuffer`."""
        is_open = self._life == self._disk.life
        self._life = -1
        self.view.release()
        if is_open:
            self._content.unmap()
            if trim_to is not None:
                self._disk.faults.check("trim", self.path)
                self._content.change(trim_to, None)
                self._disk.faults.count()


def _contents(folder: Folder) -> Iterator[Content]:
    for node in folder.entries.values():
        if isinstance(node, Folder):
            yield from _contents(node)
        else:
            yield node


def _no_space(action: str, path: str) -> StorageError:
    return DiskFullError(f"cannot {action} {path}: No space left on device")


def _parent(path: str) -> str:
    return path.rsplit("/", 1)[0] or "/"


def _name(path: str) -> str:
    return path.rsplit("/", 1)[1]
