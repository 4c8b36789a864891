"""The two sparse indexes of a segment, in Kafka's files and format.

    .index      relative offset u32, position u32     a batch by its last offset and where it begins
    .timeindex  timestamp i64, relative offset u32    no record up to that offset is newer

Both increase in every field. They are hints: the segment compares each entry it uses with the batch
it points at, and rebuilds both indexes from the log when they differ. Never reads the log itself.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from tidelog.core.env import Disk
from tidelog.log.entry_file import EntryFile

OFFSET_ENTRY = struct.Struct(">II")
TIME_ENTRY = struct.Struct(">qI")


class IndexEntry(NamedTuple):
    """A batch: its last offset and its position in the segment file."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """A timestamp, ms since the Unix epoch, and the last offset of the first batch with it."""

    timestamp: int
    offset: int


class OffsetIndex:
    """Index from offsets to positions; the first batch of a segment has no entry."""

    def __init__(self, disk: Disk, path: str, *, base_offset: int, max_bytes: int) -> None:
        self.file = EntryFile(disk, path, layout=OFFSET_ENTRY, max_bytes=max_bytes)
        self._base_offset = base_offset

    def append(self, entry: IndexEntry) -> None:
        """Add an entry above all others; ignored when the index is full."""
        self.file.append(entry.offset - self._base_offset, entry.position)

    def last(self) -> IndexEntry | None:
        """Newest entry."""
        return self._before(self.file.count)

    def floor(self, offset: int) -> IndexEntry | None:
        """Last entry whose offset is ≤ `offset`."""
        return self._before(self.file.slot_above(offset - self._base_offset))

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        self.file.truncate(self.file.slot_above(offset - 1 - self._base_offset))

    def _before(self, slot: int) -> IndexEntry | None:
        if not slot:
            return None
        relative, position = self.file.at(slot - 1)
        return IndexEntry(self._base_offset + relative, position)


class TimeIndex:
    """Index from timestamps to offsets (KIP-33)."""

    def __init__(self, disk: Disk, path: str, *, base_offset: int, max_bytes: int) -> None:
        self.file = EntryFile(disk, path, layout=TIME_ENTRY, max_bytes=max_bytes)
        self._base_offset = base_offset
        self._known: tuple[int, int] = (0, 0)
        """Number of entries at the last check, and the timestamp of the newest one then."""

    def append(self, entry: TimeEntry) -> None:
        """Add an entry if it is newer than all others; ignored when the index is full."""
        if self.file.count != self._known[0]:
            self._note_newest()
        if entry.timestamp > self._known[1]:
            self.file.append(entry.timestamp, entry.offset - self._base_offset)
            self._known = (self.file.count, entry.timestamp)

    def last(self) -> TimeEntry | None:
        """Newest entry."""
        return self._before(self.file.count)

    def floor(self, timestamp: int) -> TimeEntry | None:
        """Last entry that is not newer than `timestamp`."""
        return self._before(self.file.slot_above(timestamp))

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at or above `offset`."""
        self.file.truncate(self.file.slot_above(offset - 1 - self._base_offset, field=1))

    def _note_newest(self) -> None:
        last = self.last()
        self._known = (self.file.count, last.timestamp if last else 0)

    def _before(self, slot: int) -> TimeEntry | None:
        if not slot:
            return None
        timestamp, relative = self.file.at(slot - 1)
        return TimeEntry(timestamp, self._base_offset + relative)
