"""The positions of all fields of all records in whole fetch answers.

Owns the parsing of record batches v2 with numpy: the CRC32C of every batch and the bounds of every
field are checked, and no Python object is made per record. `record_walks` finds the starts of
records that do not come in runs of one length. Makes no columns: see `columns`.

    record v2:  length | attributes 1 B | timestamp delta | offset delta | key length | key
                | value length | value | header count | (key length, key, value length, value)*
    all numbers are zig-zag varints, a length of -1 is null
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from tidelog.client.arrow.record_walks import Stretch, read_varint, walk
from tidelog.client.arrow.varints import Bytes, Int64s, read_varints
from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import (
    CONTROL_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    MIN_RECORD_BYTES,
    BatchHeader,
    iter_batches,
)
from tidelog.records.compression import Codec, decompress
from tidelog.records.records import MAX_DECOMPRESSED_BYTES

Mask = npt.NDArray[np.bool_]

BODY_BYTES_MAX = 2**31 - 1
"""The maximum bytes of plain records per call: Arrow's binary columns count in 32 bits."""

_PAYING_RUN = 16
_SHORT_RUNS_MAX = 4
_PAST_END = "a field of a record does not lie within the record"


@dataclass(frozen=True, slots=True)
class RecordFields:
    """Fields as positions in `body` and lengths, -1 for null; one element per record."""

    body: bytes
    offsets: Int64s
    timestamps_ms: Int64s
    timestamp_types: Int64s
    key_positions: Int64s
    key_lengths: Int64s
    value_positions: Int64s
    value_lengths: Int64s
    header_positions: Int64s
    header_counts: Int64s
    ends: Int64s

    def select(self, wanted: Mask) -> RecordFields:
        """The records where `wanted` is true."""
        rest = {f.name: getattr(self, f.name)[wanted] for f in fields(self) if f.name != "body"}
        return replace(self, **rest)


def find_fields(data: bytes) -> RecordFields:
    """The fields of the records of whole batches, without control batches.

    Raises CorruptMessageError when a CRC, a length or a number is wrong,
    UnsupportedCompressionTypeError for a codec that is not installed.
    """
    return _find(*_plain_records(data))


def skip_fields(positions: Int64s, lengths: Int64s, limits: Int64s) -> Int64s:
    """The ends of fields that start at `positions`, at most `limits`; null takes no bytes."""
    taken = np.maximum(lengths, 0)
    if ((lengths < -1) | (taken > limits - positions)).any():
        raise CorruptMessageError(_PAST_END)
    return positions + taken


@dataclass(frozen=True, slots=True)
class _Section:
    """The records of one batch, uncompressed: `start` and `end` are positions in the body."""

    header: BatchHeader
    start: int
    end: int


def _plain_records(data: bytes) -> tuple[bytes, list[_Section]]:
    """A body with the plain records of all batches, and the place of each batch in it.

    The body is `data` itself when no batch is compressed.
    """
    sections, position = [], 0
    for header, _ in iter_batches(data):
        start, position = position + HEADER_BYTES, position + header.size_in_bytes
        if not header.attributes & CONTROL_FLAG:
            sections.append(_Section(header, start, position))
    if all(section.header.codec_id == Codec.NONE for section in sections):
        return data, sections
    body, plain = bytearray(), []
    for section in sections:
        start = len(body)
        body += decompress(
            section.header.codec_id,
            data[section.start : section.end],
            max_bytes=min(MAX_DECOMPRESSED_BYTES, BODY_BYTES_MAX - start),
        )
        plain.append(_Section(section.header, start, len(body)))
    return bytes(body), plain


def _find(body: bytes, sections: list[_Section]) -> RecordFields:
    data = np.frombuffer(body, dtype=np.uint8)
    try:
        starts = _record_starts(body, data, sections)
    except IndexError:
        raise CorruptMessageError(_PAST_END) from None
    lengths, position = read_varints(data, starts)
    ends = position + lengths
    timestamp_deltas, position = read_varints(data, position + 1)
    offset_deltas, position = read_varints(data, position)
    key_lengths, keys = read_varints(data, position)
    value_lengths, values = read_varints(data, skip_fields(keys, key_lengths, ends - 1))
    counts, headers = read_varints(data, skip_fields(values, value_lengths, ends - 1))
    if ((counts < 0) | (counts > ends - headers)).any():
        raise CorruptMessageError(_PAST_END)
    timestamps, timestamp_types = _timestamps(sections, timestamp_deltas)
    return RecordFields(
        body=body,
        offsets=_offsets(sections, offset_deltas),
        timestamps_ms=timestamps,
        timestamp_types=timestamp_types,
        key_positions=keys,
        key_lengths=key_lengths,
        value_positions=values,
        value_lengths=value_lengths,
        header_positions=headers,
        header_counts=counts,
        ends=ends,
    )


