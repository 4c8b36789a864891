"""The encoder of whole tables: columns to record batches v2, the reverse of `record_fields`.

Owns the ends of batches and the layout of every record: numpy computes numbers, Arrow joins bytes,
and no Python object is made per record. Columns of tables are checked by `rows`, partitions are
chosen elsewhere. The caller checks lengths: see `RecordColumns`.

    record v2:  length | attributes 1 B | timestamp delta | offset delta | key length   <- prefix
                | key | value length | value | header count | headers
    all numbers are zig-zag varints, a length of -1 is null
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.client.arrow.varints import Int64s
from tidelog.core.errors import invariant
from tidelog.records.batch import HEADER_BYTES, MAGIC, MIN_RECORD_BYTES, BatchHeader, Buffer, seal
from tidelog.records.compression import Codec, compress

UInt64s = npt.NDArray[np.uint64]

SLAB_BYTES = 1 << 20
"""The bytes encoded at a time, at least one batch: the limit of a pause of the event loop."""

_SEPTET_BITS = np.uint64(7)
_SEPTET = np.uint64(0x7F)
_LENGTH_VARINT_BYTES_MAX = 5
_NO_HEADERS = pa.scalar(b"\0", pa.binary())


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """The columns of records, one element per record, in order; at most 2 GiB of bytes each.

    `headers` are encoded as in a record, their count included; None: no record has any.
    """

    keys: pa.Array
    values: pa.Array
    headers: pa.Array | None
    timestamps_ms: Int64s

    def __len__(self) -> int:
        return len(self.timestamps_ms)

    def take(self, rows: Int64s) -> RecordColumns:
        """The given rows, in this order."""
        places = pa.array(rows)
        return RecordColumns(
            self.keys.take(places),
            self.values.take(places),
            None if self.headers is None else self.headers.take(places),
            self.timestamps_ms[rows],
        )

    def slice(self, start: int, end: int) -> RecordColumns:
        """Rows `start` to `end`, without a copy."""
        count = end - start
        return RecordColumns(
            self.keys.slice(start, count),
            self.values.slice(start, count),
            None if self.headers is None else self.headers.slice(start, count),
            self.timestamps_ms[start:end],
        )


class Run(NamedTuple):
    """Rows `start` to `end`, which go to one partition."""

    partition: int
    start: int
    end: int


class EncodedBatch(NamedTuple):
    """A whole batch without producer id, epoch and sequence."""

    data: bytes
    records_count: int


def binary_lengths(array: pa.Array) -> Int64s:
    """The lengths of the byte strings in a binary array; -1 for null."""
    if not len(array):
        return np.empty(0, np.int64)
    edges = np.frombuffer(array.buffers()[1], np.int32)[array.offset :][: len(array) + 1]
    lengths: Int64s = np.diff(edges).astype(np.int64)
    if array.null_count:
        lengths[array.is_null().to_numpy(zero_copy_only=False)] = -1
    return lengths


def zigzag(numbers: Int64s) -> UInt64s:
    """Zig-zag encoding of signed numbers: small numbers of either sign stay small."""
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)


def varint_sizes(numbers: UInt64s) -> Int64s:
    """The size of each number as a varint, in bytes."""
    sizes = np.ones(len(numbers), np.int64)
    most, shift = int(numbers.max(initial=0)), 7
    while most >> shift:
        sizes += numbers >= np.uint64(1 << shift)
        shift += 7
    return sizes


def varint_rows(columns: Sequence[UInt64s]) -> pa.Array:
    """The varints of each row, concatenated, as a binary array."""
    cells, used = [], []
    for rest in columns:
        place, most = 0, int(rest.max(initial=0))
        while place == 0 or most >> (7 * place):
            following = rest >> _SEPTET_BITS
            cells.append((rest & _SEPTET) | ((following > 0).astype(np.uint64) << _SEPTET_BITS))
            used.append(None if place == 0 else rest > 0)
            rest, place = following, place + 1
    count = len(columns[0])
    matrix, mask = np.empty((count, len(cells)), np.uint8), np.ones((count, len(cells)), np.bool_)
    for column, (cell, is_used) in enumerate(zip(cells, used, strict=True)):
        matrix[:, column] = cell
        if is_used is not None:
            mask[:, column] = is_used
    edges = np.zeros(count + 1, np.int32)
    np.cumsum(mask.sum(axis=1, dtype=np.int32), out=edges[1:])
    packed = matrix.ravel() if edges[-1] == matrix.size else matrix[mask]
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(packed)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def joined(*parts: pa.Array | pa.Scalar) -> pa.Array:
    """Concatenate the parts row by row; null counts as empty."""
    return pc.binary_join_element_wise(*parts, b"", null_handling="replace", null_replacement=b"")


def record_bounds(columns: RecordColumns, *, batch_size: int) -> Int64s:
    """An upper bound for the bytes of each record in any batch of at most `batch_size` bytes."""
    keys, values = binary_lengths(columns.keys), binary_lengths(columns.values)
    bounds = np.maximum(keys, 0) + np.maximum(values, 0)
    bounds += varint_sizes(zigzag(keys)) + varint_sizes(zigzag(values))
    bounds += 1 if columns.headers is None else binary_lengths(columns.headers)
    times = columns.timestamps_ms
    spread = int(times.max(initial=0)) - int(times.min(initial=0)) if len(times) else 0
    largest = np.array([spread, -spread, batch_size // MIN_RECORD_BYTES], np.int64)
    deltas = varint_sizes(zigzag(largest))
    attributes = 1
    bounds += _LENGTH_VARINT_BYTES_MAX + attributes + int(deltas[:2].max() + deltas[2])
    return bounds


def encoded(
    columns: RecordColumns,
    runs: Sequence[Run],
    *,
    batch_size: int,
    codec: Codec,
    level: int | None = None,
) -> Iterator[tuple[int, EncodedBatch]]:
    """Yield the batches of each run with its partition; runs are adjacent, from row 0 on.

    A batch has at most `batch_size` bytes before compression, or a single record. About
    `SLAB_BYTES` are encoded at a time, when the first batch of them is requested.
    """
    sizes = record_bounds(columns, batch_size=batch_size)
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    for partitions, edges in _slabs(bounds, runs, batch_size):
        batches = encode(columns, edges, codec=codec, level=level)
        yield from zip(partitions, batches, strict=True)


def _slabs(
    bounds: Int64s, runs: Sequence[Run], batch_size: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Group batches to encode together: their partitions, and the rows at their edges."""
    partitions: list[int] = []
    edges = [0]
    for partition, end in _batch_ends(bounds, runs, batch_size):
        if partitions and bounds[end] - bounds[edges[0]] > SLAB_BYTES:
            yield partitions, edges
            partitions, edges = [], edges[-1:]
        partitions.append(partition)
        edges.append(end)
    if partitions:
        yield partitions, edges


