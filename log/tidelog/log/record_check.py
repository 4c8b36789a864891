"""Validation of the records inside a produced batch against its header. Pure.

A batch with a valid CRC may contain anything: every reader would stop at a malformed one until an
operator seeks past it. So the leader walks the records as readers do: the record count matches,
fields fill each record exactly, offset deltas are 0, 1, 2…, timestamps fit into 64 bits, keys exist
if the topic is compacted, and no byte follows. Records of one length are compared by column
(`record_runs`), others walked one by one; nothing is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.core.errors import CorruptMessageError, InvalidRecordError, MessageTooLargeError
from tidelog.records.batch import HEADER_BYTES, MIN_RECORD_BYTES, BatchHeader
from tidelog.records.compression import TooLargeInflatedError, decompress
from tidelog.records.record_runs import PAYING_RECORDS, skip_plain, skip_run
from tidelog.records.varints import NULL_BYTE, decode_varint

INFLATED_TIMES_MAX = 16
"""Maximum inflated size of a batch's records, as a multiple of max.message.bytes."""
_RUN_RECORDS_MAX = 4096
_TURN_RECORDS = 256
_SLICE_TURNS = 4
"""Turns per slice: half a millisecond for turns of 256 records of varying lengths, or long runs."""
_TIMESTAMP_END = 2**63
_SHORT_TIMESTAMP_BYTES = 4
_SHORT_TIMESTAMP_MAX = 1 << 28
"""Bound of the absolute value of a timestamp delta of up to four bytes."""


class _Place(NamedTuple):
    """Position of a record and its offset delta."""

    position: int
    delta: int


_START = _Place(0, 0)


def check_records(header: BatchHeader, batch: memoryview, *, needs_keys: bool) -> None:
    """Validate the records of an uncompressed batch. Raises `InvalidRecordError`."""
    if header.records_count < PAYING_RECORDS:
        data: bytes | memoryview = batch[HEADER_BYTES : header.size_in_bytes]
        place = _START
    else:
        data, place = _make_contiguous(header, batch)
    _walk_turns(header, data, place, turns=header.records_count, needs_keys=needs_keys)


def record_slices(header: BatchHeader, batch: memoryview, *, needs_keys: bool) -> Iterator[None]:
    """Validate as `check_records`, yielding between slices so that other work can run."""
    data, place = _make_contiguous(header, batch)
    while True:
        place = _walk_turns(header, data, place, turns=_SLICE_TURNS, needs_keys=needs_keys)
        if place.delta >= header.records_count:
            return
        yield


def check_compressed_records(
    header: BatchHeader, batch: memoryview, *, needs_keys: bool, max_message_bytes: int
) -> None:
    """Inflate a batch and validate its records.

    Raises `InvalidRecordError`; `MessageTooLargeError` when they inflate beyond
    `INFLATED_TIMES_MAX` times `max_message_bytes`; `CorruptMessageError` when they do not inflate.
    """
    limit = INFLATED_TIMES_MAX * max_message_bytes
    packed = batch[HEADER_BYTES : header.size_in_bytes]
    try:
        data = decompress(header.codec_id, packed, max_bytes=limit)
    except TooLargeInflatedError as error:
        raise MessageTooLargeError(
            f"the records of a batch inflate to more than {limit} bytes, which is "
            f"{INFLATED_TIMES_MAX} times max.message.bytes={max_message_bytes}: send smaller "
            "batches or raise the topic's limit"
        ) from error
    _walk_turns(header, data, _START, turns=header.records_count, needs_keys=needs_keys)


def _make_contiguous(header: BatchHeader, batch: memoryview) -> tuple[bytes, _Place]:
    """The batch as `bytes`, needed for the strided slices of runs, and where its records begin.

    Copied only where other batches precede or follow it.
    """
    whole = batch.obj
    if isinstance(whole, bytes) and len(whole) == header.size_in_bytes == len(batch):
        return whole, _Place(HEADER_BYTES, 0)
    return bytes(batch[HEADER_BYTES : header.size_in_bytes]), _START


def _walk_turns(
    header: BatchHeader, data: bytes | memoryview, start: _Place, *, turns: int, needs_keys: bool
) -> _Place:
    """Walk that many turns from `start`, each past at least one record; return where they end."""
    try:
        place = _walk(header, data, start, turns, needs_keys=needs_keys)
    except (IndexError, CorruptMessageError) as error:
        raise InvalidRecordError(f"a record ends before its fields do: {error}") from error
    left_bytes = len(data) - place.position
    if left_bytes and place.delta == header.records_count:
        raise InvalidRecordError(f"{left_bytes} bytes follow the last record of the batch")
    return place


