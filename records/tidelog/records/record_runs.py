"""Decoding of many similar records at once: the fast half of `record_columns`. Pure.

Both readers accept only records without headers, with consecutive offset deltas, whose fields fill
each record exactly. They stop at any other record without an error and leave it to the reader that
knows the whole format.

- `read_run`: records whose fields lie at the same places, as those of one length do. Each byte of
  the fixed part is one strided slice over all records, compared in C.
- `read_plain`: records of any length. The offset delta, and the value's length once the key is
  read, are known in advance, so they are compared, not decoded.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from tidelog.core.errors import CorruptMessageError
from tidelog.records.varints import NULL_BYTE, SMALL, SMALL_END, decode_varint

PAYING_RECORDS = 16
"""Minimum number of records for which a run pays."""

_FINAL_BYTES, _OTHER_BYTES = bytes(range(0x80)), bytes(range(0x80, 0x100))
"""Possible values of a varint's last byte, and of the bytes before it."""
_EVEN_BYTES = bytes(range(0, 0x100, 2))
"""First bytes of the zigzag varints of numbers that are not negative."""
_TWO_BYTES_MAX = 0x3FFF
"""Greatest number of a varint of two bytes."""
_ONE_BYTE_END, _TWO_BYTES_END, _THREE_BYTES_END = 64, 8192, 1 << 20
_FIRST = bytes(number << 1 & 0x7F | 0x80 for number in range(_TWO_BYTES_END))
_LAST_OF_TWO = bytes(number >> 6 for number in range(_TWO_BYTES_END))
_SECOND_OF_THREE = bytes(byte | 0x80 for byte in _LAST_OF_TWO)
"""Bytes of the varints of 0 to 8191; those of larger numbers repeat them."""

_ROOM_MIN = 2
"""Bytes of an empty value: its length and the number of headers."""
_ROOM_BETWEEN = 66
"""Room that no value fills in the shortest form; a value of 62 bytes uses the longer form."""
_VALUE_LENGTHS = tuple(
    b"\xfc\0" if room == _ROOM_BETWEEN else SMALL[max(0, room - (2 if room < _ROOM_BETWEEN else 3))]
    for room in range(SMALL_END)
)
"""Encoded value length, by the bytes from it to the record's end (length, value, header count)."""


class Stretch(NamedTuple):
    """Consecutive records without offset gaps and without headers."""

    end: int
    """Position after the last of them."""
    timestamps: list[int]
    """Stored timestamp deltas, zigzag: 0, -1, 1, -2 are 0, 1, 2, 3."""
    keys: list[bytes | None]
    values: list[bytes | None]


class Skipped(NamedTuple):
    """Records that were checked but not decoded."""

    end: int
    """Position after the last of them."""
    records_count: int
    has_keys: bool
    """True: all have; False: some have none."""
    timestamp_bytes: int
    """Maximum size of a timestamp delta."""
    newest: int
    """Greatest timestamp delta."""
    oldest: int
    """Least timestamp delta, or less."""


class _Layout(NamedTuple):
    """Start of each field in a record without headers; a null field takes no bytes.

    The record's last byte, its number of headers, is at `value_end`.
    """

    attributes: int
    timestamp: int
    offset: int
    key_length: int
    key: int
    value_length: int
    value: int
    value_end: int
    has_key: bool
    has_value: bool

    @property
    def size(self) -> int:
        """Size of the record, including its length field."""
        return self.value_end + 1


def read_run(data: bytes, start: int, *, first_delta: int, limit: int) -> Stretch | None:
    """Read up to `limit` records from byte `start` on; None where a run does not pay."""
    layout, count = _run(data, start, first_delta, limit)
    if layout is None:
        return None
    end = start + count * layout.size
    keys, values = _fields(memoryview(data)[start:end], layout, count)
    numbers = _timestamp_numbers(_timestamp_columns(data, start, layout, count))
    timestamps = numbers if len(numbers) == count else numbers * count
    return Stretch(end, timestamps, keys, values)


def skip_run(data: bytes, start: int, *, first_delta: int, limit: int) -> Skipped | None:
    """Skip the records that `read_run` would read, without extracting them."""
    layout, count = _run(data, start, first_delta, limit)
    if layout is None:
        return None
    newest, oldest = _span(_timestamp_columns(data, start, layout, count))
    return Skipped(
        end=start + count * layout.size,
        records_count=count,
        has_keys=layout.has_key,
        timestamp_bytes=layout.offset - layout.timestamp,
        newest=newest,
        oldest=oldest,
    )


