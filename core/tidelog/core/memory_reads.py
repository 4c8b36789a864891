"""Reads that never wait for a device: they find the bytes in memory, or report the missing ones.

    reading(disk, work)    run `work`; if bytes are missing, load them off the loop and rerun it

A disk may take seconds for a read, and all of a node's work shares one loop. So code that reads
records runs within `Disk.from_memory`, where a read of bytes that are not in memory raises
`NotInMemoryError`. The caller awaits `load` and starts over: the log may have been truncated,
compacted, deleted or given to another leader meanwhile, so no result from before a wait is used
after it (decision 0027). Only bytes of files are kept, in `Loaded`, until they are overwritten or
truncated, or the file is closed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar
from weakref import WeakSet

from tidelog.core.errors import StorageError

T = TypeVar("T")

READ_AHEAD_BYTES = 64 << 10
"""Minimum size of a read from a device: neighbouring bytes are free."""
LOADED_BYTES_MAX = 1 << 20
"""Maximum bytes kept for one piece of work, besides the last ones loaded."""
LOADS_MAX = 128
"""Maximum loads for one piece of work, which then waits for missing bytes.

By then they were just read: either the file changes repeatedly, or they are evicted at once.
"""


class Piece:
    """Bytes of a file from `start` to `end`, fewer where the file ends; or an error."""

    __slots__ = ("__weakref__", "data", "end", "error", "file", "start")

    def __init__(self, file: object, start: int, end: int) -> None:
        self.file = file
        self.start = start
        self.end = end
        """End of the valid bytes: moves down to where the file has changed."""
        self.data: bytes | None = None
        """Bytes read; None until they were read."""
        self.error: StorageError | None = None

    @property
    def size_bytes(self) -> int:
        """Size of the bytes read."""
        return len(self.data or b"")

    def holds(self, file: object, start: int, end: int) -> bool:
        """True when these bytes, or the error of reading them, are here."""
        is_known = self.data is not None or self.error is not None
        return self.file == file and is_known and self.start <= start and end <= self.end


class Loaded:
    """Bytes read off the loop for one piece of work."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._loads = 0

    @property
    def may_wait(self) -> bool:
        """True when the work may wait on the loop now, in order to complete: see LOADS_MAX."""
        return self._loads >= LOADS_MAX

    def add(self, piece: Piece) -> None:
        """Keep a piece, and as many earlier ones as there is room for."""
        while sum(one.size_bytes for one in self._pieces) > LOADED_BYTES_MAX:
            self._pieces.pop(0)
        self._pieces.append(piece)
        self._loads += 1

    def find(self, file: object, offset: int, length: int) -> bytes | None:
        """Find bytes as `File.read_at`; None when they were not loaded. Raises their error."""
        for piece in reversed(self._pieces):
            if piece.holds(file, offset, offset + length):
                if piece.error is not None:
                    raise piece.error
                assert piece.data is not None  # it holds them
                at = offset - piece.start
                is_all = not at and length >= len(piece.data)
                return piece.data if is_all else piece.data[at : at + length]
        return None


class Changes:
    """Pieces of one file, invalidated where the file changes."""

    def __init__(self) -> None:
        self._pieces: WeakSet[Piece] | None = None

    def begin(self, file: object, offset: int, length: int) -> Piece:
        """Create a piece whose bytes are read from now on."""
        piece = Piece(file, offset, offset + length)
        if self._pieces is None:
            self._pieces = WeakSet()
        self._pieces.add(piece)
        return piece

    def note(self, start: int, end: int | None = None) -> None:
        """Note a change of the file from `start` to `end`, its own end if None."""
        if self._pieces:
            for piece in self._pieces:
                if end is None or piece.start < end:
                    piece.end = min(piece.end, start)


class Readable(Protocol):
    """Port of a file that can be read off the loop."""

    async def load(self, loaded: Loaded, offset: int, length: int) -> None:
        """Load the bytes, or the error of reading them, into `loaded`; see `File`."""


class ReadByPath:
    """A file that is not open yet; reading it once brings its pages into memory.

    `read` reads bytes off the loop, by offset and length, and raises StorageError.
    """

    def __init__(self, path: str, read: Callable[[int, int], Awaitable[bytes]]) -> None:
        self.path = path
        self._read = read

    async def load(self, loaded: Loaded, offset: int, length: int) -> None:
        """See `Readable`."""
        piece = Piece(self.path, offset, offset + length)
        try:
            piece.data = await self._read(offset, length)
        except StorageError as error:
            piece.error = error
        loaded.add(piece)


class NotInMemoryError(Exception):
    """Bytes are missing within `Disk.from_memory`: await `load`, then repeat all of the work."""

    def __init__(self, file: Readable, offset: int, length: int) -> None:
        super().__init__(f"{length} bytes from {offset} are not in memory")
        self._file = file
        self._offset = offset
        self._length = length

    async def load(self, loaded: Loaded) -> None:
        """Read the bytes off the loop into `loaded`. Never raises disk errors."""
        await self._file.load(loaded, self._offset, self._length)


class MemoryMode:
    """Mode of one disk: whether reads may wait for the device now."""

    def __init__(self) -> None:
        self.loaded: Loaded | None = None
        """None: reads may wait. Else they may not, and find these bytes besides those in memory."""

    @property
    def may_wait(self) -> bool:
        """True where reads may wait for the device."""
        return self.loaded is None

    def using(self, loaded: Loaded | None) -> AbstractContextManager[None]:
        """Context manager that sets the mode; see `Disk.from_memory`."""
        may_wait = loaded is None or loaded.may_wait
        return _Using(self, None if may_wait else loaded)


class _Using:
    """Context manager of `MemoryMode.using`; no generator, as each read of records needs one."""

    __slots__ = ("_before", "_loaded", "_mode")

    def __init__(self, mode: MemoryMode, loaded: Loaded | None) -> None:
        self._mode = mode
        self._loaded = loaded
        self._before: Loaded | None = None

    def __enter__(self) -> None:
        self._before, self._mode.loaded = self._mode.loaded, self._loaded

    def __exit__(self, *_: object) -> None:
        self._mode.loaded = self._before


class MemoryDisk(Protocol):
    """Part of `Disk` that `reading` needs."""

    def from_memory(self, loaded: Loaded | None) -> AbstractContextManager[None]:
        """Context manager that sets the mode; see `Disk`."""


async def reading(disk: MemoryDisk, work: Callable[[], T]) -> T:
    """Run `work`, which reads files of `disk` and changes nothing; return its result or raise.

    It is run again from its beginning after each load, and only once if all bytes are in memory.
    """
    loaded = Loaded()
    while True:
        try:
            with disk.from_memory(loaded):
                return work()
        except NotInMemoryError as lacking:
            await lacking.load(loaded)
