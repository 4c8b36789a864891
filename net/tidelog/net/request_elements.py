"""Number of list elements in a request, counted in its bytes before it is parsed. Pure.

A list of a million empty elements takes two bytes for each on the wire and hundreds in memory, and
again as much in the answer: the size of a request alone bounds neither.
"""

from __future__ import annotations

from collections.abc import Generator

from google.protobuf.descriptor import Descriptor, FieldDescriptor

SMALL_BYTES = 64 * 1024
"""Size up to which requests are not checked: they cannot contain many elements."""
ELEMENTS_MAX = 65_536
"""Maximum elements of a request: more than all replicas of the largest cluster's partitions."""
FIELDS_PER_TURN = 2_048
"""Fields that are looked at before other work has the loop: 2 to 4 ms."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_TEXTS = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


def has_too_many(data: bytes, kind: Descriptor, limit: int = ELEMENTS_MAX) -> bool:
    """True when the message of this kind has more than `limit` list elements, at any depth.

    Stops at malformed bytes, which the parser will report.
    """
    looking = count_elements(data, kind, limit)
    while True:
        try:
            next(looking)
        except StopIteration as end:
            return int(end.value) > limit


def count_elements(
    data: bytes, kind: Descriptor, limit: int = ELEMENTS_MAX
) -> Generator[None, None, int]:
    """Count the list elements, with a pause after every `FIELDS_PER_TURN` fields.

    Stops at the first above `limit`. Malformed bytes have none.
    """
    left = limit
    inside = [(len(data), kind)]
    position = fields = 0
    try:
        while inside and left >= 0:
            end, message = inside[-1]
            if position >= end:
                position = end
                inside.pop()
                continue
            fields += 1
            if fields % FIELDS_PER_TURN == 0:
                yield
            tag, position = _varint(data, position)
            wire_type = tag & 7
            field = message.fields_by_number.get(tag >> 3)
            left -= field is not None and field.is_repeated
            if wire_type == _VARINT:
                _, position = _varint(data, position)
            elif wire_type == _BYTES:
                length, position = _varint(data, position)
                if field is not None and position + length <= end:
                    if field.message_type is not None:
                        inside.append((position + length, field.message_type))
                        continue
                    left -= _packed(field, length)
                position += length
            elif wire_type in _FIXED:
                position += _FIXED[wire_type]
            else:
                position = end  # a group, which our messages never use
    except IndexError:
        return 0
    return limit - left


def _packed(field: FieldDescriptor, length: int) -> int:
    """Packed numbers of at least a byte each, but for one that is counted already."""
    return length - 1 if field.is_repeated and field.type not in _TEXTS else 0


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            return value, position
        shift += 7
