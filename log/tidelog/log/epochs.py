"""Leader epochs of a log with their start offsets (KIP-101, KIP-279). Pure: stores nothing.

Entries increase strictly in both epoch and start offset. An epoch may have no records yet: a new
leader assigns its epoch at its log end.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from tidelog.core.errors import EpochContradictionError

NO_EPOCH = -1
NO_END = 2**63 - 1


class EpochEntry(NamedTuple):
    """First offset written in `epoch`."""

    epoch: int
    start_offset: int


class EpochCache:
    """Leader epoch cache: the entries of one log, oldest first."""

    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._entries: list[EpochEntry] = []
        for entry in entries:
            self.assign(entry.epoch, entry.start_offset)

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        """Entries, oldest first."""
        return tuple(self._entries)

    @property
    def latest_epoch(self) -> int:
        """Newest epoch, or -1."""
        return self._entries[-1].epoch if self._entries else NO_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """Assign the records from `start_offset` on to `epoch`.

        Entries at or above `start_offset` have no records and are removed. Raises
        `EpochContradictionError` when records of a newer epoch lie below: epochs never decrease
        along a log.
        """
        if self.latest_epoch == epoch and self._entries[-1].start_offset <= start_offset:
            return
        kept = [entry for entry in self._entries if entry.start_offset < start_offset]
        latest = kept[-1].epoch if kept else NO_EPOCH
        if epoch < max(latest, 0):
            newer = [entry.start_offset for entry in kept if entry.epoch > epoch]
            raise EpochContradictionError(
                f"leader epoch {epoch} at offset {start_offset} comes after epoch {latest}",
                first_bad_offset=min(newer, default=start_offset),
            )
        if epoch > latest:
            kept.append(EpochEntry(epoch, start_offset))
        self._entries = kept

    def end_offset_for(self, epoch: int, *, log_end_offset: int) -> tuple[int, int]:
        """Find the largest epoch ≤ `epoch` and the offset after its last record (KIP-279).

        Returns (`epoch`, start of the oldest epoch) when all are newer: the records of that epoch
        are deleted, and its reader continues there. Returns (-1, log end) when the cache is empty.
        """
        if not self._entries:
            return NO_EPOCH, log_end_offset
        if epoch >= self._entries[-1].epoch:  # the common case
            return self._entries[-1].epoch, log_end_offset
        above = bisect_right(self._entries, epoch, key=lambda entry: entry.epoch)
        found = self._entries[above - 1].epoch if above else epoch
        newer = self._entries[above : above + 1]
        return found, newer[0].start_offset if newer else log_end_offset

    def run_at(self, offset: int) -> tuple[int, int]:
        """Epoch of the record at `offset`, and the offset where a newer one begins.

        (-1, start of the oldest epoch) when all begin later.
        """
        if self._entries and offset >= self._entries[-1].start_offset:  # the common case
            return self._entries[-1].epoch, NO_END
        above = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset)
        epoch = self._entries[above - 1].epoch if above else NO_EPOCH
        return epoch, self._entries[above].start_offset if above < len(self._entries) else NO_END

    def truncate_from_start(self, start_offset: int) -> None:
        """Drop the epochs that end at or before `start_offset`: their records are deleted."""
        epoch, _ = self.run_at(start_offset)
        newer = [entry for entry in self._entries if entry.start_offset > start_offset]
        covering = [EpochEntry(epoch, start_offset)] if epoch != NO_EPOCH else []
        self._entries = covering + newer

    def truncate_from_end(self, end_offset: int) -> None:
        """Drop the epochs that begin at or after `end_offset`."""
        self._entries = [entry for entry in self._entries if entry.start_offset < end_offset]
