"""Recovery of a log from its files at start.

Accepts segments covered by a clean shutdown as they are, checks the ends of those below the
recovery point, and walks the others: above the recovery point it keeps the longest valid prefix and
cuts the rest; below it nothing may be missing, and a missing or changed batch makes the log damaged
from there. Without a power loss nothing may be missing above it either, except the end of a last
write that a kill cut short. Indexes and producer state are rebuilt where they do not fit. Never
raises because of file contents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from tidelog.core.env import Disk, write_atomically
from tidelog.core.errors import (
    CorruptMessageError,
    DamagedLogError,
    UnsupportedCompressionTypeError,
)
from tidelog.core.memory_reads import reading
from tidelog.log import producer_replay
from tidelog.log.checkpoints import LOSSY_FILE, Checkpoint, CleanMarker
from tidelog.log.config import LogConfig
from tidelog.log.epochs import NO_END, NO_EPOCH, EpochCache
from tidelog.log.file_names import (
    CLEANED,
    DELETED,
    INDEX,
    LOG,
    SEGMENT_KINDS,
    SWAP,
    TEMPORARY,
    TIME_INDEX,
    file_name,
    offsets_in,
)
from tidelog.log.producers import ProducerStates
from tidelog.log.segment import Segment
from tidelog.log.snapshot_files import SnapshotFiles
from tidelog.log.torn_write import is_cut_short
from tidelog.records.batch import CONTROL_FLAG, BatchHeader, check_crc, parse_header

_CHUNK_BYTES = 256 << 10
"""Chunk size of a scan; the smallest batches in one chunk take some 20 ms."""
_NO_ABORTED = (0, 0)
"""Seal of an empty transaction index."""
T = TypeVar("T")


class Damage(NamedTuple):
    """Stored and synced bytes that are missing or changed."""

    first_bad_offset: int
    reason: str

    def error(self, directory: str) -> DamagedLogError:
        """Error for every caller that needs the log."""
        return DamagedLogError(
            f"the log in {directory} is damaged from offset {self.first_bad_offset} on and is "
            f"not served: {self.reason}",
            first_bad_offset=self.first_bad_offset,
        )


@dataclass(slots=True)
class Recovered:
    """Segments, at least one, up to the log's end or its damage; and statistics of the recovery."""

    segments: list[Segment]
    epochs: EpochCache
    producers: ProducerStates
    snapshots: SnapshotFiles
    log_start_offset: int
    is_clean: bool
    damage: Damage | None = None
    scanned_bytes: int = 0
    truncated_bytes: int = 0
    removed_segments: int = 0
    may_have_lost: bool = False
    """True when recovery cut off possibly flushed batches, which is unreported."""

    @property
    def log_end_offset(self) -> int:
        """Offset after the last valid batch."""
        return self.segments[-1].next_offset


async def recover(
    *,
    disk: Disk,
    directory: str,
    config: LogConfig,
    checkpoint: Checkpoint | None,
    clean_marker: CleanMarker | None,
    page_cache_survived: bool,
    now_ms: int,
) -> Recovered:
    """Open the segments in `directory`, creating the first one when there is none.

    `page_cache_survived`: everything written since the previous recovery is there, synced or not.
    Raises only `StorageError`, when the disk refuses.
    """
    recovery = _Recovery(
        disk,
        directory,
        config,
        checkpoint,
        clean_marker,
        now_ms,
        page_cache_survived=page_cache_survived,
    )
    await recovery.finish_swaps()
    await recovery.take_segments()
    return await recovery.finish()