def _offsets(sections: list[_Section], deltas: Int64s) -> Int64s:
    bases = _per_record(sections, (s.header.base_offset for s in sections))
    last = _per_record(sections, (s.header.last_offset for s in sections))
    offsets: Int64s = bases + deltas
    if ((offsets < bases) | (offsets > last)).any() or (np.diff(offsets) <= 0).any():
        raise CorruptMessageError("offsets do not grow from record to record within their batch")
    return offsets


def _timestamps(sections: list[_Section], deltas: Int64s) -> tuple[Int64s, Int64s]:
    """Timestamps in milliseconds, and Kafka's timestamp types: 0 CreateTime, 1 LogAppendTime."""
    types = _per_record(sections, (s.header.attributes & LOG_APPEND_TIME_FLAG for s in sections))
    bases = _per_record(sections, (s.header.base_timestamp for s in sections))
    appended = _per_record(sections, (s.header.max_timestamp for s in sections))
    return np.where(types > 0, appended, bases + deltas), np.minimum(types, 1)


def _per_record(sections: list[_Section], values: Iterable[int]) -> Int64s:
    """Repeat the value of each batch for each of its records."""
    counts = [section.header.records_count for section in sections]
    return np.repeat(np.fromiter(values, np.int64, len(sections)), counts)


def _record_starts(body: bytes, data: Bytes, sections: list[_Section]) -> Int64s:
    """The start of each record of all batches.

    Records mostly come in runs of one length, see `_runs`; the others are walked.
    """
    runs = [_runs(body, data, section) for section in sections]
    walks = walk(body, [rest for _, rest in runs])
    starts = [np.empty(0, np.int64)]
    for section, (found, _), (rest, end) in zip(sections, runs, walks, strict=True):
        if end != section.end:
            raise CorruptMessageError("the records of a batch do not end where the batch ends")
        starts += [*found, rest]
    return np.concatenate(starts)


def _runs(body: bytes, data: Bytes, section: _Section) -> tuple[list[Int64s], Stretch]:
    """The starts of a batch's first records, which come in runs, and the stretch of the others.

    One strided comparison of the length prefixes finds the end of a run. The search ends after
    `_SHORT_RUNS_MAX` runs that are too short to pay for it.
    """
    count, position, end = section.header.records_count, section.start, section.end
    if count * MIN_RECORD_BYTES > end - position:
        raise CorruptMessageError(f"{count} records do not fit {end - position} bytes")
    runs, found, short_runs = [], 0, 0
    while found < count and short_runs < _SHORT_RUNS_MAX:
        length, content = read_varint(body, position)
        size = content + length - position
        if not MIN_RECORD_BYTES <= size <= end - position:
            raise CorruptMessageError(f"a record claims {length} bytes at byte {position}")
        room = min(count - found, (end - position) // size)
        run = _run_length(data[position:end], prefix=body[position:content], step=size, limit=room)
        runs.append(np.arange(run, dtype=np.int64) * size + position)
        position, found = position + run * size, found + run
        short_runs += run < _PAYING_RUN
    return runs, Stretch(position, end, count - found)


def _run_length(data: Bytes, *, prefix: bytes, step: int, limit: int) -> int:
    """The number of leading positions 0, step, 2 * step… with `prefix`, of `limit`; 0 has it."""
    if limit == 1 or data[step : step + len(prefix)].tobytes() != prefix:
        return 1
    same = np.ones(limit, dtype=np.bool_)
    for index, byte in enumerate(prefix):
        same &= data[index : (limit - 1) * step + index + 1 : step] == byte
    return limit if same.all() else int(same.argmin())
