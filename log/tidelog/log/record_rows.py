"""The records of one batch as compaction works on them: in place, by position, in steps. Pure.

A batch of a megabyte may hold a million records. So work on a batch is a generator, `Steps`: after
some thousand records it yields None, and others may run; for a codec it yields a function over
bytes, which may run on a thread, and is sent its result.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sized
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    BatchHeader,
    Buffer,
    seal,
)
from tidelog.records.compression import Codec, compress_readably, decompress
from tidelog.records.records import MAX_DECOMPRESSED_BYTES
from tidelog.records.varints import decode_varint, varint

MAX_PLAIN_KEY_BYTES = 16
"""Maximum length of a key kept as is; a longer one's digest has one byte more: no collision."""
RECORDS_PER_STEP = 4096
_NULL_LENGTH = 1
"""Zigzag varint of -1."""

T = TypeVar("T")
Work: TypeAlias = Callable[[], Any]  # its result is sent back, to whom it has yielded it
Steps: TypeAlias = Generator[Work | None, Any, T]
Row: TypeAlias = tuple[int, bytes | None, bool, int, int]
"""A record: offset, key as used in the map, whether it is a tombstone, start and end position."""
Span: TypeAlias = tuple[int, int]
"""Positions of records that follow each other."""


def at_once(steps: Steps[T]) -> T:
    """Take all steps without a pause; return the result or raise the error."""
    answer: Any = None
    while True:
        try:
            work = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result
        answer = None if work is None else work()


def pause_after(slice_of_records: Sized) -> Steps[None]:
    """End a step behind a whole slice; the rest of a batch goes on with what comes next."""
    if len(slice_of_records) == RECORDS_PER_STEP:
        yield None


def inflate(header: BatchHeader, batch: Buffer) -> Steps[bytes]:
    """The records of a batch. Raises `CorruptMessageError`, `UnsupportedCompressionTypeError`."""
    if not header.records_count:
        return b""
    packed = memoryview(batch)[HEADER_BYTES:]
    work = partial(decompress, header.codec_id, packed, max_bytes=MAX_DECOMPRESSED_BYTES)
    data: bytes = (yield work) if header.attributes & CODEC_MASK else work()
    return data


def row_slices(header: BatchHeader, data: bytes) -> Iterator[list[Row]]:
    """Rows of a batch, some thousand at a time. Raises `CorruptMessageError`."""
    rows = iter_rows(header, data)
    while rows_of_slice := list(islice(rows, RECORDS_PER_STEP)):
        yield rows_of_slice


@dataclass(slots=True)
class Kept:
    """Records of a batch that stay, in their order."""

    count: int = 0
    has_tombstones: bool = False
    spans: list[Span] = field(default_factory=list)

    def add(self, rows: list[Row]) -> None:
        """Add records that follow those before, next to them or not."""
        spans = self.spans
        begin, end = spans.pop() if spans else (0, 0)
        for _, _, is_tombstone, row_begin, row_end in rows:
            if row_begin != end:
                if end:
                    spans.append((begin, end))
                begin = row_begin
            end = row_end
            self.has_tombstones |= is_tombstone
        if end:
            spans.append((begin, end))
        self.count += len(rows)


def splice(header: BatchHeader, data: bytes, kept: Kept) -> Steps[bytes]:
    """Rebuild a batch with these of its records, their bytes and all base fields unchanged."""
    max_timestamp = header.max_timestamp
    if not header.attributes & LOG_APPEND_TIME_FLAG:
        newest = yield from _newest_delta(data, kept)
        max_timestamp = header.base_timestamp + newest
    records = bytearray()
    for some in _slices_of(kept.spans):
        records += b"".join([data[begin:end] for begin, end in some])
        yield from pause_after(some)
    fields = header._replace(max_timestamp=max_timestamp, records_count=kept.count)
    return (yield from _packed(fields, records))