def _run(
    data: bytes, start: int, first_delta: int, limit: int
) -> tuple[_Layout, int] | tuple[None, int]:
    """Layout and number of the records of the run that begins at `start`."""
    layout = _layout(data, start) if limit >= PAYING_RECORDS else None
    if layout is None:
        return None, 0
    size = layout.size
    limit = min(limit, (len(data) - start) // size, _delta_bytes_end(first_delta) - first_delta)
    count = _alike(data, start, layout, limit)
    if count < PAYING_RECORDS or not _follow(data, start, layout, first_delta, count):
        return None, 0
    return layout, count


def _layout(data: bytes, start: int) -> _Layout | None:
    try:
        length, attributes = decode_varint(data, start)
        _, offset = decode_varint(data, attributes + 1)
        _, key_length = decode_varint(data, offset)
        key_bytes, key = decode_varint(data, key_length)
        value_length = key + max(key_bytes, 0)
        value_bytes, value = decode_varint(data, value_length)
        value_end = value + max(value_bytes, 0)
        has_headers = data[value_end] > 0
    except (IndexError, CorruptMessageError):
        return None
    is_whole = value_end + 1 == attributes + length
    has_key, has_value = data[key_length] != NULL_BYTE, data[value_length] != NULL_BYTE
    is_damaged = (has_key and key_bytes < 0) or (has_value and value_bytes < 0)
    if has_headers or is_damaged or not is_whole:
        return None
    return _Layout(
        attributes=attributes - start,
        timestamp=attributes + 1 - start,
        offset=offset - start,
        key_length=key_length - start,
        key=key - start,
        value_length=value_length - start,
        value=value - start,
        value_end=value_end - start,
        has_key=has_key,
        has_value=has_value,
    )


def _delta_bytes_end(delta: int) -> int:
    """End (exclusive) of the deltas from `delta` on whose varints one table covers."""
    return (
        _ONE_BYTE_END if delta < _ONE_BYTE_END else delta - delta % _TWO_BYTES_END + _TWO_BYTES_END
    )


def _alike(data: bytes, start: int, layout: _Layout, limit: int) -> int:
    """Count the records, up to `limit`, with the same layout as the first one."""
    size, stop = layout.size, layout.value_end
    for at in chain(
        range(layout.attributes),
        range(layout.key_length, layout.key),
        range(layout.value_length, layout.value),
        (stop,),
    ):
        column = data[start + at : start + limit * size : size]
        limit -= len(column.lstrip(column[:1]))
        if limit < PAYING_RECORDS:
            return limit
    last = layout.offset - 1
    for at in range(layout.timestamp, layout.offset):
        column = data[start + at : start + limit * size : size]
        limit -= len(column.lstrip(_FINAL_BYTES if at == last else _OTHER_BYTES))
    return limit


def _follow(data: bytes, start: int, layout: _Layout, first_delta: int, count: int) -> bool:
    """Check that the records' offset deltas count up from `first_delta`, in shortest form."""
    size = layout.size
    columns = [
        data[start + at : start + count * size : size]
        for at in range(layout.offset, layout.key_length)
    ]
    return columns == _delta_columns(first_delta, count)


def _delta_columns(first: int, count: int) -> list[bytes]:
    """Columns of the varints of `first` and the deltas after it: the nth bytes, for each n."""
    if first < _ONE_BYTE_END:
        return [bytes(range(2 * first, 2 * (first + count), 2))]
    at = slice(first % _TWO_BYTES_END, first % _TWO_BYTES_END + count)
    if first < _TWO_BYTES_END:
        return [_FIRST[at], _LAST_OF_TWO[at]]
    if first < _THREE_BYTES_END:
        return [_FIRST[at], _SECOND_OF_THREE[at], bytes((first // _TWO_BYTES_END,)) * count]
    return []


def _timestamp_columns(data: bytes, start: int, layout: _Layout, count: int) -> list[bytes]:
    """Columns of the records' timestamp deltas; of one byte where all deltas are the same."""
    stop = start + count * layout.size
    columns = [
        data[start + at : stop : layout.size] for at in range(layout.timestamp, layout.offset)
    ]
    if any(column.strip(column[:1]) for column in columns):
        return columns
    return [column[:1] for column in columns]  # the common case


def _timestamp_numbers(columns: list[bytes]) -> list[int]:
    """Zigzag numbers of timestamp deltas."""
    numbers = [byte & 0x7F for byte in columns[0]]
    for place, column in enumerate(columns[1:], start=1):
        septets = zip(numbers, column, strict=True)
        numbers = [number | (byte & 0x7F) << 7 * place for number, byte in septets]
    return numbers


def _span(columns: list[bytes]) -> tuple[int, int]:
    """Greatest timestamp delta, and the least or less."""
    first, *others = columns
    if first.translate(None, _EVEN_BYTES):  # some deltas are negative
        deltas = [(number >> 1) ^ -(number & 1) for number in _timestamp_numbers(columns)]
        return max(deltas), min(deltas)
    if not others:
        return max(first) >> 1, 0
    if len(others) == 1:
        pairs = bytearray(2 * len(first))
        pairs[::2], pairs[1::2] = first, others[0]
        greatest = max(struct.unpack(f"<{len(first)}H", pairs))
        return (greatest & 0x7F | greatest >> 8 << 7) >> 1, 0
    return max(_timestamp_numbers(columns)) >> 1, 0


def _fields(
    records: memoryview, layout: _Layout, count: int
) -> tuple[list[bytes | None], list[bytes | None]]:
    """Keys and values of all `records`, extracted by one struct format."""
    key_format = f"{layout.value_length - layout.key}s" if layout.has_key else ""
    value_format = f"{layout.value_end - layout.value}s" if layout.has_value else ""
    lengths = layout.value - layout.value_length
    rows: Iterator[tuple[bytes, ...]] = struct.iter_unpack(
        f"{layout.key}x{key_format}{lengths}x{value_format}x", records
    )
    found: list[bytes | None] = list(chain.from_iterable(rows))
    nulls: list[bytes | None] = [None] * count
    if layout.has_key and layout.has_value:
        return found[0::2], found[1::2]
    return (found or nulls, nulls) if layout.has_key else (nulls, found or nulls)


def read_plain(data: bytes, position: int, *, first_delta: int, limit: int) -> Stretch:
    """Read up to `limit` records from byte `position` on, with keys of at most 63 bytes.

    Timestamp deltas have one or two bytes. Flat: runs once per record.
    """
    lengths, startswith, end = _VALUE_LENGTHS, data.startswith, position
    timestamps: list[int] = []
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    deltas = SMALL[first_delta : first_delta + limit] or _three_byte_deltas(first_delta, limit)
    try:
        for delta in deltas:
            position = end
            number = data[position]
            if number < 0x80:
                position += 2  # skips the attributes, too: no bit is used
            else:
                following = data[position + 1]
                number, position = number & 0x7F | following << 7, position + 3
                if following > 0x7F:
                    break
            stop = position - 1 + (number >> 1)
            timestamp = data[position]
            position += 1
            if timestamp > 0x7F:
                following = data[position]
                timestamp, position = timestamp & 0x7F | following << 7, position + 1
                if following > 0x7F:
                    break
            if number & 1 or not startswith(delta, position):
                break
            position += len(delta)
            byte, key = data[position], None
            position += 1
            if byte != NULL_BYTE:
                if byte & 0x81:
                    break
                after = position + (byte >> 1)
                key, position = data[position:after], after
            room = stop - position
            if room < _ROOM_MIN or data[stop - 1]:
                break
            length = lengths[room]
            if not startswith(length, position):
                break
            values.append(data[position + len(length) : stop - 1])
            keys.append(key)
            timestamps.append(timestamp)
            end = stop
    except IndexError:
        pass  # the data ends within a record: the walk of `record_columns` reports it
    return Stretch(end, timestamps, keys, values)


def skip_plain(
    data: bytes, position: int, *, first_delta: int, limit: int, needs_keys: bool
) -> Skipped | None:
    """Skip records that `read_plain` would read; None where there is none.

    None as well where all are older than the base timestamp. With `needs_keys` it stops at a record
    without a key. Flat: runs once per record.
    """
    lengths, startswith, end, count = _VALUE_LENGTHS, data.startswith, position, 0
    bits, newest = 0, -1  # of the zigzag timestamp deltas: all bits, and the greatest even number
    deltas = SMALL[first_delta : first_delta + limit] or _three_byte_deltas(first_delta, limit)
    try:
        for delta in deltas:
            number = data[end]
            if number < 0x80:
                position = end + 2  # skips the attributes, too
            else:
                following = data[end + 1]
                if following > 0x7F:
                    break
                number, position = number & 0x7F | following << 7, end + 3
            stop = position - 1 + (number >> 1)
            timestamp = data[position]
            position += 1
            if timestamp > 0x7F:
                timestamp, position = timestamp & 0x7F | data[position] << 7, position + 1
            if number & 1 or timestamp > _TWO_BYTES_MAX or not startswith(delta, position):
                break
            position += len(delta)
            byte = data[position]
            if byte == NULL_BYTE:
                if needs_keys:
                    break
                position += 1
            elif byte & 0x81:
                break
            else:
                position += 1 + (byte >> 1)
            room = stop - position
            if room < _ROOM_MIN or data[stop - 1] or not startswith(lengths[room], position):
                break
            end, count, bits = stop, count + 1, bits | timestamp
            if timestamp > newest and not timestamp & 1:
                newest = timestamp
    except IndexError:
        pass  # as in `read_plain`
    oldest = -(bits >> 1) - 1 if bits & 1 else 0
    whole = Skipped(end, count, needs_keys, 2, newest >> 1, oldest)
    return whole if newest >= 0 else None


def _three_byte_deltas(first: int, count: int) -> Iterator[bytes]:
    count = min(count, _delta_bytes_end(first) - first)
    return map(bytes, zip(*_delta_columns(first, count), strict=True))
