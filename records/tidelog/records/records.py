"""Records inside a v2 batch: encoding, decoding, and rebuilding a batch for compaction. Pure.

Used by clients and the cleaner. Brokers decode records otherwise only for look-ups by time, for
message.timestamp.before.max.ms, and for the one record of a control batch, which ends a
transaction.

One record: length varint, attributes i8, timestampDelta varlong, offsetDelta varint, keyLength
varint, key, valueLength varint, value, headersCount varint, and per header keyLength varint, key,
valueLength varint, value. Varints are zigzag, least significant group first; a length of -1 means
null. Deltas are relative to the base fields of the batch header. A control record's key is version
i16, type i16 (0 abort, 1 commit), its value version i16, coordinatorEpoch i32 (KIP-98).

Decoding is in `record_columns`, which makes columns; encoding is flat, since it runs once per
record.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import NamedTuple

from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    MIN_RECORD_BYTES,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Buffer,
    parse_header,
    seal,
)
from tidelog.records.compression import Codec, compress, compress_readably, decompress
from tidelog.records.record_columns import Columns, Header, iter_plain_columns, read_single
from tidelog.records.varints import NULL, SMALL, SMALL_END, encode_varint, varint

MAX_DECOMPRESSED_BYTES = 128 << 20
"""Maximum inflated size of one batch's records: above any valid producer's batch."""
NO_TIMESTAMP = -1

_MARKER_KEY = struct.Struct(">hh")
_MARKER_VALUE = struct.Struct(">hi")
_MARKER_COMMITS = {0: False, 1: True}
_MARKER_VERSION = 0


class Record(NamedTuple):
    """A record as read; `timestamp` in milliseconds since the Unix epoch."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


_NO_HEADERS = SMALL[0]


class ControlMarker(NamedTuple):
    """The end of a transaction, as recorded in a control batch."""

    is_commit: bool
    coordinator_epoch: int


class BatchBuilder:
    """Accumulator of one batch's records: `append` until `size_in_bytes` suffices, then `build`."""

    def __init__(self, *, compression: Codec = Codec.NONE, level: int | None = None) -> None:
        self.compression = compression
        self.level = level
        self.records_count = 0
        self.size_in_bytes = HEADER_BYTES
        """Exact size of the batch before compression."""
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
        """Add a record; return the new `size_in_bytes`."""
        count = self.records_count
        if not count:
            self._base_timestamp = self._max_timestamp = timestamp_ms
        elif timestamp_ms > self._max_timestamp:
            self._max_timestamp = timestamp_ms
        length, body = _encode_record(
            timestamp_ms - self._base_timestamp, count, key, value, headers
        )
        self._parts += (length, body)
        self.records_count = count + 1
        self.size_in_bytes = size = self.size_in_bytes + len(length) + len(body)
        return size

    def build(
        self,
        *,
        base_offset: int = 0,
        leader_epoch: int = -1,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
    ) -> bytes:
        """Encode the batch; the leader overwrites base offset and leader epoch."""
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
        return seal(fields, compress(self.compression, b"".join(self._parts), level=self.level))


def encode_batch(
    records: Iterable[Record],
    *,
    compression: Codec = Codec.NONE,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """Encode one batch of `records`; their offsets are ignored: they follow `base_offset`."""
    builder = BatchBuilder(compression=compression)
    for record in records:
        builder.append(
            timestamp_ms=record.timestamp,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
    return builder.build(base_offset=base_offset, leader_epoch=leader_epoch)


def rebuild_batch(
    header: BatchHeader, records: Sequence[Record], *, delete_horizon_ms: int | None
) -> bytes:
    """Rebuild the batch of `header` with only `records` of it kept, as Kafka's cleaner does.

    Offsets, timestamps, codec, producer, epoch and the offset range stay. The max timestamp becomes
    that of the kept records, unless the batch has a log append time; without records the batch is
    empty and keeps its max timestamp. `delete_horizon_ms` is the time after which the batch's
    tombstones may be removed; it is stored as the base timestamp, to which the deltas become
    relative (KIP-534; MemoryRecords).
    """
    if not records:
        attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG)
        kept = header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, records_count=0)
        return seal(kept, b"")
    base_timestamp = records[0].timestamp if delete_horizon_ms is None else delete_horizon_ms
    parts: list[bytes] = []
    for offset, timestamp, key, value, headers in records:
        parts += _encode_record(
            timestamp - base_timestamp, offset - header.base_offset, key, value, headers
        )
    is_append_time = header.attributes & LOG_APPEND_TIME_FLAG
    newest = header.max_timestamp if is_append_time else max(r.timestamp for r in records)
    codec, packed = compress_readably(Codec(header.codec_id), b"".join(parts))
    attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG) | codec
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_FLAG
    kept = header._replace(
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=newest,
        records_count=len(records),
    )
    return seal(kept, packed)


