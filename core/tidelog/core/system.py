"""The real clock, disk and randomness: the only place with threads, mmap and fsync.

Every `OSError` leaves here as a `StorageError` that names the path. Syncs, reads and removals run
on small pools of their own, so that a slow device delays only the tasks that wait for it.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import fcntl
import mmap
import os
import random
import resource
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from tidelog.core.env import DiskSpace
from tidelog.core.errors import DiskFullError, StorageError
from tidelog.core.memory_reads import (
    READ_AHEAD_BYTES,
    Changes,
    Loaded,
    MemoryMode,
    NotInMemoryError,
    ReadByPath,
)
from tidelog.core.page_cache import SCRATCH_BYTES, PageCache, Residency, read_all

# Freed blocks from these sizes on return to the system; glibc allows no higher value of the first.
MALLOC_MMAP_THRESHOLD_BYTES = 32 << 20
MALLOC_TRIM_THRESHOLD_BYTES = 512 << 20
# A node constantly handles messages of a megabyte. By default glibc maps and unmaps each of them,
# which costs more than copying it; two arenas are enough for one busy thread.
ALLOCATOR = {
    "MALLOC_MMAP_THRESHOLD_": str(MALLOC_MMAP_THRESHOLD_BYTES),
    "MALLOC_TRIM_THRESHOLD_": str(MALLOC_TRIM_THRESHOLD_BYTES),
    "MALLOC_ARENA_MAX": "2",
}
"""Environment variables for a node's process."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_FILE_MODE, _DIRECTORY_MODE = 0o600, 0o700
_IOV_MAX = 1024  # limits.h


class SystemClock:
    """Clocks of the machine."""

    def monotonic_ms(self) -> int:
        """See `Clock`."""
        return time.monotonic_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """See `Clock`."""
        return time.monotonic()

    def wall_ms(self) -> int:
        """See `Clock`."""
        return time.time_ns() // 1_000_000


class SystemRandom:
    """Randomness of the operating system."""

    def __init__(self) -> None:
        self._random = random.SystemRandom()

    def random(self) -> float:
        """See `Random`."""
        return self._random.random()

    def randrange(self, start: int, stop: int) -> int:
        """See `Random`."""
        return self._random.randrange(start, stop)

    def randbytes(self, length: int) -> bytes:
        """See `Random`."""
        return os.urandom(length)


@dataclass(frozen=True, slots=True)
class DiskConfig:
    """Number of threads for each kind of disk work."""

    sync_threads: int = 4
    metadata_sync_threads: int = 2
    """Sync threads of `SystemDisk.with_own_threads`: for the metadata log, and its snapshots."""
    read_threads: int = 4
    """Threads for reads; callers bound the queue, see waiting_reads_max."""
    removal_threads: int = 1


