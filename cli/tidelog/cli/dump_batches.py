"""`.log` files: the walk from batch to batch, and the lines of batches and records.

The walk holds one batch header at a time and reads the rest in pieces, so files may be of any size.
Only `--deep` reads whole batches, of a bounded size.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from crc32c import crc32c

from tidelog.cli.dump_files import Source
from tidelog.cli.dump_lines import Line, damage, note
from tidelog.cli.record_json import text_fields
from tidelog.core.errors import CorruptMessageError, TidelogError
from tidelog.log.checkpoints import CHECKPOINT_FILE
from tidelog.records.batch import (
    CONTROL_FLAG,
    CRC_START,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_FLAG,
    SEQUENCE_MASK,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    parse_header,
)
from tidelog.records.compression import Codec
from tidelog.records.records import Record, iter_records, read_marker

_PIECE_BYTES = 1 << 20
_DEEP_BATCH_BYTES_MAX = 64 << 20
_PREFIX = struct.Struct(">qi")
_OFFSETS_PER_BATCH_MAX = 1 << 31


class Step(NamedTuple):
    """The place where a batch begins or should begin; valid if `problem` is None."""

    position: int
    next_position: int | None
    """The position of the next batch; None when it cannot be determined."""
    header: BatchHeader | None
    problem: str | None = None


def walk(source: Source) -> Iterator[Step]:
    """Check the header and CRC of every batch, as far as each leads to the next.

    The walk skips a bad batch only if its length leads to the end of the file or to a header that
    can follow.
    """
    position: int | None = 0
    end = source.size()
    while position is not None and position < end:
        step = _step_at(source, position)
        yield step
        position = step.next_position


def dump_log(source: Source, *, is_deep: bool) -> Iterator[Line]:
    """A line per batch, with `is_deep` also one per record, and one per problem.

    Kafka's logs may lack offsets after compaction. Ours, recognised by their checkpoint, never do.
    """
    has_gaps = not source.path.with_name(CHECKPOINT_FILE).exists()
    expected: int | None = source.base_offset
    epoch = -1
    for position, next_position, header, problem in walk(source):
        if header is not None:
            yield _batch_line(header, position=position, is_valid=problem is None)
        if header is None or problem is not None:
            unread = source.size() - position if next_position is None else None
            yield damage(problem or "", position=position, offset=expected, unreadBytes=unread)
            expected = None
            continue
        where = {"position": position, "offset": header.base_offset}
        if header.partition_leader_epoch < epoch:
            yield damage(f"its leader epoch is below {epoch}, that of an earlier batch", **where)
        if expected is not None and header.base_offset != expected:
            is_gap = header.base_offset > expected
            line = note if is_gap and has_gaps else damage
            yield line(
                f"offset {expected} should {'come before' if is_gap else 'be'} here", **where
            )
        expected, epoch = header.next_offset, max(epoch, header.partition_leader_epoch)
        if is_deep:
            yield from _records(source, position, header)


def _step_at(source: Source, position: int) -> Step:
    head = source.read_at(position, HEADER_BYTES)
    try:
        header = parse_header(head)
    except CorruptMessageError as error:
        return Step(position, _trusted_end(source, position, head), None, str(error))
    end = position + header.size_in_bytes
    missing = end - source.size()
    if missing > 0:
        return Step(position, None, header, f"the file ends {missing} bytes before the batch does")
    crc = _crc(source, position + CRC_START, end)
    if crc != header.crc:
        problem = f"CRC {crc} of the batch is not the one in its header"
        return Step(position, _trusted_end(source, position, head), header, problem)
    return Step(position, end, header)


def _trusted_end(source: Source, position: int, head: bytes) -> int | None:
    """The end of a bad batch by its length, if what follows there confirms that length."""
    if len(head) < HEADER_BYTES:
        return None
    base_offset, length = _PREFIX.unpack_from(head)
    end = position + LENGTH_PREFIX_BYTES + int(length)
    if end == source.size():
        return end
    if end < position + HEADER_BYTES:
        return None
    try:
        following = parse_header(source.read_at(end, HEADER_BYTES))
    except CorruptMessageError:
        return None
    return end if 0 < following.base_offset - base_offset <= _OFFSETS_PER_BATCH_MAX else None


def _crc(source: Source, position: int, end: int) -> int:
    crc = 0
    while position < end:
        piece = source.read_at(position, min(_PIECE_BYTES, end - position))
        if not piece:
            break
        crc = crc32c(piece, crc)
        position += len(piece)
    return crc


def _batch_line(header: BatchHeader, *, position: int, is_valid: bool) -> Line:
    attributes = header.attributes
    return Line(
        "batch",
        {
            "baseOffset": header.base_offset,
            "lastOffset": header.last_offset,
            "count": header.records_count,
            "baseSequence": header.base_sequence,
            "lastSequence": _sequence(header, header.last_offset_delta),
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "partitionLeaderEpoch": header.partition_leader_epoch,
            "isTransactional": bool(attributes & TRANSACTIONAL_FLAG),
            "isControl": bool(attributes & CONTROL_FLAG),
            "deleteHorizonMs": header.base_timestamp if attributes & DELETE_HORIZON_FLAG else None,
            "position": position,
            _timestamp_type(header): header.max_timestamp,
            "size": header.size_in_bytes,
            "magic": header.magic,
            "compresscodec": _codec_name(header.codec_id),
            "crc": header.crc,
            "isvalid": is_valid,
        },
    )


def _records(source: Source, position: int, header: BatchHeader) -> Iterator[Line]:
    where = {"position": position, "offset": header.base_offset}
    if header.size_in_bytes > _DEEP_BATCH_BYTES_MAX:
        yield note("the batch is too large to decode its records", **where)
        return
    batch = source.read_at(position, header.size_in_bytes)
    try:
        marker = _marker(header, batch)
        for record in iter_records(batch):
            yield Line("record", {**_facts(header, record), **(marker or _content(record))})
    except TidelogError as error:
        yield damage(error.message, **where)


def _facts(header: BatchHeader, record: Record) -> dict[str, object]:
    return {
        "offset": record.offset,
        _timestamp_type(header): record.timestamp,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
        "sequence": _sequence(header, record.offset - header.base_offset),
        "headers": [{"key": name, **text_fields("value", value)} for name, value in record.headers],
    }


def _content(record: Record) -> dict[str, str | None]:
    return {**text_fields("key", record.key), **text_fields("payload", record.value)}


def _marker(header: BatchHeader, batch: bytes) -> dict[str, object] | None:
    """The fields of an end-of-transaction marker; None for Kafka's other control records."""
    if not header.attributes & CONTROL_FLAG:
        return None
    try:
        marker = read_marker(batch)
    except CorruptMessageError:
        return None
    return {
        "endTxnMarker": "COMMIT" if marker.is_commit else "ABORT",
        "coordinatorEpoch": marker.coordinator_epoch,
    }


def _sequence(header: BatchHeader, delta: int) -> int:
    base = header.base_sequence
    return base if base < 0 else (base + delta) & SEQUENCE_MASK


def _timestamp_type(header: BatchHeader) -> str:
    return "LogAppendTime" if header.attributes & LOG_APPEND_TIME_FLAG else "CreateTime"


def _codec_name(codec_id: int) -> str:
    return Codec(codec_id).name.lower() if codec_id in set(Codec) else str(codec_id)
