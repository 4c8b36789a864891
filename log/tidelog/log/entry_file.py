"""A memory-mapped file of fixed-size entries, used by both indexes of a segment.

While it is written to, the file doubles when full, with preallocated blocks; `seal` truncates it to
its entries and unmaps it, and later look-ups map it again. An entry of zeros ends the file. Never
interprets the entries.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right

from tidelog.core.env import Disk, IndexBuffer

_FIRST_SLOTS = 512


class EntryFile:
    """Entries by slot, 0 up to `count`. Raises `StorageError` where the disk refuses."""

    def __init__(self, disk: Disk, path: str, *, layout: struct.Struct, max_bytes: int) -> None:
        self.path = path
        self._disk = disk
        self._layout = layout
        self._zero = bytes(layout.size)
        self._slots_max = max_bytes // layout.size
        self._buffer: IndexBuffer | None = None
        self._mapped_slots = 0
        """Number of entries that fit into the mapping."""
        self._count: int | None = None

    @property
    def count(self) -> int:
        """Number of entries."""
        if self._count is None:
            view = self._view()
            size = self._layout.size
            slots = range(len(view) // size)
            self._count = bisect_left(
                slots, True, key=lambda slot: view[slot * size : (slot + 1) * size] == self._zero
            )
        return self._count

    @property
    def is_full(self) -> bool:
        """True when `max_bytes` leaves no space for another entry."""
        return self.count >= self._slots_max

    def reserve(self) -> None:
        """Make room for one more entry, unless full: the next `append` cannot fail then."""
        count = self.count
        if self._mapped_slots <= count < self._slots_max:
            self._unmap()
            self._map(min(max(2 * (count + 1), _FIRST_SLOTS), self._slots_max) * self._layout.size)

    def append(self, *fields: int) -> None:
        """Add an entry; ignored when the file is full."""
        count = self.count
        if count >= self._mapped_slots:
            self.reserve()
        if count < self._slots_max:
            self._layout.pack_into(self._view(), count * self._layout.size, *fields)
            self._count = count + 1

    def at(self, slot: int) -> tuple[int, ...]:
        """Fields of the entry in `slot`."""
        return self._layout.unpack_from(self._view(), slot * self._layout.size)

    def slot_above(self, value: int, *, field: int = 0) -> int:
        """First slot whose `field`, ascending from slot to slot, is above `value`; else count."""
        view, size, unpack_from = self._view(), self._layout.size, self._layout.unpack_from
        return bisect_right(
            range(self.count), value, key=lambda slot: unpack_from(view, slot * size)[field]
        )

    def truncate(self, count: int) -> None:
        """Keep the first `count` entries."""
        size = self._layout.size
        if count < self.count:
            self._view()[count * size : self.count * size] = bytes((self.count - count) * size)
            self._count = count

    def clear(self) -> None:
        """Drop all entries, damaged ones included."""
        view = self._view()
        if view:
            view[:] = bytes(len(view))
        self._count = 0

    def seal(self) -> None:
        """Truncate the file to its entries and unmap it."""
        used_bytes = self.count * self._layout.size
        if self._buffer is not None:
            self._buffer.close(trim_to=used_bytes)
            self._buffer, self._mapped_slots = None, 0

    def rename(self, path: str) -> None:
        """Rename the file, if it exists; seals it."""
        self.seal()
        if self._disk.exists(self.path):
            self._disk.rename(self.path, path)
        self.path = path

    async def sync(self) -> None:
        """Flush the entries to stable storage."""
        if self._buffer is not None:
            await self._buffer.sync()
        elif self._disk.exists(self.path):
            file = self._disk.open(self.path)
            try:
                await file.sync()
            finally:
                file.close()

    def remove(self) -> None:
        """Unmap and remove the file."""
        self._unmap()
        self._disk.remove(self.path)

    def _unmap(self) -> None:
        if self._buffer is not None:
            self._buffer.close()
            self._buffer, self._mapped_slots = None, 0

    def _map(self, capacity_bytes: int) -> IndexBuffer:
        self._buffer = self._disk.open_index(self.path, capacity_bytes=capacity_bytes)
        self._mapped_slots = len(self._buffer.view) // self._layout.size
        return self._buffer

    def _view(self) -> memoryview:
        """The mapping; empty while the file is empty or missing."""
        if self._buffer is not None:
            return self._buffer.view
        size_bytes = self._disk.size(self.path)
        return self._map(size_bytes).view if size_bytes else memoryview(b"")