class SystemFile:
    """A file descriptor, read and written by position."""

    def __init__(self, path: str, disk: SystemDisk, *, create: bool) -> None:
        self.path = path
        self._disk = disk
        self._changes = Changes()
        self._residency: Residency | None = None
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        try:
            self._fd = os.open(path, flags, _FILE_MODE)
        except OSError as error:
            raise _storage_error("open", path, error) from error

    def size(self) -> int:
        """See `File`."""
        try:
            return os.fstat(self._fd).st_size
        except OSError as error:
            raise _storage_error("look at", self.path, error) from error

    def read_at(self, offset: int, length: int) -> bytes:
        """See `File`."""
        loaded = self._disk.mode.loaded
        found = None if loaded is None else loaded.find(self, offset, length)
        if found is not None:
            return found
        try:
            if loaded is None:
                return read_all(self._fd, offset, length)
            if self._residency is None:
                self._residency = self._disk.cache.residency(self._fd)
            found = self._disk.cache.read(self._fd, self._residency, offset, length)
        except OSError as error:
            raise _storage_error("read", self.path, error) from error
        if found is None:
            raise NotInMemoryError(self, offset, length)
        return found

    async def load(self, loaded: Loaded, offset: int, length: int) -> None:
        """Load by a duplicated descriptor, since this one may be closed meanwhile; see `File`."""
        piece = self._changes.begin(self, offset, max(length, READ_AHEAD_BYTES))
        try:
            descriptor = os.dup(self._fd)
            reading = self._disk.reads.submit(_read_ahead, descriptor, offset, length)
            reading.add_done_callback(lambda _: os.close(descriptor))  # also if it never ran
            found = await asyncio.wrap_future(reading)
            piece.data, piece.end = found[0], min(piece.end, offset + found[1])
        except OSError as error:
            piece.error = _storage_error("read", self.path, error)
        loaded.add(piece)

    def write_at(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """See `File`."""
        self._changes.note(offset, offset + len(data))
        try:
            written = os.pwrite(self._fd, data, offset)
            while written < len(data):
                rest = memoryview(data)[written:]
                written += os.pwrite(self._fd, rest, offset + written)
        except OSError as error:
            raise _storage_error("write", self.path, error) from error

    def write_pieces_at(
        self, offset: int, pieces: Sequence[bytes | bytearray | memoryview]
    ) -> None:
        """See `File`."""
        expected = sum(map(len, pieces))
        self._changes.note(offset, offset + expected)
        try:
            written = os.pwritev(self._fd, pieces, offset) if len(pieces) <= _IOV_MAX else 0
        except OSError as error:
            raise _storage_error("write", self.path, error) from error
        if written < expected:
            # A short write, mostly due to a full disk: writing the rest raises the reason.
            self.write_at(offset + written, memoryview(b"".join(pieces))[written:])

    def truncate(self, size: int) -> None:
        """See `File`."""
        self._changes.note(size)
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise _storage_error("truncate", self.path, error) from error

    async def sync(self) -> None:
        """See `File`."""
        await self._disk.sync_off_loop(self.path, lambda: os.fdatasync(self._fd))

    def close(self) -> None:
        """See `File`."""
        self._changes.note(0)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class SystemIndexBuffer:
    """A shared mapping. Its blocks are allocated, so that writing to it cannot fail (SIGBUS)."""

    def __init__(self, path: str, disk: SystemDisk, *, capacity_bytes: int) -> None:
        self.path = path
        self._disk = disk
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
            try:
                os.posix_fallocate(fd, 0, capacity_bytes)
                self._map = mmap.mmap(fd, 0)
            finally:
                os.close(fd)
        except OSError as error:
            raise _storage_error("map", path, error) from error
        self.view = memoryview(self._map)

    async def sync(self) -> None:
        """Sync by path: `mmap.flush` would hold the interpreter lock; see `IndexBuffer`."""
        await self._disk.sync_off_loop(self.path, lambda: _sync_path(self.path, os.fdatasync))

    def close(self, *, trim_to: int | None = None) -> None:
        """See `IndexBuffer`."""
        if self._map.closed:
            return
        self.view.release()
        self._map.close()
        if trim_to is not None:
            try:
                os.truncate(self.path, trim_to)
            except OSError as error:
                raise _storage_error("trim", self.path, error) from error


class SystemDisk:
    """File system of the machine. `close` ends its threads.

    `before_sync` is called first on the thread of each sync: tests slow down a device with it.
    """

    def __init__(
        self, config: DiskConfig | None = None, *, before_sync: Callable[[], None] | None = None
    ) -> None:
        self._config = config or DiskConfig()
        self._before_sync = before_sync
        self._syncs = ThreadPoolExecutor(self._config.sync_threads, "tidelog-sync")
        self.reads = ThreadPoolExecutor(self._config.read_threads, "tidelog-read")
        self._removals = ThreadPoolExecutor(self._config.removal_threads, "tidelog-remove")
        self.mode = MemoryMode()
        self.cache = PageCache(memoryview(mmap.mmap(-1, SCRATCH_BYTES)))
        self._others: list[SystemDisk] = []
        self._queued: dict[str, asyncio.Task[None]] = {}
        """Folder syncs that have not started: they cover all earlier changes in the folder."""

    def close(self) -> None:
        """Wait for running work and end the threads."""
        for other in self._others:
            other.close()
        for pool in (self._syncs, self.reads, self._removals):
            pool.shutdown()

    def with_own_threads(self) -> SystemDisk:
        """Create a disk with separate threads; `close` of this one closes it, too. See `Disk`."""
        threads = self._config.metadata_sync_threads
        config = replace(self._config, sync_threads=threads)
        other = SystemDisk(config, before_sync=self._before_sync)
        self._others.append(other)
        return other

    def from_memory(self, loaded: Loaded | None) -> AbstractContextManager[None]:
        """See `Disk`."""
        return self.mode.using(loaded)

    def open(self, path: str, *, create: bool = False) -> SystemFile:
        """See `Disk`."""
        return SystemFile(path, self, create=create)

    def open_index(self, path: str, *, capacity_bytes: int) -> SystemIndexBuffer:
        """See `Disk`."""
        if self.mode.loaded is not None:
            self._require_in_memory(path, capacity_bytes, self.mode.loaded)
        return SystemIndexBuffer(path, self, capacity_bytes=capacity_bytes)

    def exists(self, path: str) -> bool:
        """See `Disk`."""
        return os.path.exists(path)

    def size(self, path: str) -> int:
        """See `Disk`."""
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise _storage_error("look at", path, error) from error

    async def space(self, path: str) -> DiskSpace:
        """See `Disk`."""
        try:
            found = await asyncio.get_running_loop().run_in_executor(self.reads, os.statvfs, path)
        except OSError as error:
            raise _storage_error("look at the file system of", path, error) from error
        return DiskSpace(found.f_frsize * found.f_blocks, found.f_frsize * found.f_bavail)

    def list(self, path: str) -> list[str]:
        """See `Disk`."""
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _storage_error("list", path, error) from error

    def make_directory(self, path: str) -> None:
        """See `Disk`."""
        try:
            os.makedirs(path, mode=_DIRECTORY_MODE, exist_ok=True)
        except OSError as error:
            raise _storage_error("make", path, error) from error

    def rename(self, source: str, target: str) -> None:
        """See `Disk`."""
        try:
            os.replace(source, target)
        except OSError as error:
            raise _storage_error(f"rename {source} to", target, error) from error

    def remove(self, path: str) -> None:
        """See `Disk`."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _storage_error("remove", path, error) from error

    async def discard(self, path: str) -> None:
        """See `Disk`."""
        await asyncio.get_running_loop().run_in_executor(self._removals, self.remove, path)

    def remove_tree(self, path: str) -> None:
        """See `Disk`."""
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _storage_error("remove", path, error) from error

    async def sync_directory(self, path: str) -> None:
        """Sync a folder; one sync serves all requests before its start. See `Disk`."""
        queued = self._queued.get(path)
        if queued is None:
            work = self.sync_off_loop(path, lambda: self._sync_queued(path))
            queued = self._queued[path] = asyncio.create_task(work)
            queued.add_done_callback(lambda done: self._forget(path, done))
        await asyncio.shield(queued)

    async def sync_off_loop(self, path: str, sync: Callable[[], None]) -> None:
        """Run `sync` on a thread. Raises `StorageError` marked as a sync failure."""

        def run() -> None:
            if self._before_sync is not None:
                self._before_sync()
            sync()

        try:
            await asyncio.get_running_loop().run_in_executor(self._syncs, run)
        except OSError as error:
            failure = _storage_error("sync", path, error)
            failure.is_sync_failure = True
            raise failure from error

    def _require_in_memory(self, path: str, size_bytes: int, loaded: Loaded) -> None:
        """Raise `NotInMemoryError` for a file whose mapping would have to wait."""
        try:
            if loaded.find(path, 0, size_bytes) is not None:
                return
            with _open_descriptor(path) as descriptor:
                residency = self.cache.residency(descriptor)
                found = self.cache.read(descriptor, residency, 0, size_bytes)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _storage_error("read", path, error) from error
        if found is None:
            raise NotInMemoryError(ReadByPath(path, partial(self._read, path)), 0, size_bytes)

    async def _read(self, path: str, offset: int, length: int) -> bytes:
        def read() -> bytes:
            with _open_descriptor(path) as descriptor:
                return read_all(descriptor, offset, length)

        try:
            return await asyncio.wrap_future(self.reads.submit(read))
        except OSError as error:
            raise _storage_error("read", path, error) from error

    def _forget(self, path: str, done: asyncio.Task[None]) -> None:
        """Drop a queued sync that never started because its loop ended."""
        if self._queued.get(path) is done:
            del self._queued[path]

    def _sync_queued(self, path: str) -> None:
        """Run a queued sync on the pool; later requests need another one."""
        self._queued.pop(path, None)
        _sync_path(path, os.fsync)


def keep_freed_memory() -> None:
    """Make this process reuse large freed blocks instead of mapping and unmapping each.

    For programs that constantly handle messages of a megabyte: with glibc it saves up to half of
    their CPU. Does nothing with another C library.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, MALLOC_MMAP_THRESHOLD_BYTES)
        mallopt(_M_TRIM_THRESHOLD, MALLOC_TRIM_THRESHOLD_BYTES)


