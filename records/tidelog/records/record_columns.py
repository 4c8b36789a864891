"""Decoding of a batch's records into columns, one sequence per field. Pure.

Owns the walk over plain (inflated) records v2, whose format is in `records`. Three readers take
turns: two fast ones for common records (`record_runs`), and the walk here, which reads any record
and is the only one to report damage.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import LOG_APPEND_TIME_FLAG, MIN_RECORD_BYTES, BatchHeader
from tidelog.records.record_runs import PAYING_RECORDS, Stretch, read_plain, read_run
from tidelog.records.varints import NULL_BYTE, decode_varint, varint

Header = tuple[str, bytes | None]

RUN_RECORDS_MAX = 1024
TURN_RECORDS = 256
"""Maximum records decoded per turn, in a run and otherwise; bounds memory beside the batch."""

_TIMESTAMP_END = 2**63


class Columns(NamedTuple):
    """Consecutive records of a batch, at least one: the nth record's fields are at index n."""

    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[tuple[Header, ...]]

    def since(self, offset: int) -> Columns:
        """Select the records from `offset` on, possibly none."""
        if self.offsets[0] >= offset:
            return self
        cut = bisect_left(self.offsets, offset)
        offsets, timestamps, keys, values, headers = self
        return Columns(offsets[cut:], timestamps[cut:], keys[cut:], values[cut:], headers[cut:])


def iter_plain_columns(header: BatchHeader, data: bytes) -> Iterator[Columns]:
    """Iterate over all records of a batch, decoded from its inflated bytes.

    Raises `CorruptMessageError` where they contradict the header; all records before the damage
    have been yielded by then.
    """
    reader = _Reader(header, data)
    while reader.left:
        yield reader.turn()
    if reader.position != len(data):
        raise CorruptMessageError(f"{len(data) - reader.position} bytes follow the last record")


_Row = tuple[int, int, bytes | None, bytes | None, tuple[Header, ...]]


def read_single(header: BatchHeader, data: bytes) -> _Row | None:
    """Decode the record of a batch of one, from its inflated bytes; None where it is damaged.

    `iter_plain_columns` reports the damage. It takes three times as long for one record.
    """
    reader = _Reader(header, data)
    try:
        row = reader.record()
    except (IndexError, UnicodeDecodeError, CorruptMessageError):
        return None
    return row if reader.position == len(data) else None


