"""Record batches, format v2, as a view over bytes. Pure.

Owns the 61-byte header, Kafka's byte for byte, all big-endian:

     0  baseOffset i64             set by the leader
     8  batchLength i32            bytes after this field
    12  partitionLeaderEpoch i32   set by the leader
    16  magic i8 = 2
    17  crc u32                    CRC-32C of everything from byte 21 on
    21  attributes i16             bits 0-2 codec, 3 log append time, 4 transactional, 5 control,
                                  6 the base timestamp is a delete horizon
    23  lastOffsetDelta i32
    27  baseTimestamp i64, 35 maxTimestamp i64
    43  producerId i64, 51 producerEpoch i16, 53 baseSequence i32
    57  recordsCount i32
    61  records, compressed as one block

The fields that the leader sets lie outside the CRC, so a batch is never re-encoded. Records are
opaque here: see `records`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from crc32c import crc32c

from tidelog.core.errors import (
    CorruptMessageError,
    InvalidRecordError,
    MessageTooLargeError,
    UnsupportedCompressionTypeError,
)
from tidelog.records.compression import Codec, inflation_limit

Buffer = bytes | bytearray | memoryview

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size
LENGTH_PREFIX_BYTES = 12
"""Size of baseOffset and batchLength, which batchLength does not include."""
CRC_START = 21
MAGIC = 2
MIN_RECORD_BYTES = 7
"""Size of a record with null key, null value and no headers."""
CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
SEQUENCE_MASK = 0x7FFF_FFFF
"""Bit mask of a sequence number: sequences count records and wrap from 2**31 - 1 to 0."""
BATCHES_PER_PRODUCER_MAX = 5
"""Maximum number of requests a producer may have in flight, and so may send again."""
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40
"""Attribute bit: the base timestamp is the delete horizon of the batch's tombstones (KIP-534)."""

BROKER_TIME_FLAGS = LOG_APPEND_TIME_FLAG | DELETE_HORIZON_FLAG
"""Attribute bits about timestamps that mean nothing in a producer's batch."""

_LAST_CODEC = max(Codec)
_PLACE = struct.Struct(">qii")
"""baseOffset, batchLength and partitionLeaderEpoch, the first three fields of the header."""
_LENGTH = struct.Struct(">i")
_LENGTH_AT = 8


class BatchHeader(NamedTuple):
    """The fields of one header, in wire order."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_in_bytes(self) -> int:
        """Size of the whole batch, header included."""
        return self.batch_length + LENGTH_PREFIX_BYTES

    @property
    def last_offset(self) -> int:
        """Offset of the last record, inclusive."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """Offset after the last record."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec_id(self) -> int:
        """Number of the codec, possibly unknown to this process."""
        return self.attributes & CODEC_MASK


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Parse the header at `position`; the batch itself need not be complete.

    Raises `CorruptMessageError` when fewer than 61 bytes are left or the fields are not those of a
    v2 header.
    """
    if len(buffer) - position < HEADER_BYTES:
        raise CorruptMessageError(
            f"a record batch header is {HEADER_BYTES} bytes, {len(buffer) - position} are left"
        )
    header = tuple.__new__(BatchHeader, HEADER.unpack_from(buffer, position))
    if header.magic != MAGIC:
        raise CorruptMessageError(f"record batch magic is {header.magic}, only {MAGIC} is known")
    if header.batch_length < HEADER_BYTES - LENGTH_PREFIX_BYTES:
        raise CorruptMessageError(f"record batch length {header.batch_length} is below its header")
    if header.last_offset_delta < 0 or header.records_count < 0:
        raise CorruptMessageError(
            f"record batch claims {header.records_count} records and last offset delta "
            f"{header.last_offset_delta}"
        )
    return header


def batch_bytes(buffer: Buffer, position: int) -> int:
    """Size of the batch at `position` according to its own length field, unchecked."""
    length: int = _LENGTH.unpack_from(buffer, position + _LENGTH_AT)[0]
    return length + LENGTH_PREFIX_BYTES


def iter_batches(buffer: Buffer) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Iterate over the batches of `buffer` as header and view, checking structure and CRC.

    Raises `CorruptMessageError` at the first bad batch, and when the last one is incomplete.
    """
    view = memoryview(buffer)
    position = 0
    while position < len(view):
        header = parse_header(view, position)
        batch = _check_whole(header, view, position)
        yield header, batch
        position += len(batch)


