"""Records inside a v2 batch: encoding and decoding. Pure. For clients; brokers never look inside.

One record: length varint, attributes i8, timestampDelta varlong, offsetDelta varint, keyLength
varint, key, valueLength varint, value, headersCount varint, and per header keyLength varint, key,
valueLength varint, value. Varints are zigzag, little end first; a length of -1 means null. Deltas
are against the base fields of the batch header.

The loops are flat on purpose: they run once per record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tidelog.log.batch import (
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    BatchHeader,
    Buffer,
    parse_header,
    seal,
)
from tidelog.log.compression import Codec, compress, decompress
from tidelog.log.errors import CorruptMessageError

Header = tuple[str, bytes | None]

MAX_DECOMPRESSED_BYTES = 128 << 20
"""How far the records of one batch may inflate: beyond any honest producer's batch."""
MAX_VARINT_BYTES = 10
MIN_RECORD_BYTES = 7
"""A record of null key, null value and no header."""


class Record(NamedTuple):
    """One record as read; `timestamp` in milliseconds since the Unix epoch."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def encode_varint(value: int) -> bytes:
    """`value` (64-bit signed) as a zigzag varint."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


_SMALL = tuple(encode_varint(value) for value in range(2048))
"""Varints of the numbers most lengths and deltas are."""
_NULL = encode_varint(-1)
_NO_HEADERS = _SMALL[0]


class BatchBuilder:
    """Collects records into one batch; `append` until `size_in_bytes` is enough, then `build`."""

    def __init__(self, *, compression: Codec = Codec.NONE) -> None:
        self.compression = compression
        self.records_count = 0
        self.size_in_bytes = HEADER_BYTES
        """Of the batch before compression, exactly."""
        self._parts: list[bytes] = []
        self._base_timestamp = 0
        self._max_timestamp = 0

    def append(
        self,
        *,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header] = (),
    ) -> int:
        """Add a record; returns `size_in_bytes` with it."""
        count = self.records_count
        if not count:
            self._base_timestamp = self._max_timestamp = timestamp_ms
        elif timestamp_ms > self._max_timestamp:
            self._max_timestamp = timestamp_ms
        body = b"".join(
            (
                b"\0",
                _varint(timestamp_ms - self._base_timestamp),
                _varint(count),
                _NULL if key is None else _varint(len(key)),
                key or b"",
                _NULL if value is None else _varint(len(value)),
                value or b"",
                _encode_headers(headers) if headers else _NO_HEADERS,
            )
        )
        length = _varint(len(body))
        self._parts += (length, body)
        self.records_count = count + 1
        self.size_in_bytes += len(length) + len(body)
        return self.size_in_bytes

    def build(
        self,
        *,
        base_offset: int = 0,
        leader_epoch: int = -1,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
    ) -> bytes:
        """The batch; the leader will set base offset and leader epoch anew."""
        fields = BatchHeader(
            base_offset=base_offset,
            batch_length=0,
            partition_leader_epoch=leader_epoch,
            magic=MAGIC,
            crc=0,
            attributes=self.compression,
            last_offset_delta=self.records_count - 1,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._max_timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            records_count=self.records_count,
        )
        return seal(fields, compress(self.compression, b"".join(self._parts)))


def encode_batch(
    records: Iterable[Record],
    *,
    compression: Codec = Codec.NONE,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """One batch of `records`, whose own offsets are not looked at: they follow `base_offset`."""
    builder = BatchBuilder(compression=compression)
    for record in records:
        builder.append(
            timestamp_ms=record.timestamp,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
    return builder.build(base_offset=base_offset, leader_epoch=leader_epoch)


def iter_records(
    batch: Buffer, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Iterator[Record]:
    """The records of one whole batch, whose CRC `iter_batches` has checked.

    Raises `CorruptMessageError` where the records are not what the header says, and
    `UnsupportedCompressionTypeError`; records yielded before that are good.
    """
    header = parse_header(batch)
    packed = memoryview(batch)[HEADER_BYTES : header.size_in_bytes]
    data = decompress(header.codec_id, packed, max_bytes=max_decompressed_bytes)
    if header.records_count * MIN_RECORD_BYTES > len(data):
        raise CorruptMessageError(f"{header.records_count} records do not fit {len(data)} bytes")
    try:
        yield from _iter_decoded(header, data)
    except (IndexError, UnicodeDecodeError) as error:
        raise CorruptMessageError(f"a record ends before its fields do: {error}") from error


def _iter_decoded(header: BatchHeader, data: bytes) -> Iterator[Record]:
    position = 0
    base_timestamp = header.base_timestamp
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    previous_delta = -1
    for _ in range(header.records_count):
        length, position = _decode_varint(data, position)
        end = position + length
        if length < MIN_RECORD_BYTES - 1 or end > len(data):
            raise CorruptMessageError(f"a record claims {length} bytes at byte {position}")
        timestamp_delta, position = _decode_varint(data, position + 1)
        offset_delta, position = _decode_varint(data, position)
        if not previous_delta < offset_delta <= header.last_offset_delta:
            raise CorruptMessageError(f"record offset delta {offset_delta} is out of order")
        previous_delta = offset_delta
        key, position = _decode_bytes(data, position, end)
        value, position = _decode_bytes(data, position, end)
        headers_count, position = _decode_varint(data, position)
        headers: tuple[Header, ...] = ()
        if headers_count:
            headers, position = _decode_headers(data, position, end, headers_count)
        if position != end:
            raise CorruptMessageError(f"a record ends {end - position} bytes off its length")
        timestamp = base_timestamp + timestamp_delta if append_time is None else append_time
        yield Record(header.base_offset + offset_delta, timestamp, key, value, headers)
    if position != len(data):
        raise CorruptMessageError(f"{len(data) - position} bytes follow the last record")


def _varint(value: int) -> bytes:
    return _SMALL[value] if 0 <= value < 2048 else encode_varint(value)


def _encode_headers(headers: Sequence[Header]) -> bytes:
    parts = [_varint(len(headers))]
    for name, value in headers:
        raw = name.encode()
        parts += (_varint(len(raw)), raw)
        parts += (_NULL, b"") if value is None else (_varint(len(value)), value)
    return b"".join(parts)


def _decode_varint(data: bytes, position: int) -> tuple[int, int]:
    """The value and the position after it; `IndexError` at the end of `data`."""
    byte = data[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    result = byte & 0x7F
    for shift in range(7, 7 * MAX_VARINT_BYTES, 7):
        position += 1
        byte = data[position]
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), position + 1
    raise CorruptMessageError(f"a varint before byte {position} has no end")


def _decode_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = _decode_varint(data, position)
    if length < 0:
        if length == -1:
            return None, position
        raise CorruptMessageError(f"a field has length {length}")
    after = position + length
    if after > end:
        raise CorruptMessageError(f"a field of {length} bytes runs out of its record")
    return data[position:after], after


def _decode_headers(
    data: bytes, position: int, end: int, count: int
) -> tuple[tuple[Header, ...], int]:
    if not 0 <= count <= (end - position) // 2:
        raise CorruptMessageError(f"a record claims {count} headers")
    headers = []
    for _ in range(count):
        name, position = _decode_bytes(data, position, end)
        if name is None:
            raise CorruptMessageError("a record header has no name")
        value, position = _decode_bytes(data, position, end)
        headers.append((name.decode(), value))
    return tuple(headers), position
