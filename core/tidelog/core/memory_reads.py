"""Reads that wait for no device: they find all in memory, or say what they lack.

    reading(disk, work)    run `work`; where it lacks bytes, load them off the loop and run it anew

A disk may take seconds for a read, and everything a node does shares one loop. So what reads
records runs within `Disk.from_memory`, where a read of bytes that are not in memory raises
`NotInMemoryError`. Whoever gets that awaits `load` and begins again: the log may have been cut,
compacted, deleted or given to another leader meanwhile, so nothing found before a wait is used
after it (decision 0027). Only bytes of files are kept, in `Loaded`, and no longer than nobody
writes over them, cuts them off or closes the file.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar
from weakref import WeakSet

from tidelog.core.errors import StorageError

T = TypeVar("T")

READ_AHEAD_BYTES = 64 << 10
"""What is read at least where a device must be waited for: its neighbours come for nothing."""
LOADED_BYTES_MAX = 1 << 20
"""Kept for one piece of work, besides what it lacked last."""
LOADS_MAX = 128
"""For one piece of work. One that still lacks bytes then waits for them: they were read just now,
and somebody changes the file again and again, or they leave memory at once."""


class Piece:
    """Bytes of one file from `start` to `end`, fewer where the file ends; or an error."""

    __slots__ = ("__weakref__", "data", "end", "error", "file", "start")

    def __init__(self, file: object, start: int, end: int) -> None:
        self.file = file
        self.start = start
        self.end = end
        """Moves down to where the file changes: what was read there is worth nothing."""
        self.data: bytes | None = None
        """None until they were read."""
        self.error: StorageError | None = None

    @property
    def size_bytes(self) -> int:
        """Of what was read."""
        return len(self.data or b"")

    def holds(self, file: object, start: int, end: int) -> bool:
        """Whether these bytes, or why they cannot be read, are here."""
        is_known = self.data is not None or self.error is not None
        return self.file == file and is_known and self.start <= start and end <= self.end


class Loaded:
    """What was read off the loop for one piece of work."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._loads = 0

    @property
    def may_wait(self) -> bool:
        """Whether the work waits on the loop now, to come to an end: see LOADS_MAX."""
        return self._loads >= LOADS_MAX

    def add(self, piece: Piece) -> None:
        """Keep it, and what it leaves room for."""
        while sum(one.size_bytes for one in self._pieces) > LOADED_BYTES_MAX:
            self._pieces.pop(0)
        self._pieces.append(piece)
        self._loads += 1

    def find(self, file: object, offset: int, length: int) -> bytes | None:
        """As `File.read_at`; None when they were not loaded. Raises their error."""
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
    """The pieces of one file, which are worth nothing where it changes."""

    def __init__(self) -> None:
        self._pieces: WeakSet[Piece] | None = None

    def begin(self, file: object, offset: int, length: int) -> Piece:
        """A piece whose bytes are read from now on."""
        piece = Piece(file, offset, offset + length)
        if self._pieces is None:
            self._pieces = WeakSet()
        self._pieces.add(piece)
        return piece

    def note(self, start: int, end: int | None = None) -> None:
        """The file changed from `start` to `end`, its own end if None."""
        if self._pieces:
            for piece in self._pieces:
                if end is None or piece.start < end:
                    piece.end = min(piece.end, start)


class Readable(Protocol):
    """What can be read off the loop."""

    async def load(self, loaded: Loaded, offset: int, length: int) -> None:
        """See `File`: the bytes, or the error of a read of them, are in `loaded` then."""


class ReadByPath:
    """A file that is not open yet: read through once, its pages are in memory.

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
    """A read within `Disk.from_memory` lacks bytes: await `load`, then do all of it again."""

    def __init__(self, file: Readable, offset: int, length: int) -> None:
        super().__init__(f"{length} bytes from {offset} are not in memory")
        self._file = file
        self._offset = offset
        self._length = length

    async def load(self, loaded: Loaded) -> None:
        """Read them off the loop into `loaded`. Never raises for what the disk does."""
        await self._file.load(loaded, self._offset, self._length)


class MemoryMode:
    """Whether the reads of one disk may wait now."""

    def __init__(self) -> None:
        self.loaded: Loaded | None = None
        """None: they wait. Else they do not, and find these besides what is in memory."""

    def using(self, loaded: Loaded | None) -> AbstractContextManager[None]:
        """See `Disk.from_memory`."""
        may_wait = loaded is None or loaded.may_wait
        return _Using(self, None if may_wait else loaded)


class _Using:
    """See `MemoryMode.using`: no generator, as each read of records makes one."""

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
    """The part of `Disk` that `reading` needs."""

    def from_memory(self, loaded: Loaded | None) -> AbstractContextManager[None]:
        """See `Disk`."""


async def reading(disk: MemoryDisk, work: Callable[[], T]) -> T:
    """The result of `work`, which reads files of `disk` and changes nothing; raises what it raises.

    It runs as often as it lacks bytes, from its beginning, and once where all are in memory.
    """
    loaded = Loaded()
    while True:
        try:
            with disk.from_memory(loaded):
                return work()
        except NotInMemoryError as lacking:
            await lacking.load(loaded)
