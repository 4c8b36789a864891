"""Tells a write that a kill cut short from bytes that changed. Reads, decides, changes nothing.

A process that is killed in the midst of a write leaves the beginning of it: good batches, then one
that lacks its end. Whatever else follows the good batches is damage, unless power was lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidelog.log.batch import HEADER_BYTES, check_crc, parse_header
from tidelog.log.errors import CorruptMessageError
from tidelog.log.segment import Segment

_WRITE_BYTES_MAX = 100 << 20
"""No append is longer."""


def is_cut_short(segment: Segment) -> bool:
    """Whether what follows the good batches is one that lacks its end, and nothing behind it.

    A changed length looks so too: then whole batches follow.
    """
    left_bytes = segment.file.size() - segment.size
    if left_bytes > _WRITE_BYTES_MAX:
        return False
    rest = segment.file.read_at(segment.size, left_bytes)
    try:
        if parse_header(rest).size_in_bytes <= len(rest):
            return False
    except CorruptMessageError:
        if len(rest) >= HEADER_BYTES:
            return False
    return not any(_is_batch(rest, at) for at in _batches_like(rest, segment.next_offset))


def _batches_like(rest: bytes, offset: int) -> Iterator[int]:
    """Where in `rest`, behind its first byte, a batch of about this offset could begin."""
    for high in (offset >> 16, (offset >> 16) + 1):
        # a base offset, with the magic byte where it must be; one may begin within another
        pattern = re.compile(b"(?=%s.{10}\x02)" % re.escape(high.to_bytes(6, "big")), re.DOTALL)
        yield from (match.start() for match in pattern.finditer(rest, 1))


def _is_batch(rest: bytes, at: int) -> bool:
    try:
        header = parse_header(rest, at)
        check_crc(header, memoryview(rest)[at : at + header.size_in_bytes])
    except CorruptMessageError:
        return False
    return True
