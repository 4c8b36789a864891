"""Zigzag varints, least significant group first, as used by records v2. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.core.errors import CorruptMessageError

MAX_VARINT_BYTES = 10
SMALL_END = 8192


def encode_varint(value: int) -> bytes:
    """Encode `value` (64-bit signed) as a zigzag varint."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


SMALL = tuple(encode_varint(value) for value in range(SMALL_END))
"""Varints of common lengths and deltas: all those of one and two bytes."""
NULL = encode_varint(-1)
"""Length field of a null field."""
NULL_BYTE = NULL[0]


def varint(value: int) -> bytes:
    """Encode `value` as a zigzag varint; faster than `encode_varint` for small values."""
    return SMALL[value] if 0 <= value < SMALL_END else encode_varint(value)


def decode_varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """Decode a varint into value and next position; `IndexError` at the end of `data`."""
    byte = data[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    result = byte & 0x7F
    byte = data[position + 1]
    if byte < 0x80:
        result |= byte << 7
        return (result >> 1) ^ -(result & 1), position + 2
    for shift in range(7, 7 * MAX_VARINT_BYTES, 7):
        position += 1
        byte = data[position]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), position + 1
    raise CorruptMessageError(
        f"a varint before byte {position} is longer than {MAX_VARINT_BYTES} bytes"
    )