def _batch_ends(bounds: Int64s, runs: Sequence[Run], batch_size: int) -> Iterator[tuple[int, int]]:
    """The partition and exclusive end row of every batch; `bounds` are cumulative record sizes."""
    for partition, start, end in runs:
        while start < end:
            room = int(bounds[start]) + batch_size - HEADER_BYTES
            start = min(end, max(start + 1, int(bounds.searchsorted(room, side="right")) - 1))
            yield partition, start


def encode(
    columns: RecordColumns, edges: Sequence[int], *, codec: Codec, level: int | None
) -> list[EncodedBatch]:
    """Encode the records from each edge to the next as a batch.

    All records together must fit 2 GiB.
    """
    places = np.array(edges, np.int64) - edges[0]
    columns = columns.slice(edges[0], edges[-1])
    times, starts, counts = columns.timestamps_ms, places[:-1], places[1:] - places[:-1]
    base_times: Int64s = times[starts]
    newest = np.maximum.reduceat(times, starts)
    records = _records(
        columns,
        timestamp_deltas=times - np.repeat(base_times, counts),
        offset_deltas=np.arange(len(times)) - np.repeat(starts, counts),
    )
    ends = np.frombuffer(records.buffers()[1], np.int32)[places].tolist()
    body = memoryview(records.buffers()[2])
    return [
        EncodedBatch(
            seal(
                _header(codec, count, base_timestamp=base, max_timestamp=most),
                _pack(codec, body[start:end], level=level),
            ),
            count,
        )
        for count, base, most, start, end in zip(
            counts.tolist(), base_times.tolist(), newest.tolist(), ends, ends[1:], strict=False
        )
    ]


def _pack(codec: Codec, records: memoryview, *, level: int | None) -> Buffer:
    return records if codec is Codec.NONE else compress(codec, bytes(records), level=level)


def _records(
    columns: RecordColumns, *, timestamp_deltas: Int64s, offset_deltas: Int64s
) -> pa.Array:
    """The bytes of each record: a binary array whose data is the concatenated records."""
    keys, values = binary_lengths(columns.keys), binary_lengths(columns.values)
    deltas = [zigzag(timestamp_deltas), zigzag(offset_deltas)]
    key_lengths, value_lengths = zigzag(keys), zigzag(values)
    sizes = np.maximum(keys, 0) + np.maximum(values, 0)
    for numbers in (*deltas, key_lengths, value_lengths):
        sizes += varint_sizes(numbers)
    attributes = np.zeros(len(columns), np.uint64)
    sizes += 1
    sizes += 1 if columns.headers is None else binary_lengths(columns.headers)
    lengths = zigzag(sizes)
    prefix = [lengths, attributes, *deltas, key_lengths]
    headers = _NO_HEADERS if columns.headers is None else columns.headers
    if (keys <= 0).all():
        records = joined(varint_rows([*prefix, value_lengths]), columns.values, headers)
    else:
        after_key = varint_rows([value_lengths])
        records = joined(varint_rows(prefix), columns.keys, after_key, columns.values, headers)
    written = int(sizes.sum() + varint_sizes(lengths).sum())
    # A record that contradicts its length would be stored and could never be read again.
    invariant(len(records.buffers()[2]) >= written == _joined_bytes(records), written)
    return records


def _joined_bytes(array: pa.Array) -> int:
    return int(np.frombuffer(array.buffers()[1], np.int32)[len(array)])


def _header(codec: Codec, count: int, *, base_timestamp: int, max_timestamp: int) -> BatchHeader:
    """A header without base offset, leader epoch and producer's numbers."""
    return BatchHeader(
        base_offset=0,
        batch_length=0,
        partition_leader_epoch=-1,
        magic=MAGIC,
        crc=0,
        attributes=codec,
        last_offset_delta=count - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        records_count=count,
    )
