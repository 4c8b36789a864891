"""The pieces of Kafka's wire format that generated code calls: lengths, tags, lists, complaints.

`data` is a whole message, `at` where to read, `end` what may be read; each function that reads
returns the position behind it. Numbers are big endian. Compact lengths are unsigned varints of one
more than the length, 0 for null (KIP-482).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from struct import Struct, unpack_from

from tidelog.kafka.errors import (
    MalformedMessageError,
    TooManyElementsError,
    UnencodableMessageError,
)

Buffer = bytes | bytearray | memoryview
"""Bytes of records: what is decoded is a memoryview, what is encoded may be any of these."""

VARINT_BYTES_MAX = 5
"""Longest varint of 32 bits."""
TEXT_BYTES_MAX = 32_767
"""Longest text: what the classic form can say, in the compact one as well."""
ELEMENTS_MAX = 65_536
"""Elements of all lists of one message, unless the caller takes more: as at gRPC's edge."""
COPIED_RECORDS_BYTES = 4_096
"""Smaller records are copied beside their neighbours, others are buffers of their own."""

NO_UUID = bytes(16)
"""The id of no topic."""
ONE_BYTE = [bytes([value]) for value in range(128)]
"""Varints of one byte."""

_SHORT = 16
_SHORT_LISTS = {code: [Struct(f">{count}{code}") for count in range(_SHORT)] for code in "?bhHiIqd"}
"""Formats of lists of few numbers, such as replicas, compiled once."""
_pack_length = Struct(">h").pack
_read_length = Struct(">h").unpack_from


def cut_off(struct: str, sizes: str, left: int) -> MalformedMessageError:
    """The error for fixed fields, `name=bytes` each, of which only `left` bytes are there."""
    name = ""
    for one in sizes.split():
        name, _, size = one.partition("=")
        left -= int(size)
        if left < 0:
            break
    return MalformedMessageError("the message ends before it", field=f"{struct}.{name}")


def bad_length(field: str, length: int, left: int) -> MalformedMessageError:
    """The error for a length that is negative, too great, or more than there is."""
    return MalformedMessageError(f"length {length}, where {left} bytes are left", field=field)


def bad_count(field: str, count: int, left: int, room: int) -> MalformedMessageError:
    """The error for more elements than `left` bytes, or the message's `room`, can hold."""
    if room < 0 and 0 <= count <= left:
        problem = f"{count} elements: {-room} too many for one message"
        return TooManyElementsError(problem, field=field)
    problem = f"{count} elements, where {left} bytes are left"
    return MalformedMessageError(problem, field=field)


def not_utf8(field: str) -> MalformedMessageError:
    """The error for a text that is none."""
    return MalformedMessageError("the text is not UTF-8", field=field)


def bad_tag(field: str) -> MalformedMessageError:
    """The error for a tagged field whose size is not what its content takes."""
    return MalformedMessageError("the tagged field's size is wrong", field=field)


def null_field(field: str) -> UnencodableMessageError:
    """The error for a null that the version does not have."""
    return UnencodableMessageError("null, which this version cannot say", field=field)


def long_varint(data: Buffer, at: int, end: int, first: int, field: str) -> tuple[int, int]:
    """Read the rest of an unsigned varint whose first byte, behind `at`, has more to follow."""
    value = first & 0x7F
    for shift in range(7, 7 * VARINT_BYTES_MAX, 7):
        if at >= end:
            raise MalformedMessageError("the message ends before it", field=field)
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 32:
                break
            return value, at
    raise MalformedMessageError("a varint of more than 32 bits", field=field)


def long_text(data: Buffer, at: int, end: int, first: int, field: str) -> tuple[int, int]:
    """Read the same for the length of a text, which has a limit."""
    length, at = long_varint(data, at, end, first, field)
    if length > TEXT_BYTES_MAX + 1:
        raise bad_length(field, length - 1, end - at)
    return length, at


def varint(data: Buffer, at: int, end: int, field: str) -> tuple[int, int]:
    """Read an unsigned varint of 32 bits."""
    if at >= end:
        raise MalformedMessageError("the message ends before it", field=field)
    first = data[at]
    return (first, at + 1) if first < 0x80 else long_varint(data, at + 1, end, first, field)


def skip_tags(data: Buffer, at: int, end: int, count: int, struct: str) -> int:
    """Pass over tagged fields, none of which is known, behind the first byte of their number."""
    count, at = tag_count(data, at, end, count, struct)
    for _ in range(count):
        _, size, at = tag_head(data, at, end, struct)
        at += size
    return at


