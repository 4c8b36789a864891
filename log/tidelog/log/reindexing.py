"""A rebuild of a segment's indexes, in slices, beside its look-ups and appends.

The indexes are cleared first, and filled from the first batch on; who looks up something meanwhile
waits for the end, as for bytes that are not in memory (decision 0027). Owns how far it has come.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from tidelog.core.errors import StorageError
from tidelog.core.memory_reads import Loaded, MemoryDisk, NotInMemoryError, reading
from tidelog.log.index import IndexEntry, OffsetIndex, TimeEntry, TimeIndex
from tidelog.records.batch import BatchHeader


class Reindexing:
    """Progress: the batches below `position` and `next_offset` are in the indexes."""

    def __init__(self, offsets: OffsetIndex, times: TimeIndex, *, newest: TimeEntry) -> None:
        """`newest`: that of an empty segment."""
        offsets.file.clear()
        times.file.clear()
        self._offsets = offsets
        self._times = times
        self.position = 0
        self.next_offset = newest.offset
        self.newest = newest
        self.indexed_position = 0
        self.error: StorageError | None = None
        """Error of the last slice, raised to one of those who wait."""

    def note(self, header: BatchHeader, *, interval_bytes: int) -> None:
        """Index the next batch, as an append of it did."""
        if header.max_timestamp > self.newest.timestamp and header.records_count:
            self.newest = TimeEntry(header.max_timestamp, header.last_offset)
        if self.position - self.indexed_position > interval_bytes:
            self._offsets.append(IndexEntry(header.last_offset, self.position))
            self._times.append(self.newest)
            self.indexed_position = self.position
        self.position += header.size_in_bytes
        self.next_offset = header.next_offset


class Reindexed(Protocol):
    """A segment whose indexes are rebuilt."""

    def reindex_more(self) -> bool:
        """Rebuild a slice; True at the end. Raises `StorageError`, `NotInMemoryError`.

        At damage the rebuild ends: the indexes have what lies before it.
        """

    def note_reindex_error(self, error: StorageError) -> None:
        """Have the next look-up raise an error of the rebuild."""


class NotIndexedError(NotInMemoryError):
    """The indexes are being rebuilt: await `load`, then repeat all of the work."""

    def __init__(self, segment: Reindexed, disk: MemoryDisk) -> None:
        Exception.__init__(self, "the indexes of the segment are being rebuilt")
        self._segment = segment
        self._disk = disk

    async def load(self, loaded: Loaded) -> None:
        """Rebuild them to the end, others on the loop in between. Never raises disk errors."""
        del loaded
        try:
            while not await reading(self._disk, self._segment.reindex_more):  # noqa: ASYNC110
                await asyncio.sleep(0)
        except StorageError as error:
            self._segment.note_reindex_error(error)