def encode_filler(
    *, base_offset: int, last_offset: int, leader_epoch: int, max_timestamp: int
) -> bytes:
    """Encode an empty batch without a producer, in place of dropped batches of one epoch."""
    return seal(
        BatchHeader(
            base_offset=base_offset,
            batch_length=0,
            partition_leader_epoch=leader_epoch,
            magic=MAGIC,
            crc=0,
            attributes=0,
            last_offset_delta=last_offset - base_offset,
            base_timestamp=NO_TIMESTAMP,
            max_timestamp=max_timestamp,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            records_count=0,
        ),
        b"",
    )


def encode_marker(
    marker: ControlMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """Encode the control batch that ends a transaction, as `read_marker` reads it.

    Byte for byte Kafka's: MemoryRecords.withEndTransactionMarker, version 0.
    """
    key = _MARKER_KEY.pack(_MARKER_VERSION, marker.is_commit)
    value = _MARKER_VALUE.pack(_MARKER_VERSION, marker.coordinator_epoch)
    fields = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        partition_leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=TRANSACTIONAL_FLAG | CONTROL_FLAG,
        last_offset_delta=0,
        base_timestamp=timestamp_ms,
        max_timestamp=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=NO_SEQUENCE,
        records_count=1,
    )
    return seal(fields, b"".join(_encode_record(0, 0, key, value, ())))


def read_marker(batch: Buffer) -> ControlMarker:
    """Decode the one record of a control batch; `records_count` must not be 0.

    Raises `CorruptMessageError` for anything other than the end of a transaction. Newer versions
    only add fields after these (Kafka: ControlRecordType, EndTransactionMarker).
    """
    records = list(iter_records(batch)) if parse_header(batch).attributes & CONTROL_FLAG else []
    if len(records) != 1:
        raise CorruptMessageError(f"a marker is one control record, not {len(records)}")
    _, _, key, value, _ = records[0]
    try:
        _, kind = _MARKER_KEY.unpack_from(key or b"")
        _, coordinator_epoch = _MARKER_VALUE.unpack_from(value or b"")
        return ControlMarker(_MARKER_COMMITS[kind], coordinator_epoch)
    except (struct.error, KeyError) as error:
        raise CorruptMessageError(
            f"a control record {key!r}: {value!r} is not a transaction marker"
        ) from error


def iter_records(
    batch: Buffer,
    *,
    header: BatchHeader | None = None,
    max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> Iterator[Record]:
    """Iterate over the records of one whole batch whose CRC `iter_batches` has checked.

    `header`: its own, where the caller has it. Raises `CorruptMessageError` where the records
    contradict the header, and `UnsupportedCompressionTypeError`; records yielded before that are
    valid.
    """
    header = parse_header(batch) if header is None else header
    if header.records_count == 1 and not header.attributes & CODEC_MASK:
        data = bytes(memoryview(batch)[HEADER_BYTES : header.size_in_bytes])
        if (row := read_single(header, data)) is not None:
            return iter((tuple.__new__(Record, row),))
    return chain.from_iterable(
        # Bypass the named tuple's __new__, which costs as much as the rest of a record's decoding.
        map(tuple.__new__, repeat(Record), zip(*columns, strict=True))
        for columns in iter_columns(batch, max_decompressed_bytes=max_decompressed_bytes)
    )


def iter_columns(
    batch: Buffer, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Iterator[Columns]:
    """Iterate over the records of one whole batch like `iter_records`, a few hundred at a time."""
    header = parse_header(batch)
    packed = memoryview(batch)[HEADER_BYTES : header.size_in_bytes]
    data = decompress(header.codec_id, packed, max_bytes=max_decompressed_bytes)
    if header.records_count * MIN_RECORD_BYTES > len(data):
        raise CorruptMessageError(f"{header.records_count} records do not fit {len(data)} bytes")
    yield from iter_plain_columns(header, data)


def _encode_record(
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header],
) -> tuple[bytes, bytes]:
    """Encode a record as length field and body, not joined: the batch joins all parts once.

    Flat, since it runs once per record: `varint` is inlined for common lengths.
    """
    if value is None:
        value_length, value = NULL, b""
    else:
        length = len(value)
        value_length = SMALL[length] if length < SMALL_END else encode_varint(length)
    body = b"".join(
        (
            b"\0",
            SMALL[timestamp_delta]
            if 0 <= timestamp_delta < SMALL_END
            else encode_varint(timestamp_delta),
            SMALL[offset_delta] if offset_delta < SMALL_END else encode_varint(offset_delta),
            NULL if key is None else varint(len(key)),
            key or b"",
            value_length,
            value,
            _encode_headers(headers) if headers else _NO_HEADERS,
        )
    )
    length = len(body)
    return SMALL[length] if length < SMALL_END else encode_varint(length), body


def _encode_headers(headers: Sequence[Header]) -> bytes:
    parts = [varint(len(headers))]
    for name, value in headers:
        raw = name.encode()
        parts += (varint(len(raw)), raw)
        parts += (NULL, b"") if value is None else (varint(len(value)), value)
    return b"".join(parts)
