"""Walks over the batches of a segment's file: each continues the one before, or is damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from tidelog.core.env import File
from tidelog.core.errors import CorruptMessageError, DamagedLogError
from tidelog.log.epochs import NO_END
from tidelog.records.batch import HEADER_BYTES, BatchHeader, parse_header, walk

_WINDOW_BYTES = 4096
"""Bytes per read while walking headers."""

RunAt = Callable[[int], tuple[int, int]]  # see `batch.walk`


class ReadResult(NamedTuple):
    """Whole batches; `next_offset` follows the last one, or is the requested offset if none."""

    records: bytes
    next_offset: int


class Place(NamedTuple):
    """Position and base offset of a batch."""

    position: int
    base_offset: int


class Walked(Protocol):
    """Port of a segment that is walked; see `Segment`."""

    file: File
    next_offset: int
    size: int
    run_at: RunAt


def header_at(segment: Walked, position: int) -> BatchHeader | None:
    """Read the header at `position`; None when there is no valid one."""
    try:
        return parse_header(segment.file.read_at(position, HEADER_BYTES))
    except CorruptMessageError:
        return None


def headers(
    segment: Walked, start: Place, end: int, *, below: int = NO_END
) -> Iterator[tuple[int, BatchHeader]]:
    """Iterate over the batches wholly between `start` and `end` that begin below `below`.

    Raises `DamagedLogError` at the first one that does not continue the previous one.
    """
    before: tuple[int, int] = start
    position, next_offset = start
    window, window_at = b"", position
    while position + HEADER_BYTES <= end and next_offset < below:
        at = position - window_at
        if at + HEADER_BYTES > len(window):
            window, window_at, at = segment.file.read_at(position, _WINDOW_BYTES), position, 0
        try:
            header = parse_header(window, at)
        except CorruptMessageError as error:
            raise _misfit(segment, before, error.message, next_offset) from error
        if header.base_offset != next_offset:
            reason = f"base offset {header.base_offset} is out of place"
            raise _misfit(segment, before, reason, next_offset)
        if position + header.size_in_bytes > end:
            return
        yield position, header
        before = (position, next_offset)
        position += header.size_in_bytes
        next_offset = header.next_offset


def _misfit(segment: Walked, before: tuple[int, int], reason: str, offset: int) -> DamagedLogError:
    """Build the error at `offset`, or raise for the previous batch, if that is damaged."""
    good(segment, Place(*before), max_bytes=1, upper_bound=NO_END)
    return damage_of(segment, reason, offset)


def good(segment: Walked, start: Place, *, max_bytes: int, upper_bound: int) -> tuple[bytes, Place]:
    """Read bytes from `start` on; return them and the end of the valid batches in them.

    Raises `DamagedLogError` when a batch in the segment's range is invalid.
    """
    data = _chunk(segment, start, max_bytes)
    found = walk(
        data,
        next_offset=start.base_offset,
        upper_bound=upper_bound,
        end_offset=segment.next_offset,
        run_at=segment.run_at,
    )
    if found.fault is not None:
        raise damage_of(segment, found.fault, found.next_offset)
    return data, Place(start.position + found.position, found.next_offset)


def _chunk(segment: Walked, start: Place, max_bytes: int) -> bytes:
    """Read at most `max_bytes` from a batch's start on, but at least that whole batch."""
    left = segment.size - start.position
    if not left:
        return b""
    data = segment.file.read_at(start.position, min(max(max_bytes, HEADER_BYTES), left))
    try:
        needed = parse_header(data).size_in_bytes
    except CorruptMessageError as error:
        raise damage_of(segment, error.message, start.base_offset) from error
    if len(data) < needed <= left:
        data = segment.file.read_at(start.position, needed)
    if needed > len(data):
        raise damage_of(segment, f"a batch of {needed} bytes is incomplete", start.base_offset)
    return data


def damage_of(segment: Walked, reason: str, offset: int | None = None) -> DamagedLogError:
    """The error of damage from `offset` on, the segment's end if it is None."""
    bad = segment.next_offset if offset is None else offset
    return DamagedLogError(
        f"{segment.file.path} is damaged from offset {bad} on: {reason}", first_bad_offset=bad
    )
