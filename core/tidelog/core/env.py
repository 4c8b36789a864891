"""Ports to the outside world: clock, disk, randomness.

They are injected into everything below the composition roots; `tidelog.core.system` implements the
real ones, the simulation its own. This module decides nothing and has no effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from tidelog.core.memory_reads import Loaded, MemoryMode


class Clock(Protocol):
    """Time, in whole milliseconds unless the name says otherwise."""

    def monotonic_ms(self) -> int:
        """Milliseconds since an arbitrary point; never goes back. For leases and timeouts."""

    def monotonic_s(self) -> float:
        """The same clock in seconds, for libraries that want a float."""

    def wall_ms(self) -> int:
        """Milliseconds since the Unix epoch; may jump. For record timestamps and log lines only."""


class Random(Protocol):
    """The only source of randomness."""

    def random(self) -> float:
        """A float in [0, 1)."""

    def randrange(self, start: int, stop: int) -> int:
        """An integer in [start, stop)."""

    def randbytes(self, length: int) -> bytes:
        """`length` random bytes."""


class File(Protocol):
    """An open file. Writes reach the operating system at once and stable storage only by `sync`.

    Errors: every method raises `StorageError` (see `tidelog.core.errors`); after a failed `sync`
    the file's un-synced content is unknown and the caller must not try again (fsyncgate).
    """

    path: str

    def size(self) -> int:
        """Length in bytes."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Read at most `length` bytes from `offset`; fewer only at the end of the file.

        Blocks the loop until the device has read bytes that are not in memory. Within
        `Disk.from_memory` it raises `NotInMemoryError` instead.
        """

    async def load(self, loaded: Loaded, offset: int, length: int) -> None:
        """Load bytes that `read_at` lacked off the loop; see `NotInMemoryError.load`.

        Loads at least READ_AHEAD_BYTES, unless these cannot be read.
        """

    def write_at(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data` at `offset`; a gap before it reads as zeros."""

    def write_pieces_at(
        self, offset: int, pieces: Sequence[bytes | bytearray | memoryview]
    ) -> None:
        """Write all `pieces`, one after the other, at `offset`, without joining them first."""

    def truncate(self, size: int) -> None:
        """Cut (or extend with zeros) to `size` bytes."""

    async def sync(self) -> None:
        """Bring all writes before the call to stable storage, off the loop."""

    def close(self) -> None:
        """Close without syncing; idempotent."""


class IndexBuffer(Protocol):
    """A memory-mapped file of fixed capacity: cheap small appends and look-ups."""

    path: str
    view: memoryview
    """Mapping of the whole capacity, writable. Its space is reserved by `open_index`."""

    async def sync(self) -> None:
        """Bring the contents to stable storage, off the loop."""

    def close(self, *, trim_to: int | None = None) -> None:
        """Unmap and close; with `trim_to`, truncate the file to that many bytes."""


class DiskSpace(NamedTuple):
    """Size of a file system, and what of it this process may still use, in bytes."""

    total_bytes: int
    usable_bytes: int


class Disk(Protocol):
    """A node's file system. Paths are absolute strings. Errors: `StorageError`.

    Slow operations run on threads: syncs, reads and removals on separate ones, so that no kind
    waits behind another.
    """

    mode: MemoryMode
    """Mode of reads: see `from_memory`."""

    def with_own_threads(self) -> Disk:
        """Create a disk of the same files with separate threads: its syncs wait for no others.

        Used for the metadata log, since the quorum's elections depend on its syncs.
        """

    def from_memory(self, loaded: Loaded | None) -> AbstractContextManager[None]:
        """Let no read inside wait: see `tidelog.core.memory_reads`; with None they wait again.

        Never await inside.
        """

    def open(self, path: str, *, create: bool = False) -> File:
        """Open for reading and writing; with `create`, create it when it does not exist."""

    def open_index(self, path: str, *, capacity_bytes: int) -> IndexBuffer:
        """Map `path`, created or extended with zeros to `capacity_bytes`."""

    def exists(self, path: str) -> bool:
        """True when a file or folder of this name exists."""

    def size(self, path: str) -> int:
        """Length of a file in bytes; 0 when it does not exist."""

    async def space(self, path: str) -> DiskSpace:
        """Look up the space of the file system that holds an existing path, off the loop."""

    def list(self, path: str) -> list[str]:
        """Sorted names (not paths) in a folder; empty when the folder does not exist."""

    def make_directory(self, path: str) -> None:
        """Create the folder and its parents; existing ones are fine."""

    def rename(self, source: str, target: str) -> None:
        """Replace `target` atomically. Durable only after `sync_directory` of the parent."""

    def remove(self, path: str) -> None:
        """Remove a file; a missing one is fine."""

    async def discard(self, path: str) -> None:
        """Remove an unused file off the loop, since a large one takes long.

        No sync and no read waits behind it.
        """

    def remove_tree(self, path: str) -> None:
        """Remove a folder with its contents; a missing one is fine."""

    async def sync_directory(self, path: str) -> None:
        """Make created, renamed and removed names in the folder durable, off the loop."""


async def write_atomically(disk: Disk, path: str, data: bytes) -> None:
    """Write `data` to `path` so that a crash leaves the old content or the new, never a mixture.

    Write to `path + ".tmp"`, sync, rename, sync the folder.
    """
    temporary = path + ".tmp"
    disk.remove(temporary)
    file = disk.open(temporary, create=True)
    try:
        file.write_at(0, data)
        await file.sync()
    finally:
        file.close()
    disk.rename(temporary, path)
    await disk.sync_directory(_parent(path))


async def make_directory_durably(disk: Disk, path: str) -> None:
    """Create a folder and its parents so that they survive a power loss."""
    folders = [path]
    while (parent := _parent(folders[-1])) != "/" and not disk.exists(parent):
        folders.append(parent)
    disk.make_directory(path)
    for folder in reversed(folders):
        # Existing folders, too: the process that created them may have crashed before this.
        await disk.sync_directory(_parent(folder))


def _parent(path: str) -> str:
    return path.rsplit("/", 1)[0] or "/"
