"""Transaction index of a segment: the aborted transactions whose markers it holds, as in Kafka.

    .txnindex   version i16 = 0 | producer id i64 | first offset i64 | last offset i64
                | last stable offset i64, for each abort marker, in their order

All entries are in memory, too, 34 bytes each, and never read from the file again: a flipped bit
there is found at the next start, by the seal in the checkpoint, and the index is rebuilt from the
batches. A segment without aborted transactions has no file. Facts: Kafka's TransactionIndex and
AbortedTxn.

Entries are in the order of their markers, not of their first offsets: a transaction may have been
open beside all others. So a look-up passes over blocks of entries by their lowest first offset.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable

from crc32c import crc32c

from tidelog.core.env import Disk
from tidelog.log.transactions import CompletedTransaction

ABORTED_ENTRY = struct.Struct(">hqqqq")
_FIRST_OFFSET = struct.Struct(">10xq16x")
"""First offset of an entry."""
_BLOCK = 128
"""Entries of a block."""
_VERSION = 0
_MAX_BYTES = 1 << 30


class AbortedIndex:
    """Index of one segment. Raises `StorageError` where the disk refuses."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.path = path
        self.is_unsynced = False
        """True: the file may not be on stable storage as it is here."""
        self._disk = disk
        self._loaded: bytearray | None = None
        self._crc: int | None = None  # of all entries, once it was asked for
        self._lowest: list[int] = []
        """Lowest first offset of each whole block; of a file that was read, once they are asked."""

    @property
    def seal(self) -> tuple[int, int]:
        """Size in bytes and CRC-32C of all entries."""
        data = self._data
        if self._crc is None:
            self._crc = crc32c(bytes(data))
        return len(data), self._crc

    @property
    def is_empty(self) -> bool:
        """True when no transaction was aborted in this segment."""
        return not self._data

    def load(self) -> None:
        """Read the file; call this before anything else when it may exist."""
        self._clear()
        if self._disk.exists(self.path):
            file = self._disk.open(self.path)
            try:
                self._data[:] = file.read_at(0, _MAX_BYTES)
            finally:
                file.close()

    def entries(self, begin: int = 0, end: int | None = None) -> list[CompletedTransaction]:
        """The aborted transactions from slot `begin` to slot `end`, by marker."""
        return [self._at(slot) for slot in range(self._count)[begin:end]]

    def find(self, offset: int, upper_bound: int) -> tuple[list[CompletedTransaction], bool]:
        """Find the aborted transactions with offsets from `offset` to `upper_bound`, exclusive.

        True with them: no later segment has another.
        """
        count, start = self._count, self._slot_from(offset)
        found: list[CompletedTransaction] = []
        for block in self._blocks_below(upper_bound, start // _BLOCK):
            slots = range(max(start, block * _BLOCK), min(count, (block + 1) * _BLOCK))
            found += [one for one in map(self._at, slots) if one.first_offset < upper_bound]
        # The last stable offset never falls from one marker to the next.
        return found, start < count and self._at(count - 1).last_stable_offset >= upper_bound

    def _blocks_below(self, upper_bound: int, first: int) -> list[int]:
        """Blocks from `first` on with an entry that begins below `upper_bound`."""
        self._note_blocks()
        found = [n for n, low in enumerate(self._lowest[first:], first) if low < upper_bound]
        rest = len(self._lowest)
        if self._count > rest * _BLOCK and self._lowest_of(rest) < upper_bound:
            found.append(rest)
        return found

    def _note_blocks(self) -> None:
        """Look at the blocks that have become whole."""
        for block in range(len(self._lowest), self._count // _BLOCK):
            self._lowest.append(self._lowest_of(block))

    def _lowest_of(self, block: int) -> int:
        size = _BLOCK * ABORTED_ENTRY.size
        entries = self._data[block * size : (block + 1) * size]
        lowest: int = min(first for (first,) in _FIRST_OFFSET.iter_unpack(entries))
        return lowest

    def append(self, entries: Iterable[CompletedTransaction]) -> None:
        """Add entries, all or none, before their markers are appended."""
        added = b"".join(ABORTED_ENTRY.pack(_VERSION, *entry[:4]) for entry in entries)
        if not added:
            return
        data = self._data
        self.is_unsynced = True
        file = self._disk.open(self.path, create=True)
        try:
            file.write_at(len(data), added)
        finally:
            file.close()
        data += added
        self._note_blocks()
        if self._crc is not None:
            self._crc = crc32c(added, self._crc)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of markers at or above `offset`."""
        size = self._slot_from(offset) * ABORTED_ENTRY.size
        if size == len(self._data):
            return
        del self._data[size:]
        del self._lowest[self._count // _BLOCK :]
        self._crc = None
        self.is_unsynced = True
        file = self._disk.open(self.path)
        try:
            file.truncate(size)
        finally:
            file.close()

    def replace(self, entries: Iterable[CompletedTransaction]) -> None:
        """Drop all entries, damaged ones included, and add these."""
        self._clear()
        self._disk.remove(self.path)
        self.append(entries)

    def rename(self, path: str) -> None:
        """Rename the file, if there is one."""
        if self._disk.exists(self.path):
            self._disk.rename(self.path, path)
        self.path = path

    async def sync(self) -> None:
        """Flush the entries to stable storage, if needed."""
        if not self.is_unsynced:
            return
        self.is_unsynced = False  # whatever comes meanwhile sets it again
        if not self._disk.exists(self.path):
            return
        file = self._disk.open(self.path)
        try:
            await file.sync()
        except BaseException:
            self.is_unsynced = True
            raise
        finally:
            file.close()

    def remove(self) -> None:
        """Remove the file."""
        self._disk.remove(self.path)

    def _clear(self) -> None:
        self._loaded, self._crc = bytearray(), None
        self._lowest.clear()

    @property
    def _data(self) -> bytearray:
        if self._loaded is None:
            self.load()
            assert self._loaded is not None  # `load` sets it
        return self._loaded

    @property
    def _count(self) -> int:
        return len(self._data) // ABORTED_ENTRY.size

    def _at(self, slot: int) -> CompletedTransaction:
        at = slot * ABORTED_ENTRY.size
        _, producer_id, first, last, stable = ABORTED_ENTRY.unpack_from(self._data, at)
        return CompletedTransaction(producer_id, first, last, stable, is_commit=False)

    def _slot_from(self, offset: int) -> int:
        """First slot with a marker at or above `offset`."""
        return bisect_left(range(self._count), offset, key=lambda slot: self._at(slot).last_offset)
