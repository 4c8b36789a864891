"""What a log makes of the files it finds.

Decides which segments can be taken as they are, walks the others from the recovery point on, cuts
at the first batch that is not good and removes what lies behind it: the longest valid prefix stays.
A hole or damage in a segment that lies wholly below the recovery point is an error, not a shorter
log.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import pairwise

from tidelog.log.batch import check_crc, parse_header
from tidelog.log.checkpoints import Checkpoint, CleanMarker
from tidelog.log.config import LogConfig
from tidelog.log.env import Disk
from tidelog.log.epochs import EpochCache
from tidelog.log.errors import CorruptMessageError, StorageError
from tidelog.log.segment import Segment, base_offsets

_CHUNK_BYTES = 1 << 20


@dataclass(slots=True)
class Recovered:
    """Segments, at least one, ready for use; their epochs; and what it took."""

    segments: list[Segment]
    epochs: EpochCache
    is_clean: bool = True
    scanned_bytes: int = 0
    truncated_bytes: int = 0
    removed_segments: int = 0

    @property
    def log_end_offset(self) -> int:
        """The offset after the last batch."""
        return self.segments[-1].next_offset


async def recover(
    *,
    disk: Disk,
    directory: str,
    config: LogConfig,
    checkpoint: Checkpoint | None,
    clean_marker: CleanMarker | None,
) -> Recovered:
    """Open every segment in `directory`, making the first one when there is none.

    Without a `checkpoint` everything is walked. Raises `StorageError` as the module says.
    """
    segments = [
        Segment(disk, directory, base_offset=base_offset, config=config)
        for base_offset in base_offsets(disk, directory) or [0]
    ]
    known = checkpoint or Checkpoint(recovery_point=0, high_watermark=0, epochs=())
    recovered = Recovered(segments, EpochCache(known.epochs))
    if checkpoint and clean_marker and _is_as_left(segments, clean_marker):
        return recovered
    recovered.is_clean = False
    await _scan_from(_first_unflushed(segments, known.recovery_point), recovered)
    if recovered.removed_segments or recovered.truncated_bytes:
        # A cut undone by a power loss would bring stale batches back behind newer ones.
        await segments[-1].sync()
        await disk.sync_directory(directory)
    return recovered


def _is_as_left(segments: list[Segment], marker: CleanMarker) -> bool:
    if segments[-1].file.size() != marker.last_file_bytes:
        return False
    try:
        _load(segments)
    except CorruptMessageError:
        return False
    return segments[-1].next_offset == marker.log_end_offset


def _first_unflushed(segments: list[Segment], recovery_point: int) -> int:
    """The place of the segment the recovery point lies in, after taking those below as they are."""
    below = sum(segment.base_offset <= recovery_point for segment in segments)
    first = max(below - 1, 0)
    try:
        _load(segments[:first])
    except CorruptMessageError as error:
        raise StorageError(f"{error.message}: remove the folder to fetch it anew") from error
    if first and segments[first - 1].next_offset != segments[first].base_offset:
        raise _hole(segments[first - 1], segments[first])
    return first


def _load(segments: list[Segment]) -> None:
    for segment in segments:
        segment.load()
    for segment, following in pairwise(segments):
        if segment.next_offset != following.base_offset:
            raise _hole(segment, following)


def _hole(segment: Segment, following: Segment) -> StorageError:
    return StorageError(
        f"offsets {segment.next_offset} to {following.base_offset} are missing between "
        f"{segment.file.path} and {following.file.path}: remove the folder to fetch it anew"
    )


async def _scan_from(first: int, recovered: Recovered) -> None:
    segments = recovered.segments
    recovered.epochs.truncate_from_end(segments[first].base_offset)
    for place in range(first, len(segments)):
        segment = segments[place]
        if place > first and segment.base_offset != segments[place - 1].next_offset:
            _drop_from(place, recovered)
            return
        await _scan(segment, recovered)
        surplus = segment.file.size() - segment.size
        if surplus:
            recovered.truncated_bytes += surplus
            segment.file.truncate(segment.size)


def _drop_from(place: int, recovered: Recovered) -> None:
    for segment in recovered.segments[place:]:
        recovered.truncated_bytes += segment.file.size()
        recovered.removed_segments += 1
        segment.delete()
    del recovered.segments[place:]


async def _scan(segment: Segment, recovered: Recovered) -> None:
    """Take the good batches of a segment, from its beginning; the loop gets its turn between."""
    segment.reset()
    while chunk := _read_chunk(segment):
        if not _take_good(chunk, segment, recovered.epochs):
            break
        await asyncio.sleep(0)
    recovered.scanned_bytes += segment.size


def _read_chunk(segment: Segment) -> bytes:
    """The next bytes, at least a whole batch where the file holds one."""
    chunk = segment.file.read_at(segment.size, _CHUNK_BYTES)
    try:
        needed = parse_header(chunk).size_in_bytes
    except CorruptMessageError:
        return b""
    if len(chunk) < needed <= segment.file.size() - segment.size:
        return segment.file.read_at(segment.size, needed)
    return chunk


def _take_good(chunk: bytes, segment: Segment, epochs: EpochCache) -> bool:
    """Extend the segment by the good batches at the start of `chunk`; whether there was one."""
    view = memoryview(chunk)
    position = 0
    try:
        while position < len(view):
            header = parse_header(view, position)
            batch = view[position : position + header.size_in_bytes]
            if len(batch) < header.size_in_bytes or header.base_offset != segment.next_offset:
                break
            check_crc(header, batch)
            epochs.assign(header.partition_leader_epoch, header.base_offset)
            segment.extend(header)
            position += len(batch)
    except CorruptMessageError:
        pass  # Where the good ones end is the answer.
    return position > 0
