"""Where a table's rows go: as Kafka's partitioner says, a column at a time."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.arrow_batches import Row, batch_of

from tidelog.client.arrow.key_hashes import positive_hashes
from tidelog.client.arrow.record_bytes import Run, record_bounds
from tidelog.client.arrow.row_partitions import RowPartitioning, by_partition
from tidelog.client.arrow.rows import TableRows, rows_of
from tidelog.client.producing.partitioners import murmur2

keys = st.lists(st.none() | st.binary(max_size=40), max_size=40)


def table(*rows: Row) -> TableRows:
    return rows_of(batch_of(list(rows)), now_ms=0, record_bytes_max=1 << 20)


def chosen(
    partitioning: RowPartitioning, rows: TableRows, *, available: tuple[int, ...] = (0, 1, 2)
) -> list[int]:
    sizes = record_bounds(rows.records, batch_size=1000)
    found: list[int] = partitioning.choose(rows, sizes, count=3, available=available).tolist()
    return found


@given(keys, st.integers(0, 40))
def test_hashes_are_murmur2_of_each_key(some: list[bytes | None], start: int) -> None:
    array = pa.array(some, pa.binary()).slice(start)
    assert positive_hashes(array).tolist() == [
        murmur2(key or b"") & 0x7FFFFFFF for key in some[start:]
    ]


@pytest.mark.parametrize("count", [3, 40])
def test_a_few_long_keys_among_many_short_ones_are_hashed_alike(count: int) -> None:
    some = [b"%d" % n for n in range(100)] + [bytes([n]) * (500 + n) for n in range(count)]
    expected = [murmur2(key) & 0x7FFFFFFF for key in some]
    assert positive_hashes(pa.array(some, pa.binary())).tolist() == expected


def test_what_lies_behind_a_null_key_is_not_hashed() -> None:
    buffers = [pa.py_buffer(b"\x02"), pa.array([0, 5, 8], pa.int32()).buffers()[1]]
    array = pa.Array.from_buffers(pa.binary(), 2, [*buffers, pa.py_buffer(b"ghostkey")])
    assert array.to_pylist() == [None, b"key"]
    assert positive_hashes(array).tolist() == [murmur2(k) & 0x7FFFFFFF for k in (b"", b"key")]


def test_a_named_partition_goes_before_the_key_and_the_key_before_the_turn() -> None:
    rows = table(Row(b"v", partition=2, key=b"k"), Row(b"v", key=b"k"), Row(b"v"))
    of_key = (murmur2(b"k") & 0x7FFFFFFF) % 3
    partitioning = RowPartitioning(first_turn=1, switch_bytes=1000)
    assert chosen(partitioning, rows) == [2, of_key, 1]


def test_rows_without_a_key_take_turns_by_bytes_whatever_the_tables_they_come_in() -> None:
    partitioning = RowPartitioning(first_turn=0, switch_bytes=1000)
    rows = table(*[Row(bytes(500))] * 3)
    found = chosen(partitioning, rows) + chosen(partitioning, rows)
    assert found == [0, 0, 1, 1, 2, 2]


def test_an_empty_key_is_a_key() -> None:
    partitioning = RowPartitioning(first_turn=0, switch_bytes=1)
    assert len(set(chosen(partitioning, table(*[Row(b"v", key=b"")] * 9)))) == 1


def test_turns_are_taken_by_the_partitions_with_a_leader() -> None:
    partitioning = RowPartitioning(first_turn=0, switch_bytes=1)
    found = chosen(partitioning, table(*[Row(b"v")] * 4), available=(0, 2))
    assert found == [0, 2, 0, 2]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=50))
def test_rows_are_grouped_by_partition_in_their_order(partitions: list[int]) -> None:
    rows = table(*(Row(b"%d" % n, partition=p) for n, p in enumerate(partitions)))
    named = rows.partitions
    assert named is not None
    records, runs = by_partition(rows.records, named)
    values = records.values.to_pylist()
    assert {run.partition: values[run.start : run.end] for run in runs} == {
        p: [b"%d" % n for n, one in enumerate(partitions) if one == p] for p in set(partitions)
    }
    assert runs == sorted(runs)
    assert (runs[0].start, runs[-1].end) == (0, len(partitions))
    assert all(isinstance(run, Run) for run in runs)