class _Reader:
    """Position between two records of a batch; each turn yields some of those after it."""

    def __init__(self, header: BatchHeader, data: bytes) -> None:
        self._data = data
        self._header = header
        is_append_time = header.attributes & LOG_APPEND_TIME_FLAG
        self._append_time = header.max_timestamp if is_append_time else None
        self._next_delta = 0
        self.position = 0
        self.left = header.records_count

    def turn(self) -> Columns:
        """Read the next records; raises `CorruptMessageError` where they are damaged."""
        return self._run() or self._plain() or self._walk()

    def _run(self) -> Columns | None:
        limit = min(self._gapless, RUN_RECORDS_MAX)
        stretch = read_run(self._data, self.position, first_delta=self._next_delta, limit=limit)
        return None if stretch is None else self._take(stretch)

    def _plain(self) -> Columns | None:
        limit = min(self._gapless, TURN_RECORDS)
        stretch = read_plain(self._data, self.position, first_delta=self._next_delta, limit=limit)
        count = len(stretch.values)
        return self._take(stretch) if count == self.left or count >= PAYING_RECORDS else None

    @property
    def _gapless(self) -> int:
        """Maximum number of records that can follow without a gap in their offset deltas."""
        return min(self.left, self._header.last_offset_delta + 1 - self._next_delta)

    def _take(self, stretch: Stretch) -> Columns | None:
        """Columns of a stretch; None where a timestamp is damaged, which only the walk reports."""
        timestamps = self._timestamps(stretch.timestamps)
        if timestamps is None:
            return None
        count, first = len(timestamps), self._header.base_offset + self._next_delta
        self.position = stretch.end
        self.left -= count
        self._next_delta += count
        offsets = range(first, first + count)
        return Columns(offsets, timestamps, stretch.keys, stretch.values, [()] * count)

    def _timestamps(self, zigzag: list[int]) -> list[int] | None:
        base, first, count = self._header.base_timestamp, zigzag[0], len(zigzag)
        if self._append_time is not None:
            return [self._append_time] * count
        farthest = (max(zigzag) + 1) >> 1
        if not (_is_timestamp(base - farthest) and _is_timestamp(base + farthest)):
            return None
        if zigzag.count(first) == count:  # the common case, and cheaper
            return [base + ((first >> 1) ^ -(first & 1))] * count
        return [base + ((number >> 1) ^ -(number & 1)) for number in zigzag]

    def _walk(self) -> Columns:
        """Decode records one by one; damage after the first record is left to the next turn."""
        rows: list[_Row] = []
        try:
            # A list extended by an iterator that raises keeps the items yielded before.
            rows.extend(self.record() for _ in range(min(self.left, TURN_RECORDS)))
        except CorruptMessageError:
            if not rows:
                raise
        except (IndexError, UnicodeDecodeError) as error:
            if not rows:
                reason = f"a record ends before its fields do: {error}"
                raise CorruptMessageError(reason) from error
        self.left -= len(rows)
        return Columns(*zip(*rows, strict=True))

    def record(self) -> _Row:
        """Decode the next record; `IndexError` at the end of the data. Flat: once per record."""
        data, decode, next_delta = self._data, decode_varint, self._next_delta
        length, position = decode(data, self.position)
        end = position + length
        if length < MIN_RECORD_BYTES - 1 or end > len(data):
            raise CorruptMessageError(f"a record claims {length} bytes at byte {position}")
        timestamp_delta, position = decode(data, position + 1)  # attributes: no bit is used
        expected = varint(next_delta)
        if data.startswith(expected, position):
            offset_delta, position = next_delta, position + len(expected)
        else:
            offset_delta, position = decode(data, position)
        if not next_delta <= offset_delta <= self._header.last_offset_delta:
            raise CorruptMessageError(f"record offset delta {offset_delta} is out of order")
        key = value = None
        if data[position] == NULL_BYTE:
            position += 1
        else:
            key, position = _decode_bytes(data, position, end)
        if data[position] == NULL_BYTE:
            position += 1
        else:
            value, position = _decode_bytes(data, position, end)
        headers: tuple[Header, ...] = ()
        if data[position]:
            headers, position = _decode_headers(data, position, end)
        else:
            position += 1
        if position != end:
            raise CorruptMessageError(
                f"a record's fields end {end - position} bytes before its length does"
            )
        timestamp = self._append_time
        if timestamp is None:
            timestamp = self._header.base_timestamp + timestamp_delta
        if not _is_timestamp(timestamp):
            raise CorruptMessageError(f"record timestamp {timestamp} is beyond 64 bits")
        self.position, self._next_delta = end, offset_delta + 1
        return self._header.base_offset + offset_delta, timestamp, key, value, headers


def _is_timestamp(number: int) -> bool:
    return -_TIMESTAMP_END <= number < _TIMESTAMP_END


def _decode_bytes(data: bytes, position: int, end: int) -> tuple[bytes, int]:
    """Decode a non-null field; it must lie before `end`."""
    byte = data[position]
    if byte & 0x81:
        length, position = decode_varint(data, position)
    else:  # a length of one byte, the common case
        length, position = byte >> 1, position + 1
    after = position + length
    if length < 0 or after > end:
        raise CorruptMessageError(f"a field claims {length} bytes, {end - position} are left")
    return data[position:after], after


def _decode_headers(data: bytes, position: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, position = decode_varint(data, position)
    if not 0 <= count <= (end - position) // 2:
        raise CorruptMessageError(f"a record claims {count} headers")
    headers: list[Header] = []
    for _ in range(count):
        name, position = _decode_bytes(data, position, end)
        if data[position] == NULL_BYTE:
            headers.append((name.decode(), None))
            position += 1
        else:
            value, position = _decode_bytes(data, position, end)
            headers.append((name.decode(), value))
    return tuple(headers), position
