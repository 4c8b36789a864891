"""Distinction of a write that a kill cut short from changed bytes. Changes nothing.

A process killed during a write leaves the beginning of it: valid batches, then one without its end.
Anything else after the valid batches is damage, unless power was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

from tidelog.core.env import Disk
from tidelog.core.errors import CorruptMessageError
from tidelog.core.memory_reads import reading
from tidelog.log.segment import Segment
from tidelog.records.batch import HEADER_BYTES, MAGIC, check_crc, parse_header

_WRITE_BYTES_MAX = 100 << 20
"""Maximum size of an append."""
_SLICE_BYTES = 1 << 20
"""Bytes searched before yielding to other tasks."""
_MAGIC_AT = 16


async def is_cut_short(disk: Disk, segment: Segment) -> bool:
    """True when the valid batches are followed by one incomplete batch and nothing after it.

    A changed length looks the same, but then whole batches follow.
    """
    start, end = segment.size, segment.file.size()
    if end - start > _WRITE_BYTES_MAX:
        return False
    head = await _read(disk, segment, start, HEADER_BYTES)
    try:
        if parse_header(head).size_in_bytes <= end - start:
            return False
    except CorruptMessageError:
        if end - start >= HEADER_BYTES:
            return False
    for at in range(start + 1, end, _SLICE_BYTES):
        piece = await _read(disk, segment, at, _SLICE_BYTES + _MAGIC_AT)
        for found in _batches_like(piece, segment.next_offset):
            if await _is_batch(disk, segment, at + found, end):
                return False
        await asyncio.sleep(0)
    return True


async def _read(disk: Disk, segment: Segment, offset: int, length: int) -> bytes:
    return await reading(disk, partial(segment.file.read_at, offset, length))


def _batches_like(piece: bytes, offset: int) -> Iterator[int]:
    """Positions in the slice where a batch near this offset could begin; they may overlap."""
    for high in (offset >> 16, (offset >> 16) + 1):
        # a base offset, with the magic byte where it must be
        begins = high.to_bytes(6, "big")
        at = piece.find(begins)
        while 0 <= at < min(_SLICE_BYTES, len(piece) - _MAGIC_AT):
            if piece[at + _MAGIC_AT] == MAGIC:
                yield at
            at = piece.find(begins, at + 1)


async def _is_batch(disk: Disk, segment: Segment, at: int, end: int) -> bool:
    try:
        header = parse_header(await _read(disk, segment, at, HEADER_BYTES))
        if header.size_in_bytes > end - at:
            return False
        check_crc(header, await _read(disk, segment, at, header.size_in_bytes))
    except CorruptMessageError:
        return False
    return True
