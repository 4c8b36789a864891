"""Partitions in the assignment of a classic consumer. Pure.

Each version of the consumer protocol's assignment begins as version 0 does: version int16, then an
array (int32) of topics: name (int16 length, UTF-8) and an array (int32) of partitions (int32); the
rest is left alone.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import struct

_HEAD = struct.Struct(">hi")
_LENGTH = struct.Struct(">h")
_COUNT = struct.Struct(">i")
_NUMBER_BYTES = 4


def partitions_of(assignment: bytes) -> dict[str, tuple[int, ...]] | None:
    """Read partition numbers by topic; None when the bytes are no assignment."""
    try:
        version, count = _HEAD.unpack_from(assignment)
        return None if version < 0 or count < 0 else _topics(assignment, count)
    except (struct.error, UnicodeDecodeError):
        return None


def _topics(assignment: bytes, count: int) -> dict[str, tuple[int, ...]] | None:
    """Read as many topics. Raises `struct.error` where the bytes end before."""
    found: dict[str, tuple[int, ...]] = {}
    at = _HEAD.size
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(assignment, at)
        at += _LENGTH.size
        if length < 0 or at + length > len(assignment):
            return None
        topic = assignment[at : at + length].decode()
        at += length
        (numbers,) = _COUNT.unpack_from(assignment, at)
        at += _COUNT.size
        if not 0 <= numbers <= (len(assignment) - at) // _NUMBER_BYTES:
            return None
        found[topic] = (*found.get(topic, ()), *struct.unpack_from(f">{numbers}i", assignment, at))
        at += numbers * _NUMBER_BYTES
    return found
