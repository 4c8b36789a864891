"""The real clock, disk and randomness: the only place with threads, mmap and fsync.

Every `OSError` leaves here as a `StorageError` that names the path. Syncs run on a small pool, so
that a slow device delays whoever waits for it and nobody else.
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from tidelog.log.errors import DiskFullError, StorageError

SYNC_THREADS = 4
# From these sizes on freed memory goes back to the system; glibc takes no higher first one.
MALLOC_MMAP_THRESHOLD_BYTES = 32 << 20
MALLOC_TRIM_THRESHOLD_BYTES = 512 << 20
# A node handles messages of a megabyte all the time. By default glibc maps and unmaps each of them,
# which costs more than copying it; two arenas are enough for one busy thread.
ALLOCATOR = {
    "MALLOC_MMAP_THRESHOLD_": str(MALLOC_MMAP_THRESHOLD_BYTES),
    "MALLOC_TRIM_THRESHOLD_": str(MALLOC_TRIM_THRESHOLD_BYTES),
    "MALLOC_ARENA_MAX": "2",
}
"""What a node's process is started with in its environment."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_FILE_MODE = 0o600
_DIRECTORY_MODE = 0o700
_IOV_MAX = 1024  # limits.h


class SystemClock:
    """The machine's clocks."""

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
    """The operating system's randomness."""

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


class SystemFile:
    """A file descriptor, read and written by position."""

    def __init__(self, path: str, pool: ThreadPoolExecutor, *, create: bool) -> None:
        self.path = path
        self._pool = pool
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
        try:
            data = os.pread(self._fd, length, offset)
            while 0 < len(data) < length:
                more = os.pread(self._fd, length - len(data), offset + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise _storage_error("read", self.path, error) from error
        return data

    def write_at(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """See `File`."""
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
        try:
            written = os.pwritev(self._fd, pieces, offset) if len(pieces) <= _IOV_MAX else 0
        except OSError as error:
            raise _storage_error("write", self.path, error) from error
        if written < expected:
            # Cut short, by a full disk most often: what is left says why.
            self.write_at(offset + written, memoryview(b"".join(pieces))[written:])

    def truncate(self, size: int) -> None:
        """See `File`."""
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise _storage_error("truncate", self.path, error) from error

    async def sync(self) -> None:
        """See `File`."""
        await _off_loop(self._pool, self.path, lambda: os.fdatasync(self._fd))

    def close(self) -> None:
        """See `File`."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class SystemIndexBuffer:
    """A shared mapping. Its blocks are allocated: writing to it can then not fail (SIGBUS)."""

    def __init__(self, path: str, pool: ThreadPoolExecutor, *, capacity_bytes: int) -> None:
        self.path = path
        self._pool = pool
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
        """See `IndexBuffer`. By path: `mmap.flush` would hold the interpreter while it waits."""
        await _off_loop(self._pool, self.path, lambda: _sync_path(self.path, os.fdatasync))

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
    """The machine's file system. `close` ends its threads."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(SYNC_THREADS, thread_name_prefix="tidelog-sync")
        self._queued: dict[str, asyncio.Task[None]] = {}
        """Syncs of folders that have not begun: what was made in a folder by now is in them."""

    def close(self) -> None:
        """Wait for the syncs under way and end the threads."""
        self._pool.shutdown()

    def open(self, path: str, *, create: bool = False) -> SystemFile:
        """See `Disk`."""
        return SystemFile(path, self._pool, create=create)

    def open_index(self, path: str, *, capacity_bytes: int) -> SystemIndexBuffer:
        """See `Disk`."""
        return SystemIndexBuffer(path, self._pool, capacity_bytes=capacity_bytes)

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
        await asyncio.get_running_loop().run_in_executor(self._pool, self.remove, path)

    def remove_tree(self, path: str) -> None:
        """See `Disk`."""
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _storage_error("remove", path, error) from error

    async def sync_directory(self, path: str) -> None:
        """See `Disk`. One sync serves all who ask for it before it begins."""
        queued = self._queued.get(path)
        if queued is None:
            work = _off_loop(self._pool, path, lambda: self._sync_queued(path))
            queued = self._queued[path] = asyncio.create_task(work)
            queued.add_done_callback(lambda done: self._forget(path, done))
        await asyncio.shield(queued)

    def _forget(self, path: str, done: asyncio.Task[None]) -> None:
        """One that never began: its loop ended."""
        if self._queued.get(path) is done:
            del self._queued[path]

    def _sync_queued(self, path: str) -> None:
        """On the pool: whoever asks from here on needs another sync."""
        self._queued.pop(path, None)
        _sync_path(path, os.fsync)


async def _off_loop(pool: ThreadPoolExecutor, path: str, sync: Callable[[], None]) -> None:
    try:
        await asyncio.get_running_loop().run_in_executor(pool, sync)
    except OSError as error:
        failure = _storage_error("sync", path, error)
        failure.is_sync_failure = True
        raise failure from error


def keep_freed_memory() -> None:
    """Have this process reuse large freed blocks instead of mapping and unmapping each.

    For programs that handle messages of a megabyte all the time: with glibc it saves up to half of
    their CPU. Does nothing with another C library.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, MALLOC_MMAP_THRESHOLD_BYTES)
        mallopt(_M_TRIM_THRESHOLD, MALLOC_TRIM_THRESHOLD_BYTES)


def raise_open_files_limit() -> int:
    """Let this process open as many files as it is allowed to; how many these are.

    A partition holds a few for each segment, and the usual soft limit is far below the hard one.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def process_id() -> int:
    """This process's id."""
    return os.getpid()


def boot_id() -> str:
    """Another one each time the machine's kernel starts; empty where it cannot be told."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def end_process(code: int) -> NoReturn:
    """End at once: no cleanup, no exit handlers, nothing more written or sent."""
    os._exit(code)


@contextmanager
def lock_directory(path: str) -> Iterator[None]:
    """Hold `path` for this process alone. Errors: `StorageError` when another one holds it."""
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


def _sync_path(path: str, sync: Callable[[int], None]) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(fd)
    finally:
        os.close(fd)


def _storage_error(action: str, path: str, error: OSError) -> StorageError:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    kind = DiskFullError if is_full else StorageError
    return kind(f"cannot {action} {path}: {error.strerror or error}")