def tag_count(data: Buffer, at: int, end: int, first: int, struct: str) -> tuple[int, int]:
    """Read the rest of the number of tagged fields; each takes two bytes or more."""
    count = first
    if first > 0x7F:
        count, at = long_varint(data, at, end, first, f"{struct}.tags")
    if 2 * count > end - at:
        raise bad_count(f"{struct}.tags", count, end - at, 0)
    return count, at


def tag_head(data: Buffer, at: int, end: int, struct: str) -> tuple[int, int, int]:
    """Read tag and size of a tagged field: both, and the position of its content."""
    tag, at = varint(data, at, end, f"{struct}.tags")
    size, at = varint(data, at, end, f"{struct}.tags")
    if size > end - at:
        raise bad_length(f"{struct}.tags[{tag}]", size, end - at)
    return tag, size, at


def read_texts(data: Buffer, at: int, end: int, count: int, field: str) -> tuple[list[str], int]:
    """Read texts of the classic form."""
    texts = []
    for _ in range(count):
        if end - at < 2:
            raise MalformedMessageError("the message ends before it", field=field)
        length: int = _read_length(data, at)[0]
        at += 2
        if not 0 <= length <= end - at:
            raise bad_length(field, length, end - at)
        texts.append(_text(data, at, at + length, field))
        at += length
    return texts, at


def read_compact_texts(
    data: Buffer, at: int, end: int, count: int, field: str
) -> tuple[list[str], int]:
    """Read texts of the compact form."""
    texts = []
    for _ in range(count):
        if at >= end:
            raise MalformedMessageError("the message ends before it", field=field)
        length: int = data[at]
        at += 1
        if length > 0x7F:
            length, at = long_text(data, at, end, length, field)
        if not 1 <= length <= end - at + 1:
            raise bad_length(field, length - 1, end - at)
        texts.append(_text(data, at, at + length - 1, field))
        at += length - 1
    return texts, at


def _text(data: Buffer, at: int, stop: int, field: str) -> str:
    try:
        return str(data[at:stop], "utf-8")
    except UnicodeDecodeError:
        raise not_utf8(field) from None


def read_numbers(data: Buffer, at: int, count: int, code: str) -> list[int]:
    """Read numbers of one format code, whose bytes are there."""
    if count < _SHORT:
        return [*_SHORT_LISTS[code][count].unpack_from(data, at)]
    return [*unpack_from(f">{count}{code}", data, at)]


def packer(count: int, code: str) -> Callable[..., bytes]:
    """The function that packs so many numbers of one format code."""
    return (_SHORT_LISTS[code][count] if count < _SHORT else Struct(f">{count}{code}")).pack


def read_uuids(data: Buffer, at: int, count: int) -> list[bytes]:
    """Read ids, whose bytes are there."""
    return [bytes(data[one : one + 16]) for one in range(at, at + 16 * count, 16)]


def varint_of(value: int) -> bytes:
    """The bytes of an unsigned varint."""
    if value < 0x80:
        return ONE_BYTE[value]
    pieces = bytearray()
    while value > 0x7F:
        pieces.append(value & 0x7F | 0x80)
        value >>= 7
    pieces.append(value)
    return bytes(pieces)


def text_length_of(length: int) -> bytes:
    """The bytes of a compact text's length, which is one more than its bytes."""
    if length > TEXT_BYTES_MAX + 1:
        raise UnencodableMessageError(f"a text of {length - 1} bytes")
    return varint_of(length)


def write_texts(texts: Iterable[str], out: list[Buffer]) -> None:
    """Write texts in the classic form."""
    for text in texts:
        content = text.encode()
        out.append(_pack_length(len(content)))
        out.append(content)


def write_compact_texts(texts: Iterable[str], out: list[Buffer]) -> None:
    """Write texts in the compact form."""
    for text in texts:
        content = text.encode()
        out.append(text_length_of(len(content) + 1))
        out.append(content)


def write_tags(tags: Sequence[tuple[int, list[Buffer]]], out: list[Buffer]) -> None:
    """Write tagged fields, in the order of their tags."""
    out.append(varint_of(len(tags)))
    for tag, pieces in tags:
        content = b"".join(pieces)
        out += (varint_of(tag), varint_of(len(content)), content)