class _Recovery:
    def __init__(
        self,
        disk: Disk,
        directory: str,
        config: LogConfig,
        checkpoint: Checkpoint | None,
        clean_marker: CleanMarker | None,
        now_ms: int,
        *,
        page_cache_survived: bool,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._config = config
        self._marker = clean_marker if checkpoint else None
        self._now_ms = now_ms
        known = checkpoint or Checkpoint(b"", 0, 0, 0, 0, ())
        marked_end = clean_marker.log_end_offset if clean_marker else 0
        self._flushed = max(known.recovery_point, marked_end)
        self._known = known
        self._known_epochs = EpochCache(known.epochs)
        self._has_checkpoint = checkpoint is not None
        self._is_power_kept = page_cache_survived
        self._is_cut = False
        self._is_begun = False
        self._names = disk.list(directory)
        self._replayed_to = 0
        self._stale: list[Segment] = []
        """Segments whose transaction index is to be rebuilt."""
        self._found = Recovered(
            segments=[],
            epochs=EpochCache(known.epochs),
            producers=ProducerStates(high_watermark=known.high_watermark),
            snapshots=SnapshotFiles(
                disk,
                directory,
                names=self._names,
                stored_below=known.recovery_point if self._marker is None else NO_END,
            ),
            log_start_offset=known.log_start_offset,
            is_clean=self._marker is not None,
            may_have_lost=LOSSY_FILE in self._names,
        )

    # Leftovers

    async def finish_swaps(self) -> None:
        """Complete the compactions already decided, discard all others."""
        swaps = offsets_in(self._names, LOG, SWAP)
        for base_offset in swaps:
            await self._finish_swap(base_offset, offsets_in(self._names, LOG))
        if swaps:
            self._names = self._disk.list(self._directory)
        for name in self._names:
            if name.endswith((CLEANED, SWAP, DELETED, TEMPORARY)):
                self._disk.remove(f"{self._directory}/{name}")
        self._remove_strays()

    def _remove_strays(self) -> None:
        """Remove indexes whose log is gone: a power loss undid part of a removal."""
        logs = offsets_in(self._names, LOG)
        for kind in SEGMENT_KINDS:
            for base_offset in offsets_in(self._names, kind):
                if base_offset not in logs:
                    self._disk.remove(f"{self._directory}/{file_name(base_offset, kind)}")

    async def _finish_swap(self, base_offset: int, bases: list[int]) -> None:
        swap = self._open(base_offset, suffix=SWAP)
        try:
            await self._load(swap)
        except DamagedLogError:
            swap.close()
            return
        for replaced in bases:
            if base_offset <= replaced < swap.next_offset:
                self._remove_files(replaced)
        await self._disk.sync_directory(self._directory)
        swap.rename(suffix="")
        swap.close()

    # Segments

    async def take_segments(self) -> None:
        """Accept all valid segments; the first invalid one ends the log or damages it."""
        bases = self._bases()
        await self._load_producers(bases)
        if self._is_first_missing(bases):
            await self._end_here("its first segment is missing", bases)
            return
        for place, base_offset in enumerate(bases):
            following = bases[place + 1] if place + 1 < len(bases) else None
            segment = self._open(base_offset)
            self._found.segments.append(segment)
            if not await self._take(segment, following):
                await self._end_here(
                    "a segment's batches end early or are invalid", bases[place + 1 :]
                )
                return

    def _bases(self) -> list[int]:
        """Base offsets of the segments with records above the log start offset."""
        bases = offsets_in(self._names, LOG)
        while len(bases) > 1 and bases[1] <= self._found.log_start_offset:
            self._remove_files(bases.pop(0))
        return bases

    def _is_first_missing(self, bases: list[int]) -> bool:
        return self._has_checkpoint and min(bases, default=0) > self._found.log_start_offset

    async def _take(self, segment: Segment, following: int | None) -> bool:
        """Find the end of a segment; False unless it is whole and reaches `following`, if given."""
        if await self._takes_as_it_is(segment, following):
            return True
        await self._scan(segment)
        is_whole = segment.size == segment.file.size()
        return is_whole and following in (None, segment.next_offset)

    async def _takes_as_it_is(self, segment: Segment, following: int | None) -> bool:
        """Accept a segment known to be whole without a scan, unless it turns out not to be."""
        try:
            if self._is_as_left(segment, following):
                end = self._flushed if following is None else following
                if self._has_index_sizes(segment):
                    await self._reading(partial(segment.trust, next_offset=end))
                else:
                    segment.reset()
                    await self._load(segment)
            elif self._is_flushed(following):
                await self._load(segment)
            else:
                return False
            await self._replay(segment)
            await self._check_aborted(segment)
            if following is None:
                await self._reading(segment.warm)
        except DamagedLogError:
            return False
        return following in (None, segment.next_offset)

    async def _check_aborted(self, segment: Segment) -> None:
        """Have the transaction index rebuilt unless it is as the checkpoint knows it."""
        await self._reading(segment.aborted.load)
        seals = {one.base_offset: (one.size_bytes, one.crc) for one in self._known.aborted}
        if segment.aborted.seal != seals.get(segment.base_offset, _NO_ABORTED):
            self._stale.append(segment)

    def _is_flushed(self, following: int | None) -> bool:
        """True when the segment before `following` is known to be whole, and its epochs as well."""
        return self._has_checkpoint and following is not None and following <= self._flushed

    def _is_as_left(self, segment: Segment, following: int | None) -> bool:
        """True when the clean shutdown left this very file, and the same one after it."""
        if self._marker is None:
            return False
        left = offsets_in(self._marker.file_bytes, LOG)
        expected = self._marker.file_bytes.get(file_name(segment.base_offset, LOG))
        behind = next((base for base in left if base > segment.base_offset), None)
        is_same = expected == segment.file.size() and following == behind
        self._found.is_clean = self._found.is_clean and is_same
        return is_same

    def _has_index_sizes(self, segment: Segment) -> bool:
        names = [file_name(segment.base_offset, kind) for kind in (INDEX, TIME_INDEX)]
        return self._marker is not None and all(
            self._disk.size(f"{self._directory}/{name}") == self._marker.file_bytes.get(name, 0)
            for name in names
        )

    async def _end_here(self, reason: str, following: list[int]) -> None:
        """End the log here: a possible loss makes it shorter; anything else makes it damaged."""
        segments, found = self._found.segments, self._found
        end = max(segments[-1].next_offset if segments else 0, found.log_start_offset)
        found.is_clean = False
        is_unfinished = await self._ends_in_a_write(following)
        if end < self._flushed or (self._is_power_kept and not is_unfinished):
            found.damage = Damage(end, reason)
            return
        if not is_unfinished:
            # Before the cut: after it, a reopening finds nothing wrong with the log.
            await write_atomically(self._disk, f"{self._directory}/{LOSSY_FILE}", b"")
            found.may_have_lost = True
        self._is_cut = True
        for base_offset in following:
            size = self._disk.size(f"{self._directory}/{file_name(base_offset, LOG)}")
            found.truncated_bytes += size
            found.removed_segments += 1
            self._remove_files(base_offset)
        if segments:
            surplus = segments[-1].file.size() - segments[-1].size
            found.truncated_bytes += surplus
            segments[-1].file.truncate(segments[-1].size)

    async def _ends_in_a_write(self, following: list[int]) -> bool:
        """True when the only fault is an incomplete last write to the last segment."""
        segments = self._found.segments
        return not following and (not segments or await is_cut_short(self._disk, segments[-1]))

    async def finish(self) -> Recovered:
        """Settle the log's ends, and make cuts durable, so that a power loss does not undo them."""
        found = self._found
        start = found.log_start_offset
        end = found.segments[-1].next_offset if found.segments else start
        if found.damage is None and max(end, start) < self._flushed:
            found.damage = Damage(max(end, start), "the last batches are missing")
        if end < start or not found.segments:
            self._begin_at_start()
        found.log_start_offset = max(start, found.segments[0].base_offset)
        await self._rebuild_aborted()
        if self._is_cut:
            await found.segments[-1].sync()
        if self._is_cut or self._is_begun:
            await self._disk.sync_directory(self._directory)
        if found.damage is None:
            found.snapshots.drop_above(found.log_end_offset)
        found.producers.transactions.lower_high_watermark(found.log_end_offset)
        return found

    async def _rebuild_aborted(self) -> None:
        stale = [one for one in self._found.segments if one in self._stale]
        if not stale:
            return
        segments, snapshots = self._found.segments, self._found.snapshots
        try:
            await producer_replay.rebuild_aborted(
                self._disk, segments, stale, snapshots, self._now_ms
            )
        except DamagedLogError as error:
            self._found.damage = self._found.damage or Damage(error.first_bad_offset, error.message)

    def _begin_at_start(self) -> None:
        """Start empty: no files, or only below the log start (an interrupted `restart_at`)."""
        found = self._found
        for segment in found.segments:
            segment.delete()
        found.segments = [self._open(found.log_start_offset)]
        # Its name is synced: a later segment that outlived it would pass for the log's first one.
        self._is_begun = True
        found.epochs.truncate_from_end(found.log_start_offset)
        found.producers.clear()
        found.snapshots.drop_above(-1)

    # Batches

    async def _scan(self, segment: Segment) -> None:
        """Collect the valid batches from the beginning, yielding to other tasks between chunks."""
        self._found.epochs.truncate_from_end(segment.base_offset)
        self._found.is_clean = False
        self._stale = [one for one in self._stale if one is not segment]
        segment.reset()
        segment.aborted.replace(())
        chunk = partial(_next_chunk, segment)
        while self._take_good(await self._reading(chunk), segment):  # noqa: ASYNC110  # of a file
            await asyncio.sleep(0)  # Many logs open concurrently; none keeps its chunk.
        self._found.scanned_bytes += segment.size

    def _take_good(self, chunk: bytes, segment: Segment) -> bool:
        """Extend the segment by the valid batches at the start of `chunk`; False if none."""
        view = memoryview(chunk)
        position = 0
        try:
            while position < len(view):
                header = parse_header(view, position)
                batch = view[position : position + header.size_in_bytes]
                if len(batch) < header.size_in_bytes or not self._continues(header, segment):
                    break
                check_crc(header, batch)
                if header.attributes & CONTROL_FLAG and segment not in self._stale:
                    self._stale.append(segment)
                # First: an unreadable marker ends the valid batches before itself.
                self._note_producer(header, batch)
                self._found.epochs.assign(header.partition_leader_epoch, header.base_offset)
                segment.extend(header)
                position += len(batch)
        except (CorruptMessageError, UnsupportedCompressionTypeError):
            pass  # The end of the valid batches is the result.
        return position > 0

    def _continues(self, header: BatchHeader, segment: Segment) -> bool:
        """Check the fields outside the CRC: the offset, and the epoch as far as it is known."""
        known, _ = self._known_epochs.run_at(header.base_offset)
        is_known = header.base_offset < self._flushed and known != NO_EPOCH
        return header.base_offset == segment.next_offset and (
            not is_known or header.partition_leader_epoch == known
        )

    # Producers

    async def _load_producers(self, bases: list[int]) -> None:
        """Load the newest snapshot that no scan will start below."""
        scanned = [base for base in bases[1:] if base <= self._flushed]
        at_most = self._flushed if self._marker else max(bases[:1] + scanned, default=0)
        newest = await self._found.snapshots.newest(
            at_most=at_most, ended=self._known.ended, high_watermark=self._known.high_watermark
        )
        if newest is not None:
            self._replayed_to, self._found.producers = newest

    async def _replay(self, segment: Segment) -> None:
        """Replay the batches above the snapshot of a segment that was accepted without a scan."""
        if segment.next_offset > self._replayed_to:
            await producer_replay.replay_producers(
                self._disk, segment, self._found.producers, self._replayed_to, self._now_ms
            )
            self._replayed_to = segment.next_offset

    def _note_producer(self, header: BatchHeader, batch: memoryview) -> None:
        if header.base_offset >= self._replayed_to:
            producer_replay.update_producers(self._found.producers, header, batch, self._now_ms)
            self._replayed_to = header.next_offset

    # Files

    async def _reading(self, work: Callable[[], T]) -> T:
        return await reading(self._disk, work)

    async def _load(self, segment: Segment) -> None:
        """Load a segment as `Segment.load`, a slice at a time."""
        await self._reading(segment.begin_load)
        while not await self._reading(segment.load_more):  # noqa: ASYNC110  # of a file
            await asyncio.sleep(0)

    def _open(self, base_offset: int, *, suffix: str = "") -> Segment:
        return Segment(
            self._disk,
            self._directory,
            base_offset=base_offset,
            config=self._config,
            run_at=self._found.epochs.run_at,
            suffix=suffix,
        )

    def _remove_files(self, base_offset: int) -> None:
        for kind in SEGMENT_KINDS:
            self._disk.remove(f"{self._directory}/{file_name(base_offset, kind)}")


def _next_chunk(segment: Segment) -> bytes:
    """Read the next bytes: at least one whole batch where the file holds one."""
    chunk = segment.file.read_at(segment.size, _CHUNK_BYTES)
    try:
        needed = parse_header(chunk).size_in_bytes
    except CorruptMessageError:
        return b""
    if len(chunk) < needed <= segment.file.size() - segment.size:
        return segment.file.read_at(segment.size, needed)
    return chunk
