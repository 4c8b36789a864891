"""The sparse offset index of one segment: 4-byte relative offset, 4-byte position, both growing.

An entry names the base offset of a batch and where that batch begins; the first batch has none. The
index is a hint that is rebuilt from the log whenever it is missing: whoever uses an entry compares
it with the batch it points at. Never looks into the log itself.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from tidelog.log.env import Disk

_ENTRY = struct.Struct(">II")
ENTRY_BYTES = _ENTRY.size
_FIRST_CAPACITY_BYTES = 4096


class IndexEntry(NamedTuple):
    """A batch by its base offset and its position in the segment file."""

    offset: int
    position: int


class OffsetIndex:
    """Entries in a mapped file that doubles as it fills, up to `max_bytes`."""

    def __init__(self, disk: Disk, path: str, *, base_offset: int, max_bytes: int) -> None:
        self.path = path
        self._disk = disk
        self._base_offset = base_offset
        self._max_bytes = max_bytes
        capacity = min(_FIRST_CAPACITY_BYTES, max_bytes)
        self._buffer = disk.open_index(path, capacity_bytes=capacity)
        # Positions grow and the rest is zeros, so the first zero position ends the entries.
        slots = range(len(self._buffer.view) // ENTRY_BYTES)
        self._count = bisect_left(slots, True, key=lambda slot: self._at(slot).position == 0)

    @property
    def count(self) -> int:
        """How many entries there are."""
        return self._count

    @property
    def is_full(self) -> bool:
        """Whether `max_bytes` leaves no room for an entry."""
        return (self._count + 1) * ENTRY_BYTES > self._max_bytes

    def append(self, entry: IndexEntry) -> None:
        """Add an entry above all others; a full index lets it go."""
        if self.is_full:
            return
        if (self._count + 1) * ENTRY_BYTES > len(self._buffer.view):
            self._grow()
        relative = entry.offset - self._base_offset
        _ENTRY.pack_into(self._buffer.view, self._count * ENTRY_BYTES, relative, entry.position)
        self._count += 1

    def last(self) -> IndexEntry:
        """The newest entry, or the segment's beginning."""
        return self._entry(self._count)

    def floor_offset(self, offset: int) -> IndexEntry:
        """The last entry whose offset is ≤ `offset`, or the segment's beginning."""
        return self._entry(
            bisect_right(range(self._count), offset, key=lambda slot: self._at(slot).offset)
        )

    def floor_position(self, position: int) -> IndexEntry:
        """The last entry whose position is ≤ `position`, or the segment's beginning."""
        return self._entry(
            bisect_right(range(self._count), position, key=lambda slot: self._at(slot).position)
        )

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        kept = bisect_left(range(self._count), offset, key=lambda slot: self._at(slot).offset)
        self._buffer.view[kept * ENTRY_BYTES : self._count * ENTRY_BYTES] = bytes(
            (self._count - kept) * ENTRY_BYTES
        )
        self._count = kept

    def clear(self) -> None:
        """Drop everything, damaged entries too."""
        self._buffer.view[:] = bytes(len(self._buffer.view))
        self._count = 0

    async def sync(self) -> None:
        """Bring the entries to stable storage."""
        await self._buffer.sync()

    def close(self) -> None:
        """Cut the file to its entries and close it."""
        self._buffer.close(trim_to=self._count * ENTRY_BYTES)

    def _grow(self) -> None:
        capacity = min(2 * len(self._buffer.view), self._max_bytes)
        self._buffer.close()
        self._buffer = self._disk.open_index(self.path, capacity_bytes=capacity)

    def _entry(self, count: int) -> IndexEntry:
        return self._at(count - 1) if count else IndexEntry(self._base_offset, 0)

    def _at(self, slot: int) -> IndexEntry:
        relative, position = _ENTRY.unpack_from(self._buffer.view, slot * ENTRY_BYTES)
        return IndexEntry(self._base_offset + relative, position)