def raise_open_files_limit() -> int:
    """Raise this process's limit of open files to the hard limit; return it.

    A partition has several open files per segment, and the usual soft limit is far below the hard
    one.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def process_id() -> int:
    """Id of this process."""
    return os.getpid()


def environment() -> Mapping[str, str]:
    """Variables that this process was started with."""
    return os.environ


def boot_id() -> str:
    """Id of the kernel's boot, new at each start of the machine; empty if unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def end_process(code: int) -> NoReturn:
    """End the process at once: no clean-up, no exit handlers, no further writes or messages."""
    os._exit(code)


@contextmanager
def lock_directory(path: str) -> Iterator[None]:
    """Lock `path` for this process. Raises `StorageError` when another one holds the lock."""
    lock_path = f"{path}/.lock"
    try:
        fd = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
    except OSError as error:
        raise _storage_error("open", lock_path, error) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise StorageError(
            f"{path} is in use by another process: stop that one, or choose another log.dirs"
        ) from error
    try:
        yield
    finally:
        os.close(fd)


def _read_ahead(descriptor: int, offset: int, length: int) -> tuple[bytes, int]:
    """Read more than requested, if possible; return the bytes and the length tried."""
    if length < READ_AHEAD_BYTES:
        with suppress(OSError):
            return read_all(descriptor, offset, READ_AHEAD_BYTES), READ_AHEAD_BYTES
    return read_all(descriptor, offset, length), length


def _sync_path(path: str, sync: Callable[[int], None]) -> None:
    with _open_descriptor(path) as descriptor:
        sync(descriptor)


@contextmanager
def _open_descriptor(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _storage_error(action: str, path: str, error: OSError) -> StorageError:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    kind = DiskFullError if is_full else StorageError
    return kind(f"cannot {action} {path}: {error.strerror or error}")
