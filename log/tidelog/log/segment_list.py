"""The segments of one log, oldest first, and changes of their files.

Owns their order: consecutive without a gap, the last one active. A segment leaves the log by a
rename to `.deleted`; its files are removed later. Does not decide which segments to delete.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from copy import copy

from tidelog.core.env import Disk
from tidelog.core.errors import invariant
from tidelog.log.config import LogConfig
from tidelog.log.file_names import SEGMENT_KINDS, SWAP, file_name, offsets_in
from tidelog.log.retention import SegmentFacts
from tidelog.log.segment import Segment
from tidelog.log.segment_walk import Place, RunAt
from tidelog.log.transactions import CompletedTransaction


class SegmentList:
    """Segments of a log, at least one. Raises `StorageError` where the disk refuses."""

    def __init__(
        self, disk: Disk, directory: str, *, segments: Sequence[Segment], run_at: RunAt
    ) -> None:
        self.all = tuple(segments)
        self.has_new_names = True
        """True: a file was created or renamed, maybe by the opening, since the last folder sync."""
        self._disk = disk
        self._directory = directory
        self._run_at = run_at
        self._retired: list[tuple[int, str]] = []
        self._checked_to = 0
        self._undated: dict[int, tuple[int, int]] = {}
        """Size and time of the first look at it, by base offset, of segments without timestamps."""

    @property
    def active(self) -> Segment:
        """Segment that appends go to."""
        return self.all[-1]

    @property
    def size_in_bytes(self) -> int:
        """Size of all segments' logs, without indexes."""
        return sum(segment.size for segment in self.all)

    def facts(self, now_ms: int) -> list[SegmentFacts]:
        """Facts about each segment for retention.

        One whose records have no timestamps is as new as this first sees it at its size.
        """
        facts, undated = [], {}
        for one in self.all:
            newest_ms = one.max_timestamp
            if newest_ms < 0 and one.size:
                known_size, newest_ms = self._undated.get(one.base_offset, (-1, now_ms))
                newest_ms = newest_ms if known_size == one.size else now_ms
                undated[one.base_offset] = one.size, newest_ms
            facts.append(SegmentFacts(one.next_offset, one.size, newest_ms))
        self._undated = undated
        return facts

    def holding(self, offset: int) -> Segment:
        """Segment that holds `offset`; the first one when `offset` is lower than all."""
        if offset >= self.all[-1].base_offset:  # the common case
            return self.all[-1]
        place = bisect_right(self.all, offset, key=lambda segment: segment.base_offset) - 1
        return self.all[max(place, 0)]

    def aborted(self, offset: int, upper_bound: int) -> list[tuple[int, int]]:
        """Producer id and first offset of each aborted transaction in a range, by first offset."""
        found: list[tuple[int, int]] = []
        for segment in self.all[self.all.index(self.holding(offset)) :]:
            entries, is_last = segment.aborted.find(offset, upper_bound)
            found += [(entry.first_offset, entry.producer_id) for entry in entries]
            if is_last:
                break
        return [(producer_id, first_offset) for first_offset, producer_id in sorted(found)]

    def check_next(self, below: int, *, max_bytes: int) -> int:
        """Verify the next stretch of batches that begin below an offset; return its bytes.

        Returns 0 at the end of a round. Raises `DamagedLogError` at an invalid batch.
        """
        offset = max(self._checked_to, self.all[0].base_offset)
        if offset >= below:
            self._checked_to = 0
            return 0
        segment = self.holding(offset)
        start = segment.place_of(offset)
        end = segment.check(start, max_bytes=max_bytes)
        self._checked_to = end.base_offset
        return end.position - start.position

    def roll(self, config: LogConfig) -> None:
        """Seal the active segment and create a new one."""
        self.active.seal()
        self.all = (*self.all, self._new(self.active.next_offset, config))

    def note_aborted(self, transactions: Sequence[CompletedTransaction]) -> None:
        """Enter aborted transactions in the active segment's index, before their markers are."""
        if transactions:
            self.has_new_names = self.has_new_names or self.active.aborted.is_empty
            self.active.aborted.append(transactions)

    def retire_first(self, count: int, *, now_ms: int) -> int:
        """Remove the oldest segments from the log; return their bytes."""
        invariant(count < len(self.all), count, len(self.all))
        gone, self.all = self.all[:count], self.all[count:]
        self._retire(gone, now_ms)
        return sum(segment.size for segment in gone)

    def cut_offset(self, offset: int) -> int:
        """Log end offset after every batch with `offset` or a later one is dropped.

        Below the first segment there is no batch to look up: everything is dropped.
        """
        if offset < self.all[0].base_offset:
            return offset
        if offset >= self.active.next_offset:
            return self.active.next_offset
        return self.holding(offset).place_of(offset).base_offset

    def end_place(self, end_offset: int) -> Place:
        """End of the segment that will be the last one after `cut`."""
        return self.all[self._count_below(end_offset) - 1].place_of(end_offset)

    def cut(self, end_offset: int, place: Place) -> None:
        """Drop every batch that holds `end_offset` or a later one, and unopened files above it.

        `place` is the result of `end_place`.
        """
        count = self._count_below(end_offset)
        for segment in reversed(self.all[count:]):
            segment.delete()
            self.all = self.all[:-1]
        self.active.truncate_to(place)
        # A copy, so that the cleaner sees another segment: refilled, it may end where the old one
        # did.
        self.all = (*self.all[:-1], copy(self.active))
        self._remove_above(self.active.base_offset)

    def restart_at(self, base_offset: int, config: LogConfig) -> None:
        """Drop everything and create an empty segment."""
        for segment in self.all:
            segment.delete()
        self._remove_above(-1)
        self.all = (self._new(base_offset, config),)

    def new_segment(self, base_offset: int, config: LogConfig, *, suffix: str = "") -> Segment:
        """Create an empty segment outside the log: a future or a compacted one."""
        for kind in SEGMENT_KINDS:
            self._disk.remove(f"{self._directory}/{file_name(base_offset, kind, suffix)}")
        return Segment(
            self._disk,
            self._directory,
            base_offset=base_offset,
            config=config,
            run_at=self._run_at,
            suffix=suffix,
        )

    def is_replaceable(self, old: Sequence[Segment], cleaned: Segment) -> bool:
        """True when `old` are sealed segments here and `cleaned` covers exactly their offsets."""
        if not old or old[0] not in self.all:
            return False
        place = self.all.index(old[0])
        return (
            self.all[place : place + len(old)] == tuple(old)
            and old[-1] is not self.active
            and cleaned.base_offset == old[0].base_offset
            and cleaned.next_offset == old[-1].next_offset
        )

    async def replace(self, old: Sequence[Segment], cleaned: Segment, *, now_ms: int) -> None:
        """Replace `old` by a compacted segment; a crash leaves either it or them.

        The rename to `.swap` decides: from then on a start completes the replacement.
        """
        cleaned.seal()
        await cleaned.sync()
        cleaned.rename(suffix=SWAP)
        await self._disk.sync_directory(self._directory)
        place = self.all.index(old[0])
        self.all = (*self.all[:place], cleaned, *self.all[place + len(old) :])
        self._retire(old, now_ms)
        # Renames are not ordered: old segments must not come back once no `.swap` names their
        # range.
        await self._disk.sync_directory(self._directory)
        cleaned.rename(suffix="")
        await self._disk.sync_directory(self._directory)

    @property
    def has_retired(self) -> bool:
        """True while files of segments that left the log still exist."""
        return bool(self._retired)

    async def remove_retired(self, *, before_ms: int) -> int:
        """Remove files of segments that left the log before that time; return how many files."""
        due = [path for since_ms, path in self._retired if since_ms < before_ms]
        for path in due:
            await self._disk.discard(path)
        self._retired = [entry for entry in self._retired if entry[0] >= before_ms]
        return len(due)

    async def sync_names(self) -> None:
        """Make new file names durable, so that they survive a power loss."""
        if not self.has_new_names:
            return
        self.has_new_names = False  # whatever comes meanwhile sets it again
        try:
            await self._disk.sync_directory(self._directory)
        except BaseException:
            self.has_new_names = True
            raise

    def close(self) -> None:
        """Close all files; nothing is synced."""
        for segment in self.all:
            segment.close()

    def _count_below(self, end_offset: int) -> int:
        """Number of segments that begin below `end_offset`; at least the first one stays."""
        return max(1, bisect_left(self.all, end_offset, key=lambda one: one.base_offset))

    def _new(self, base_offset: int, config: LogConfig) -> Segment:
        self.has_new_names = True
        return self.new_segment(base_offset, config)

    def _retire(self, segments: Sequence[Segment], now_ms: int) -> None:
        self.has_new_names = True
        for segment in segments:
            self._retired += [(now_ms, path) for path in segment.retire()]

    def _remove_above(self, base_offset: int) -> None:
        """Remove files of a damaged log that were not opened."""
        names = self._disk.list(self._directory)
        for kind in SEGMENT_KINDS:
            for offset in offsets_in(names, kind):
                if offset > base_offset:
                    self._disk.remove(f"{self._directory}/{file_name(offset, kind)}")
