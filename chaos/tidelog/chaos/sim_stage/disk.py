"""A disk in memory that forgets at a crash what was not synced, and some of it only in part.

Each file is its content as written and as stored, with the writes between. Each name is an entry
as made and as stored, with the changes between. A crash keeps, tears or drops every un-synced
write on its own, and in each folder a prefix of the un-synced changes of names: a journaling file
system without barriers. Folders themselves are stored at once. Nothing here waits for real time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from tidelog.log.env import Random
from tidelog.log.errors import StorageError

_PAGE_BYTES = 4096


@dataclass(slots=True)
class _Content:
    """What a file holds: `written` for the running system, `stored` on the medium."""

    written: bytearray = field(default_factory=bytearray)
    stored: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Un-synced writes by offset; None cuts or extends to it."""
    stored_count: int = 0
    """Writes that have left `pending` since the start."""
    is_mapped: bool = False

    def change(self, offset: int, data: bytes | None) -> None:
        _apply(self.written, offset, data)
        self.pending.append((offset, data))

    def written_count(self) -> int:
        return self.stored_count + len(self.pending)

    def store(self, up_to_count: int) -> None:
        """Make the first writes stable, unless another sync already has."""
        count = max(0, up_to_count - self.stored_count)
        for offset, data in self.pending[:count]:
            _apply(self.stored, offset, data)
        del self.pending[:count]
        self.stored_count += count

    def store_pages(self, pages: range) -> None:
        """Pages of a mapping: their writes were never seen one by one."""
        for page in pages:
            at = page * _PAGE_BYTES
            _apply(self.stored, at, bytes(self.written[at : at + _PAGE_BYTES]))

    def pages(self) -> range:
        return range((len(self.written) + _PAGE_BYTES - 1) // _PAGE_BYTES)

    def crash(self, random: Random) -> None:
        """Become what a start after the crash finds."""
        for offset, data in self.pending:
            fate = random.randrange(0, 3)
            if fate and data and fate == 1:
                data = data[: random.randrange(0, len(data))]
            if fate:
                _apply(self.stored, offset, data)
        if self.is_mapped:
            for page in self.pages():
                if random.randrange(0, 2):
                    self.store_pages(range(page, page + 1))
        self.pending = []
        self.written = bytearray(self.stored)
        self.is_mapped = False


_Names = dict[str, _Content | None]
"""Changed names: a content, or None for a removed one."""


class SimDisk:
    """Implements `Disk`. Every sync takes `sync_latency_s` of the running loop's time."""

    def __init__(self, random: Random, sync_latency_s: float) -> None:
        self._random = random
        self._sync_latency_s = sync_latency_s
        self._names: dict[str, _Content] = {}
        self._stored_names: dict[str, _Content] = {}
        self._pending_names: list[tuple[str, _Names]] = []
        self._directories = {"/"}
        self.life = 0
        """Grows with each crash; a handle of an earlier life raises `StorageError`."""

    def crash(self) -> None:
        """Lose what is not stored, and every open handle."""
        self.life += 1
        by_directory: dict[str, list[_Names]] = {}
        for directory, changes in self._pending_names:
            by_directory.setdefault(directory, []).append(changes)
        for pending in by_directory.values():
            for changes in pending[: self._random.randrange(0, len(pending) + 1)]:
                _rename(self._stored_names, changes)
        self._pending_names = []
        self._names = dict(self._stored_names)
        for path in sorted(self._names):
            self.make_directory(_parent(path))
            self._names[path].crash(self._random)

    def open(self, path: str, *, create: bool = False) -> SimFile:
        """See `Disk`."""
        if path not in self._names and not create:
            raise StorageError(f"cannot open {path}: no such file")
        return SimFile(self, path, self._content(path))

    def open_index(self, path: str, *, capacity_bytes: int) -> SimIndexBuffer:
        """See `Disk`."""
        content = self._content(path)
        # A buffer of its own: one a killed process left mapped could not change its size.
        content.written = bytearray(content.written)
        if len(content.written) < capacity_bytes:
            content.change(capacity_bytes, None)
        return SimIndexBuffer(self, path, content)

    def exists(self, path: str) -> bool:
        """See `Disk`."""
        return path in self._names or path in self._directories

    def size(self, path: str) -> int:
        """See `Disk`."""
        content = self._names.get(path)
        return 0 if content is None else len(content.written)

    def list(self, path: str) -> list[str]:
        """See `Disk`."""
        return sorted(
            name.rsplit("/", 1)[1]
            for name in (*self._names, *self._directories)
            if _parent(name) == path and name != "/"
        )

    def make_directory(self, path: str) -> None:
        """See `Disk`."""
        while path not in self._directories:
            self._directories.add(path)
            path = _parent(path)

    def rename(self, source: str, target: str) -> None:
        """See `Disk`; within one folder. What is inside a folder must be synced before."""
        is_known = source in self._names or source in self._directories
        if not is_known or _parent(source) != _parent(target):
            raise StorageError(f"cannot rename {source} to {target}")
        if source in self._directories:
            self._rename_directory(source, target)
        else:
            self._change_names({source: None, target: self._names[source]})

    def remove(self, path: str) -> None:
        """See `Disk`."""
        if path in self._names:
            self._change_names({path: None})

    def remove_tree(self, path: str) -> None:
        """See `Disk`."""
        for name in sorted(self._names):
            if name.startswith(path + "/"):
                self._change_names({name: None})
        self._directories = {
            name for name in self._directories if name != path and not name.startswith(path + "/")
        }

    async def sync_directory(self, path: str) -> None:
        """See `Disk`."""
        captured = [entry for entry in self._pending_names if entry[0] == path]
        await self.wait_for_device(self.life)
        for entry in captured:
            if entry in self._pending_names:
                self._pending_names.remove(entry)
                _rename(self._stored_names, entry[1])

    async def wait_for_device(self, life: int) -> None:
        """One sync's time; raises `StorageError` when a crash came between."""
        await asyncio.sleep(self._sync_latency_s)
        self.require(life)

    def require(self, life: int) -> None:
        """Raise `StorageError` for a handle of an earlier life."""
        if life != self.life:
            raise StorageError("the disk has crashed since this was opened")

    def _rename_directory(self, source: str, target: str) -> None:
        changes: _Names = {}
        for name in [name for name in self._names if name.startswith(source + "/")]:
            changes[name] = None
            changes[target + name[len(source) :]] = self._names[name]
        self._directories = (self._directories - {source}) | {target}
        _rename(self._names, changes)
        self._pending_names.append((_parent(source), changes))

    def _content(self, path: str) -> _Content:
        if path not in self._names:
            if _parent(path) not in self._directories:
                raise StorageError(f"cannot create {path}: no such folder")
            self._change_names({path: _Content()})
        return self._names[path]

    def _change_names(self, changes: _Names) -> None:
        _rename(self._names, changes)
        self._pending_names.append((_parent(next(iter(changes))), changes))


class SimFile:
    """Implements `File`."""

    def __init__(self, disk: SimDisk, path: str, content: _Content) -> None:
        self.path = path
        self._disk = disk
        self._content = content
        self._life = disk.life

    def size(self) -> int:
        """See `File`."""
        self._disk.require(self._life)
        return len(self._content.written)

    def read_at(self, offset: int, length: int) -> bytes:
        """See `File`."""
        self._disk.require(self._life)
        return bytes(self._content.written[offset : offset + length])

    def write_at(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """See `File`."""
        self._disk.require(self._life)
        self._content.change(offset, bytes(data))

    def write_pieces_at(
        self, offset: int, pieces: Sequence[bytes | bytearray | memoryview]
    ) -> None:
        """See `File`."""
        self.write_at(offset, b"".join(pieces))

    def truncate(self, size: int) -> None:
        """See `File`."""
        self._disk.require(self._life)
        self._content.change(size, None)

    async def sync(self) -> None:
        """See `File`."""
        self._disk.require(self._life)
        captured = self._content.written_count()
        await self._disk.wait_for_device(self._life)
        self._content.store(captured)

    def close(self) -> None:
        """See `File`."""
        self._life = -1


class SimIndexBuffer:
    """Implements `IndexBuffer`."""

    def __init__(self, disk: SimDisk, path: str, content: _Content) -> None:
        self.path = path
        self.view = memoryview(content.written)
        self._disk = disk
        self._content = content
        self._life = disk.life
        content.is_mapped = True

    async def sync(self) -> None:
        """See `IndexBuffer`."""
        self._disk.require(self._life)
        captured = self._content.written_count()
        await self._disk.wait_for_device(self._life)
        self._content.store(captured)
        self._content.store_pages(self._content.pages())

    def close(self, *, trim_to: int | None = None) -> None:
        """See `IndexBuffer`."""
        self.view.release()
        if self._life == self._disk.life and trim_to is not None:
            self._content.change(trim_to, None)
        self._life = -1


def _parent(path: str) -> str:
    return path.rsplit("/", 1)[0] or "/"


def _rename(names: dict[str, _Content], changes: _Names) -> None:
    for path, content in changes.items():
        if content is None:
            names.pop(path, None)
        else:
            names[path] = content


def _apply(target: bytearray, offset: int, data: bytes | None) -> None:
    target.extend(bytes(max(0, offset - len(target))))
    if data is None:
        del target[offset:]
    else:
        target[offset : offset + len(data)] = data
