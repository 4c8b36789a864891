"""Subscribed topics in the metadata of a classic consumer. Pure.

Each version of the consumer protocol's subscription begins as version 0 does: version int16, then
an array (int32) of strings (int16, UTF-8); the rest is left alone.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import struct

CONSUMER_PROTOCOL_TYPE = "consumer"
_HEAD = struct.Struct(">hi")
_LENGTH = struct.Struct(">h")


def topics_of(metadata: bytes) -> frozenset[str] | None:
    """Read the names of subscribed topics; None when the bytes are no subscription."""
    try:
        version, count = _HEAD.unpack_from(metadata)
        if version < 0 or count < 0:
            return None
        return _names(metadata, count)
    except (struct.error, UnicodeDecodeError):
        return None


def _names(metadata: bytes, count: int) -> frozenset[str] | None:
    """Read as many names. Raises `struct.error` where the bytes end before."""
    names, at = set(), _HEAD.size
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(metadata, at)
        at += _LENGTH.size
        if length < 0 or at + length > len(metadata):
            return None
        names.add(metadata[at : at + length].decode())
        at += length
    return frozenset(names)
