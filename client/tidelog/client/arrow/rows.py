"""The conversion of a table's columns to columns of records, and their checks. Pure.

Owns the columns that a writer takes, their types, and their errors, which name column and row:

    key, value   bytes or text, may be null
    headers      list of (key text, value bytes); null or empty: none
    partition    whole numbers; null: chosen by the key
    timestamp    of any unit, or whole numbers: milliseconds since 1970; null: now

Encodes headers only, in the form that records hold: see `record_bytes`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from tidelog.client.arrow.record_bytes import (
    RecordColumns,
    binary_lengths,
    joined,
    record_bounds,
    varint_rows,
    zigzag,
)
from tidelog.client.arrow.record_fields import Mask
from tidelog.client.arrow.varints import Int64s
from tidelog.core.errors import MessageTooLargeError

COLUMNS = ("key", "value", "headers", "partition", "timestamp")
TIMESTAMP_MS_END = 1 << 62
NO_PARTITION = -1


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of a table; `partitions` is None if the table names none, -1 if a row does not."""

    records: RecordColumns
    partitions: Int64s | None

    def __len__(self) -> int:
        return len(self.records)


def check_schema(schema: pa.Schema) -> None:
    """Raise ValueError for a column that is missing, unknown, duplicate, or of a wrong type."""
    unknown = [name for name in schema.names if name not in COLUMNS]
    if unknown:
        raise ValueError(
            f"column {unknown[0]!r} is not a column of records, which are {', '.join(COLUMNS)}: "
            "leave it out or rename it"
        )
    for name in schema.names:
        if schema.names.count(name) > 1:
            raise ValueError(f"column {name!r} is there {schema.names.count(name)} times")
    if "value" not in schema.names:
        raise ValueError("there is no column 'value': name it, with nulls for tombstones")
    for field in schema:
        wanted = _complaint(field.name, field.type)
        if wanted and not types.is_null(field.type):
            raise ValueError(f"column {field.name!r} is {field.type}, which is not {wanted}")


def pieces(batch: pa.RecordBatch, *, piece_bytes: int) -> Iterator[pa.RecordBatch]:
    """Slice the batch into pieces of at most `piece_bytes`, or of one row, without a copy."""
    if batch.num_rows <= 1 or batch.nbytes <= piece_bytes:
        if batch.num_rows:
            yield batch
        return
    middle = batch.num_rows // 2
    yield from pieces(batch.slice(0, middle), piece_bytes=piece_bytes)
    yield from pieces(batch.slice(middle), piece_bytes=piece_bytes)


def rows_of(
    batch: pa.RecordBatch, *, now_ms: int, record_bytes_max: int, first_row: int = 0
) -> TableRows:
    """The rows of a piece whose schema was checked.

    Raises ValueError for a value that no record can hold, MessageTooLargeError for a single row
    that exceeds the maximum record; both name the row, counted from `first_row`.
    """
    if batch.num_rows == 1:  # before memory is allocated for it
        _check_size(np.array([batch.nbytes]), record_bytes_max, first_row)
    columns = {name: batch.column(name) for name in batch.schema.names}
    keys = columns.get("key", pa.nulls(batch.num_rows, pa.binary()))
    records = RecordColumns(
        keys=_bytes(keys, "key"),
        values=_bytes(columns["value"], "value"),
        headers=_headers(columns.get("headers"), first_row),
        timestamps_ms=_timestamps(columns.get("timestamp"), batch.num_rows, now_ms, first_row),
    )
    return TableRows(records, _partitions(columns.get("partition"), first_row))


def check_rows(
    rows: TableRows, *, partitions_count: int, record_bytes_max: int, first_row: int = 0
) -> int:
    """Check that the topic can take the rows; return an upper bound for their records' bytes.

    Raises MessageTooLargeError for a record that is too large, ValueError for an unknown partition.
    """
    if rows.partitions is not None:
        complaint = (
            f"column 'partition': {{}} in row {{}}, but the topic has partitions 0 to "
            f"{partitions_count - 1}"
        )
        _check(rows.partitions < partitions_count, rows.partitions, complaint, first_row)
    sizes = record_bounds(rows.records, batch_size=record_bytes_max)
    _check_size(sizes, record_bytes_max, first_row)
    return int(sizes.sum())


def concatenate(parts: Sequence[TableRows]) -> TableRows:
    """Concatenate the rows of at least one part; together they must fit 2 GiB."""
    if len(parts) == 1:
        return parts[0]
    records = [part.records for part in parts]
    headers = None
    if any(one.headers is not None for one in records):
        headers = pa.concat_arrays(
            [_no_headers(len(one)) if one.headers is None else one.headers for one in records]
        )
    partitions = None
    if any(part.partitions is not None for part in parts):
        partitions = np.concatenate(
            [
                np.full(len(part), NO_PARTITION) if part.partitions is None else part.partitions
                for part in parts
            ]
        )
    return TableRows(
        RecordColumns(
            pa.concat_arrays([one.keys for one in records]),
            pa.concat_arrays([one.values for one in records]),
            headers,
            np.concatenate([one.timestamps_ms for one in records]),
        ),
        partitions,
    )