def _walk(
    header: BatchHeader,
    data: bytes | memoryview,
    start: _Place,
    turns: int,
    *,
    needs_keys: bool,
) -> _Place:
    count = header.records_count
    if count * MIN_RECORD_BYTES > len(data):
        raise InvalidRecordError(f"{count} records cannot fit {len(data)} bytes")
    base = header.base_timestamp
    is_base_plain = abs(base) < _TIMESTAMP_END - _SHORT_TIMESTAMP_MAX
    position, delta = start
    while delta < count and turns:
        turns -= 1
        left = count - delta
        if left >= PAYING_RECORDS and is_base_plain and isinstance(data, bytes):
            position, taken = _skip(data, position, delta, left, needs_keys=needs_keys)
            delta += taken
            if taken >= PAYING_RECORDS:
                continue
        stop = min(count, delta + _TURN_RECORDS)
        position = _one_by_one(data, position, base, range(delta, stop), needs_keys=needs_keys)
        delta = stop
    return _Place(position, delta)


def _skip(
    data: bytes, position: int, delta: int, left: int, *, needs_keys: bool
) -> tuple[int, int]:
    """Skip common records; return their end and number, possibly 0."""
    run = skip_run(data, position, first_delta=delta, limit=min(left, _RUN_RECORDS_MAX))
    if (
        run is not None
        and run.timestamp_bytes <= _SHORT_TIMESTAMP_BYTES
        and (run.has_keys or not needs_keys)
    ):
        return run.end, run.records_count
    return skip_plain(
        data, position, first_delta=delta, limit=min(left, _TURN_RECORDS), needs_keys=needs_keys
    )


def _one_by_one(
    data: bytes | memoryview, position: int, base: int, deltas: range, *, needs_keys: bool
) -> int:
    """Walk the records with these offset deltas; return their end. Flat: runs once per record."""
    decode, size = decode_varint, len(data)
    for delta in deltas:
        byte = data[position]
        if byte & 0x81:
            length, position = decode(data, position)
        else:
            length, position = byte >> 1, position + 1
        end = position + length
        if length < MIN_RECORD_BYTES - 1 or end > size:
            raise InvalidRecordError(f"record {delta} of the batch claims {length} bytes")
        position += 1  # attributes: no bit is used
        if data[position]:
            timestamp_delta, position = decode(data, position)
            if not -_TIMESTAMP_END <= base + timestamp_delta < _TIMESTAMP_END:
                raise InvalidRecordError(f"record {delta} has a timestamp beyond 64 bits")
        else:
            position += 1
        byte = data[position]
        if byte & 0x81:
            found, position = decode(data, position)
        else:
            found, position = byte >> 1, position + 1
        if found != delta:
            raise InvalidRecordError(f"record {delta} of the batch has offset delta {found}")
        byte = data[position]
        if byte == NULL_BYTE:
            if needs_keys:
                raise InvalidRecordError(
                    f"record {delta} of the batch has no key, but a compacted topic keeps records "
                    "by key: give it one"
                )
            position += 1
        else:
            position = _past_bytes(data, position, end)
        byte = data[position]
        position = position + 1 if byte == NULL_BYTE else _past_bytes(data, position, end)
        position = position + 1 if data[position] == 0 else _past_headers(data, position, end)
        if position != end:
            raise InvalidRecordError(
                f"record {delta} of the batch differs by {end - position} bytes from its length"
            )
    return position


def _past_bytes(data: bytes | memoryview, position: int, end: int) -> int:
    byte = data[position]
    if byte & 0x81:
        length, position = decode_varint(data, position)
    else:
        length, position = byte >> 1, position + 1
    if not 0 <= length < end - position + 1:
        raise InvalidRecordError(f"a field claims {length} bytes, {end - position} are left")
    return position + length


def _past_headers(data: bytes | memoryview, position: int, end: int) -> int:
    count, position = decode_varint(data, position)
    if not 0 <= count <= (end - position) // 2:
        raise InvalidRecordError(f"a record claims {count} headers")
    for _ in range(count):
        start = position
        position = _past_bytes(data, position, end)
        _check_name(data, start, position)
        position = position + 1 if data[position] == NULL_BYTE else _past_bytes(data, position, end)
    return position


def _check_name(data: bytes | memoryview, start: int, end: int) -> None:
    """Check that a header's name is UTF-8, since readers return it as text."""
    _, start = decode_varint(data, start)
    try:
        str(data[start:end], "utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRecordError(f"the name of a record's header is not UTF-8: {error}") from error
