"""Columns to record batches: byte for byte what encoding record by record makes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.arrow_batches import Row, batch_of, rows

from tidelog.client.arrow.record_bytes import (
    RecordColumns,
    Run,
    encode,
    encoded,
    record_bounds,
    varint_rows,
    varint_sizes,
    zigzag,
)
from tidelog.client.arrow.rows import concatenate, rows_of
from tidelog.records.batch import validate_batches
from tidelog.records.compression import Codec
from tidelog.records.records import BatchBuilder, Record, encode_batch, iter_records
from tidelog.records.varints import encode_varint

NOW_MS = 1_700_000_000_000
HUGE = 1 << 30


def columns_of(some: list[Row]) -> RecordColumns:
    return rows_of(batch_of(some), now_ms=NOW_MS, record_bytes_max=HUGE).records


def records_of(some: list[Row]) -> list[Record]:
    return [
        Record(0, NOW_MS if r.timestamp is None else r.timestamp, r.key, r.value, r.headers or ())
        for r in some
    ]


def cut(some: list[Row], places: list[int]) -> list[int]:
    return sorted({0, len(some), *(place % len(some) for place in places)})


@given(
    st.lists(rows, min_size=1, max_size=60),
    st.lists(st.integers(0, 60), max_size=5),
    st.sampled_from(Codec),
)
def test_batches_are_byte_for_byte_those_of_the_record_by_record_encoder(
    some: list[Row], places: list[int], codec: Codec
) -> None:
    edges = cut(some, places)
    batches = encode(columns_of(some), edges, codec=codec, level=None)
    records = records_of(some)
    assert [batch.data for batch in batches] == [
        encode_batch(records[start:end], compression=codec) for start, end in pairwise(edges)
    ]
    assert [batch.records_count for batch in batches] == np.diff(edges).tolist()


@given(
    st.lists(rows, min_size=1, max_size=60),
    st.integers(70, 2000),
    st.lists(st.integers(0, 60), max_size=3),
)
def test_batches_keep_to_their_size_and_hold_every_record_once_in_order(
    some: list[Row], batch_size: int, places: list[int]
) -> None:
    edges = cut(some, places)
    runs = [Run(start % 7, start, end) for start, end in pairwise(edges)]
    found: list[tuple[int, list[Record]]] = []
    for partition, batch in encoded(
        columns_of(some), runs, batch_size=batch_size, codec=Codec.NONE
    ):
        [(header, _)] = validate_batches(batch.data, max_message_bytes=HUGE)
        assert header.size_in_bytes <= batch_size or header.records_count == 1
        assert header.records_count == batch.records_count
        found.append((partition, list(iter_records(batch.data))))
    assert [r._replace(offset=0) for _, batch in found for r in batch] == records_of(some)
    expected = [run.partition for run in runs for _ in range(run.start, run.end)]
    assert [partition for partition, batch in found for _ in batch] == expected


def test_batches_are_nearly_full() -> None:
    some = [Row(bytes(100), timestamp=NOW_MS + at) for at in range(5000)]
    batches = list(
        encoded(columns_of(some), [Run(0, 0, 5000)], batch_size=50_000, codec=Codec.NONE)
    )
    assert all(len(batch.data) > 46_000 for _, batch in batches[:-1])


@given(st.lists(rows, min_size=1, max_size=30))
def test_bounds_are_at_least_the_sizes_of_records_and_close_to_them(some: list[Row]) -> None:
    bounds = record_bounds(columns_of(some), batch_size=1 << 20)
    for row, record, bound in zip(some, records_of(some), bounds.tolist(), strict=True):
        builder = BatchBuilder()
        before = builder.size_in_bytes
        size = builder.append(
            timestamp_ms=record.timestamp,
            key=row.key,
            value=row.value,
            headers=record.headers,
        )
        assert size - before <= bound <= size - before + 20


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300), min_size=1))
def test_varints_are_those_of_the_record_codec(numbers: list[int]) -> None:
    coded = zigzag(np.array(numbers, np.int64))
    assert varint_rows([coded]).to_pylist() == [encode_varint(number) for number in numbers]
    assert varint_sizes(coded).tolist() == [len(encode_varint(number)) for number in numbers]


def test_a_record_whose_length_would_be_wrong_stops_the_encoder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    columns = columns_of([Row(b"value")])
    monkeypatch.setattr(
        "tidelog.client.arrow.record_bytes.binary_lengths", lambda array: np.full(len(array), 4)
    )
    with pytest.raises(Exception, match="invariant"):
        encode(columns, [0, 1], codec=Codec.NONE, level=None)


@given(st.lists(st.lists(rows, min_size=1, max_size=10), min_size=1, max_size=4))
def test_gathered_parts_are_their_rows_one_after_the_other(parts: list[list[Row]]) -> None:
    split = [rows_of(batch_of(part), now_ms=0, record_bytes_max=HUGE) for part in parts]
    whole = concatenate(split)
    every = [row for part in parts for row in part]
    assert whole.partitions is None or whole.partitions.tolist() == [
        -1 if row.partition is None else row.partition for row in every
    ]
    [batch] = encode(whole.records, [0, len(every)], codec=Codec.NONE, level=None)
    assert batch.data == encode_batch(records_of(every))


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.string(), pa.large_binary(), pa.large_string(), pa.binary_view(), pa.string_view()),
        pa.binary(3),
    ],
    ids=str,
)
def test_every_type_of_bytes_and_text_is_taken(kind: pa.DataType) -> None:
    array = pa.array(["abc", None, "xyz"]).cast(pa.binary()).cast(kind)
    batch = pa.record_batch({"key": array.slice(1), "value": array.slice(0, 2)})
    found = rows_of(batch, now_ms=5, record_bytes_max=HUGE).records
    assert found.keys.to_pylist() == [None, b"xyz"]
    assert found.values.to_pylist() == [b"abc", None]
