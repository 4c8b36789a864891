"""Producer state as a file: Kafka's `.snapshot`, version 1, byte for byte. Pure.

    file = version i16 = 1 | crc u32, CRC-32C of what follows | count of rows i32 | row*
    row  = producer id i64 | epoch i16 | last sequence i32 | last offset i64 | offset delta i32
         | timestamp i64 | coordinator epoch i32 | first offset of the open transaction i64

Missing values are -1. Kafka writes one row per producer, for its last batch. Here each remembered
batch of a producer has a row, oldest first: Kafka's reader keeps the last row of an id, which is
the row it would have written itself.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

from crc32c import crc32c

from tidelog.log.producers import BatchMetadata, ProducerEntry
from tidelog.records.batch import SEQUENCE_MASK

_VERSION = 1
_SEAL = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ROW = struct.Struct(">qhiqiqiq")
_NONE = -1
_NO_BATCH = BatchMetadata(_NONE, _NONE, _NONE, _NONE, _NONE)

_Row = tuple[int, int, int, int, int, int, int, int]


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """Encode `entries`; the last batch gets the timestamp of the marker that followed it."""
    rows = [_ROW.pack(*row) for entry in entries for row in _rows(entry)]
    body = _COUNT.pack(len(rows)) + b"".join(rows)
    return _SEAL.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> tuple[ProducerEntry, ...] | None:
    """Decode the producers of a complete file, in order; None when `data` is not one."""
    if len(data) < _SEAL.size + _COUNT.size:
        return None
    version, crc = _SEAL.unpack_from(data)
    body = memoryview(data)[_SEAL.size :]
    (count,) = _COUNT.unpack_from(body)
    rows = body[_COUNT.size :]
    if version != _VERSION or count * _ROW.size != len(rows) or crc != crc32c(body):
        return None
    by_producer: dict[int, list[_Row]] = {}
    for row in _ROW.iter_unpack(rows):
        by_producer.setdefault(row[0], []).append(row)
    return tuple(map(_entry, by_producer.values()))


def _rows(entry: ProducerEntry) -> Iterator[_Row]:
    unstable = entry.first_unstable_offset
    batches = entry.batches or (_NO_BATCH,)
    timestamps = (*(batch.timestamp_ms for batch in batches[:-1]), entry.timestamp_ms)
    for batch, timestamp_ms in zip(batches, timestamps, strict=True):
        yield (
            entry.producer_id,
            entry.producer_epoch,
            batch.last_sequence,
            batch.last_offset,
            batch.last_offset - batch.base_offset,
            timestamp_ms,
            entry.coordinator_epoch,
            _NONE if unstable is None else unstable,
        )


def _entry(rows: Sequence[_Row]) -> ProducerEntry:
    producer_id, epoch, _, _, _, timestamp_ms, coordinator_epoch, unstable = rows[-1]
    batches = tuple(map(_batch, rows)) if rows[-1][3] >= 0 else ()
    return ProducerEntry(
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        timestamp_ms=timestamp_ms,
        first_unstable_offset=unstable if unstable >= 0 else None,
        batches=batches,
    )


def _batch(row: _Row) -> BatchMetadata:
    _, _, last_sequence, last_offset, offset_delta, timestamp_ms, _, _ = row
    return BatchMetadata(
        base_sequence=(last_sequence - offset_delta) & SEQUENCE_MASK,
        last_sequence=last_sequence,
        base_offset=last_offset - offset_delta,
        last_offset=last_offset,
        timestamp_ms=timestamp_ms,
    )