def _complaint(name: str, kind: pa.DataType) -> str | None:
    """The type that a column should have; None if it has."""
    match name:
        case "key" | "value":
            return None if _is_bytes(kind) else "binary or string"
        case "partition":
            return None if types.is_integer(kind) else "a whole number"
        case "timestamp":
            is_time = types.is_timestamp(kind) or types.is_integer(kind)
            return None if is_time else "a timestamp, nor whole milliseconds since 1970"
    is_list = types.is_list(kind) or types.is_large_list(kind)
    entry = kind.value_type if is_list else None
    if (
        entry is not None
        and types.is_struct(entry)
        and [field.name for field in entry] == ["key", "value"]
        and all(_is_bytes(field.type) or types.is_null(field.type) for field in entry)
    ):
        return None
    return "a list of struct<key: string, value: binary>"


def _is_bytes(kind: pa.DataType) -> bool:
    checks = (
        *(types.is_binary, types.is_string, types.is_large_binary, types.is_large_string),
        *(types.is_binary_view, types.is_string_view, types.is_fixed_size_binary),
    )
    return any(check(kind) for check in checks)


def _bytes(array: pa.Array, name: str) -> pa.Array:
    try:
        return array.cast(pa.binary())
    except pa.ArrowInvalid as error:  # more than 2 GiB, which views of a few bytes can claim
        raise ValueError(f"column {name!r}: {error}") from None


def _headers(lists: pa.Array | None, first_row: int) -> pa.Array | None:
    """Each row's headers as encoded in its record: their count, then the headers."""
    if lists is None or types.is_null(lists.type):
        return None
    counts = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
    if not counts.any():
        return None
    names, values = (_bytes(part, "headers") for part in lists.flatten().flatten())
    edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    if names.null_count:
        entry = int(names.is_null().index(True).as_py())
        row = int(edges.searchsorted(entry, side="right")) - 1
        raise ValueError(f"column 'headers': a header of row {first_row + row} has no key")
    entries = joined(
        varint_rows([zigzag(binary_lengths(names))]),
        names,
        varint_rows([zigzag(binary_lengths(values))]),
        values,
    )
    # The data of a joined array is contiguous, so the headers of a row are a run of bytes.
    ends = np.frombuffer(entries.buffers()[1], np.int32)[edges]
    buffers = [None, pa.py_buffer(ends), entries.buffers()[2]]
    return joined(
        varint_rows([zigzag(counts)]), pa.Array.from_buffers(pa.binary(), len(counts), buffers)
    )


def _no_headers(count: int) -> pa.Array:
    return varint_rows([np.zeros(count, np.uint64)])


def _timestamps(array: pa.Array | None, count: int, now_ms: int, first_row: int) -> Int64s:
    if array is None:
        return np.full(count, now_ms, np.int64)
    if types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("ms", array.type.tz), safe=False)
    times = _integers(array, "timestamp", default=now_ms)
    _check(
        (times >= 0) & (times < TIMESTAMP_MS_END),
        times,
        "column 'timestamp': {} in row {} is not milliseconds since 1970",
        first_row,
    )
    return times


def _partitions(array: pa.Array | None, first_row: int) -> Int64s | None:
    if array is None or array.null_count == len(array):
        return None
    given = _integers(array.drop_null(), "partition", default=NO_PARTITION)
    if (given < 0).any():
        partitions = _integers(array, "partition", default=0)
        _check(partitions >= 0, partitions, "column 'partition': {} in row {} is none", first_row)
    return _integers(array, "partition", default=NO_PARTITION)


def _integers(array: pa.Array, name: str, *, default: int) -> Int64s:
    try:
        numbers: Int64s = array.cast(pa.int64()).fill_null(default).to_numpy()
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {name!r}: {error}") from None
    return numbers


def _check(good: Mask, numbers: Int64s, complaint: str, first_row: int) -> None:
    if not good.all():
        row = int(good.argmin())
        raise ValueError(complaint.format(int(numbers[row]), first_row + row))


def _check_size(sizes: Int64s, record_bytes_max: int, first_row: int) -> None:
    if sizes.max(initial=0) > record_bytes_max:
        raise MessageTooLargeError(
            f"the record of row {first_row + int(sizes.argmax())} takes up to {sizes.max()} bytes, "
            f"above {record_bytes_max}: leave it out or raise max_request_size, and the topic's "
            "max.message.bytes"
        )
