"""Number of list elements in a request, counted in its bytes before it is parsed. Pure.

A list of a million empty elements takes two bytes for each on the wire and hundreds in memory, and
again as much in the answer: the size of a request alone bounds neither.
"""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor

SMALL_BYTES = 64 * 1024
"""Size up to which requests are not checked: they cannot contain many elements."""
ELEMENTS_MAX = 65_536
"""Maximum elements of a request: more than all replicas of the largest cluster's partitions."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_TEXTS = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


def has_too_many(data: bytes, kind: Descriptor, limit: int = ELEMENTS_MAX) -> bool:
    """True when the message of this kind has more than `limit` list elements, at any depth.

    Stops at malformed bytes, which the parser will report.
    """
    left = _Left(limit)
    try:
        _count(data, 0, len(data), kind, left)
    except IndexError:
        return False
    return left.elements < 0


class _Left:
    """Number of elements left."""

    def __init__(self, elements: int) -> None:
        self.elements = elements


def _count(data: bytes, position: int, end: int, kind: Descriptor, left: _Left) -> None:
    fields = kind.fields_by_number
    while position < end and left.elements >= 0:
        tag, position = _varint(data, position)
        wire_type = tag & 7
        field = fields.get(tag >> 3)
        left.elements -= field is not None and field.is_repeated
        if wire_type == _VARINT:
            _, position = _varint(data, position)
        elif wire_type == _BYTES:
            length, position = _varint(data, position)
            if field is not None and position + length <= end:
                _count_inside(data, position, length, field, left)
            position += length
        elif wire_type in _FIXED:
            position += _FIXED[wire_type]
        else:
            return  # a group, which our messages never use


def _count_inside(
    data: bytes, position: int, length: int, field: FieldDescriptor, left: _Left
) -> None:
    if field.message_type is not None:
        _count(data, position, position + length, field.message_type, left)
    elif field.is_repeated and field.type not in _TEXTS:
        left.elements -= (
            length - 1
        )  # packed numbers of at least a byte each; one is counted already


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            return value, position
        shift += 7