def with_horizon(
    header: BatchHeader, data: bytes, kept: Kept, delete_horizon_ms: int
) -> Steps[bytes]:
    """Rebuild a batch with these of its records and a delete horizon, as `rebuild_batch` does.

    The horizon is stored as the base timestamp, to which the deltas become relative (KIP-534).
    """
    is_append_time = header.attributes & LOG_APPEND_TIME_FLAG
    max_timestamp = header.max_timestamp
    if not is_append_time:
        max_timestamp = header.base_timestamp + (yield from _newest_delta(data, kept))
    shift = header.base_timestamp - delete_horizon_ms
    of_all = varint(max_timestamp - delete_horizon_ms) if is_append_time else None
    records = bytearray()
    for some in _slices_of(_each_record(data, kept)):
        for begin, end in some:
            delta, rest = decode_varint(data, begin + 1)
            moved = varint(delta + shift) if of_all is None else of_all
            records += varint(1 + len(moved) + end - rest)
            records += data[begin : begin + 1] + moved + data[rest:end]
        yield from pause_after(some)
    fields = header._replace(
        attributes=header.attributes | DELETE_HORIZON_FLAG,
        base_timestamp=delete_horizon_ms,
        max_timestamp=max_timestamp,
        records_count=kept.count,
    )
    return (yield from _packed(fields, records))


def _each_record(data: bytes, kept: Kept) -> Iterator[Span]:
    """Positions of each record that stays, behind its length field."""
    for position, end_of_span in kept.spans:
        begin = position
        while begin < end_of_span:
            length, body = decode_varint(data, begin)
            begin = body + length
            yield body, begin


def _newest_delta(data: bytes, kept: Kept) -> Steps[int]:
    newest: int | None = None
    for some in _slices_of(_each_record(data, kept)):
        highest = max(decode_varint(data, begin + 1)[0] for begin, _ in some)
        newest = highest if newest is None else max(newest, highest)
        yield from pause_after(some)
    return newest or 0


def _slices_of(spans: list[Span] | Iterator[Span]) -> Iterator[list[Span]]:
    left = iter(spans)
    while some := list(islice(left, RECORDS_PER_STEP)):
        yield some


def _packed(fields: BatchHeader, records: bytearray) -> Steps[bytes]:
    work = partial(compress_readably, Codec(fields.codec_id), bytes(records))
    codec, packed = (yield work) if fields.attributes & CODEC_MASK else work()
    return seal(fields._replace(attributes=fields.attributes & ~CODEC_MASK | codec), packed)


def iter_rows(header: BatchHeader, data: bytes) -> Iterator[Row]:
    """Iterate over the records as rows. Flat: runs twice per record; reads up to the key only."""
    base_offset, last, decode = header.base_offset, header.last_offset_delta, decode_varint
    is_dense = header.records_count == last + 1  # so each record's offset delta is its index
    position, size, offset_delta = 0, len(data), -1
    try:
        for place in range(header.records_count):
            begin, previous = position, offset_delta
            byte, following = data[position], data[position + 1]
            if byte > 0x7F and following < 0x80:  # two bytes, the common case
                length, position = (byte & 0x7F | following << 7) >> 1, position + 2
            else:
                length, position = decode(data, position)
            end = position + length
            position += 1  # attributes
            while data[position] > 0x7F:  # timestamp delta
                position += 1
            position += 1
            if is_dense:
                while data[position] > 0x7F:
                    position += 1
                offset_delta, position = place, position + 1
            else:
                offset_delta, position = decode(data, position)
            byte = data[position]
            if byte < 0x80:
                length, position = (byte >> 1) ^ -(byte & 1), position + 1
            else:
                length, position = decode(data, position)
            after = position + length if length > 0 else position
            if length < -1 or not (after < end <= size and previous < offset_delta <= last):
                raise CorruptMessageError(f"a record at byte {begin} exceeds its batch")
            key = None if length < 0 else _known_as(data[position:after])
            yield base_offset + offset_delta, key, data[after] == _NULL_LENGTH, begin, end
            position = end
    except IndexError as error:
        raise CorruptMessageError(f"a record ends before its key does: {error}") from error
    if position != size:
        raise CorruptMessageError(f"{size - position} bytes follow the last record")


def _known_as(key: bytes) -> bytes:
    if len(key) <= MAX_PLAIN_KEY_BYTES:
        return key
    return blake2b(key, digest_size=MAX_PLAIN_KEY_BYTES + 1).digest()