def _check_whole(header: BatchHeader, view: memoryview, position: int) -> memoryview:
    """Bytes of a batch, checked to be complete and to match the CRC."""
    batch = view[position : position + header.size_in_bytes]
    if len(batch) < header.size_in_bytes:
        raise CorruptMessageError(
            f"record batch of {header.size_in_bytes} bytes, but {len(batch)} are here"
        )
    check_crc(header, batch)
    return batch


class Walk(NamedTuple):
    """Result of a walk: the end of the valid batches, and why the next one is invalid, if it is."""

    position: int
    next_offset: int
    fault: str | None
    """None: the bytes end here, possibly within a batch, or the bound was reached."""


_WALKED = struct.Struct(">qiibIhi")
"""A header up to lastOffsetDelta: the fields that a walk checks."""


def walk(
    data: Buffer,
    *,
    next_offset: int,
    upper_bound: int,
    end_offset: int,
    run_at: Callable[[int], tuple[int, int]],
) -> Walk:
    """Validate the complete batches in `data`, from `next_offset` up to `upper_bound` (exclusive).

    The fields outside a batch's CRC are checked against its neighbours: base offset and length must
    continue the previous batch, and the epoch must be the one that `run_at` returns for the offset,
    together with the offset where that epoch's run ends. A batch beyond `upper_bound` is not
    CRC-checked, but must end at or below `end_offset`. This is the log's hot loop: one iteration
    per batch served.
    """
    view = memoryview(data)
    position, end_of_run, run_epoch, fault = 0, next_offset, -1, None
    while position + HEADER_BYTES <= len(view):
        base_offset, length, epoch, magic, crc, _, delta = _WALKED.unpack_from(view, position)
        end = position + length + LENGTH_PREFIX_BYTES
        if next_offset >= end_of_run:
            run_epoch, end_of_run = run_at(next_offset)
        if (
            base_offset != next_offset
            or magic != MAGIC
            or epoch != run_epoch
            or length < HEADER_BYTES - LENGTH_PREFIX_BYTES
            or delta < 0
        ):
            fault = (
                f"expected a batch at offset {next_offset} of epoch {run_epoch}, found base "
                f"offset {base_offset}, epoch {epoch}, length {length}, magic {magic}"
            )
            break
        if base_offset + delta >= upper_bound or end > len(view):
            if base_offset + delta >= end_offset:
                fault = f"the batch at offset {next_offset} claims {delta + 1} offsets"
            break
        if crc32c(view[position + CRC_START : end]) != crc:
            fault = f"the batch at offset {next_offset} does not match its CRC"
            break
        position, next_offset = end, base_offset + delta + 1
    return Walk(position, next_offset, fault)


def check_crc(header: BatchHeader, batch: Buffer) -> None:
    """Raise `CorruptMessageError` unless the CRC of the whole `batch` is the one in its header."""
    computed = crc32c(memoryview(batch)[CRC_START:])
    if computed != header.crc:
        raise CorruptMessageError(
            f"record batch at offset {header.base_offset} has CRC {computed:#010x}, "
            f"its header says {header.crc:#010x}"
        )


def validate_batches(
    buffer: Buffer, *, max_message_bytes: int
) -> list[tuple[BatchHeader, memoryview]]:
    """Validate a producer's batches without topic state; return the header and bytes of each.

    Raises `CorruptMessageError`, `MessageTooLargeError`, `InvalidRecordError` or
    `UnsupportedCompressionTypeError`: then append nothing of `buffer`.
    """
    view, position, batches = memoryview(buffer), 0, []
    while position < len(view):
        header = parse_header(view, position)
        # Size first: an oversized batch is refused for its size, even when it was cut in transit.
        _check_size(header, max_message_bytes)
        batch = _check_whole(header, view, position)
        _check_produced(header)
        batches.append((header, batch))
        position += len(batch)
    return batches


def _check_size(header: BatchHeader, max_message_bytes: int) -> None:
    if header.size_in_bytes > max_message_bytes:
        raise MessageTooLargeError(
            f"record batch of {header.size_in_bytes} bytes is above max.message.bytes="
            f"{max_message_bytes}: send smaller batches or raise the topic's limit"
        )


def _check_produced(header: BatchHeader) -> None:
    """Check what was sealed so by the producer: another attempt would not help."""
    count, codec_id = header.records_count, header.attributes & CODEC_MASK
    if count < 1 or count != header.last_offset_delta + 1:
        raise InvalidRecordError(
            f"record batch counts {count} records but its last offset delta is "
            f"{header.last_offset_delta}"
        )
    room = header.size_in_bytes - HEADER_BYTES
    if codec_id:
        room = inflation_limit(room)
    if count * MIN_RECORD_BYTES > room:
        raise InvalidRecordError(f"{count} records cannot fit {header.size_in_bytes} bytes")
    if header.attributes & CONTROL_FLAG:
        raise InvalidRecordError("control batches are written by brokers only")
    if codec_id > _LAST_CODEC:
        raise UnsupportedCompressionTypeError(
            f"record batch names codec {header.codec_id}, which does not exist"
        )


def assign_offsets(
    batches: Iterable[tuple[BatchHeader, memoryview]], *, base_offset: int, leader_epoch: int
) -> tuple[list[tuple[BatchHeader, memoryview]], list[Buffer]]:
    """Give the batches consecutive offsets from `base_offset` on; also return the pieces to write.

    Base offset and leader epoch are set by the leader and lie outside the CRC: nothing is copied.
    The batches in the first list keep the bytes they came with.
    """
    after: list[tuple[BatchHeader, memoryview]] = []
    pieces: list[Buffer] = []
    for header, batch in batches:
        place = (base_offset, header.batch_length, leader_epoch)
        header = tuple.__new__(BatchHeader, (*place, *header[len(place) :]))
        after.append((header, batch))
        pieces += (_PLACE.pack(*place), batch[_PLACE.size :])
        base_offset = header.next_offset
    return after, pieces


def set_append_time(
    header: BatchHeader, batch: memoryview, append_time_ms: int
) -> tuple[BatchHeader, memoryview]:
    """Set the batch's log append time, which applies to all its records (KIP-32)."""
    return _set_time(header, batch, append_time_ms, LOG_APPEND_TIME_FLAG)


def set_max_timestamp(
    header: BatchHeader, batch: memoryview, max_timestamp: int
) -> tuple[BatchHeader, memoryview]:
    """Set the newest timestamp of the batch's records, which keep their own."""
    return _set_time(header, batch, max_timestamp, 0)


def _set_time(
    header: BatchHeader, batch: memoryview, max_timestamp: int, flags: int
) -> tuple[BatchHeader, memoryview]:
    fields = header._replace(
        attributes=header.attributes & ~BROKER_TIME_FLAGS | flags, max_timestamp=max_timestamp
    )
    sealed = seal(fields, batch[HEADER_BYTES:])
    return parse_header(sealed), memoryview(sealed)


def set_sequence(
    batch: bytes,
    *,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    is_transactional: bool = False,
) -> bytes:
    """Set producer id, epoch and base sequence of a batch; its records are not encoded again."""
    header = parse_header(batch)
    fields = header._replace(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        attributes=header.attributes | (TRANSACTIONAL_FLAG if is_transactional else 0),
    )
    return seal(fields, memoryview(batch)[HEADER_BYTES:])


def seal(fields: BatchHeader, payload: Buffer) -> bytes:
    """Build a whole batch: `fields` with length and CRC computed, then `payload`."""
    batch = bytearray(HEADER_BYTES + len(payload))
    HEADER.pack_into(batch, 0, *fields)
    batch[HEADER_BYTES:] = payload
    _LENGTH.pack_into(batch, _LENGTH_AT, len(batch) - LENGTH_PREFIX_BYTES)
    struct.pack_into(">I", batch, CRC_START - 4, crc32c(memoryview(batch)[CRC_START:]))
    return bytes(batch)
