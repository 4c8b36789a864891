"""How a read is spread over tasks: minPartitions, maxRecordsPerPartition."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.spark.option_values import OptionError
from tidelog.spark.range_splits import TASKS_MAX, split_ranges


def ranges_of(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange("t", b"id", n, 100, 100 + size) for n, size in enumerate(sizes)]


def spread(
    *sizes: int, min_partitions: int | None = None, max_records: int | None = None
) -> list[list[int]]:
    """Sizes of the pieces of each range."""
    pieces = split_ranges(ranges_of(*sizes), min_partitions=min_partitions, max_records=max_records)
    return [
        [p.end_offset - p.start_offset for p in pieces if p.partition == n]
        for n in range(len(sizes))
    ]


@pytest.mark.parametrize(
    ("sizes", "options", "expected"),
    [
        # Without an option, and where there are enough: one task a range, none for an empty one.
        ((5, 0, 3), {}, [[5], [], [3]]),
        ((5, 3), {"min_partitions": 2}, [[5], [3]]),
        ((5, 3, 1), {"min_partitions": 2}, [[5], [3], [1]]),
        # In proportion to the size.
        ((10,), {"min_partitions": 4}, [[2, 3, 2, 3]]),
        ((90, 30), {"min_partitions": 4}, [[30, 30, 30], [30]]),
        # A small one is one task, and the large one is divided into what is left.
        ((10_000, 1, 1), {"min_partitions": 6}, [[2500, 2500, 2500, 2500], [1], [1]]),
        # An empty one counts for nothing.
        ((0, 8), {"min_partitions": 2}, [[], [4, 4]]),
        # Not more tasks than offsets.
        ((2,), {"min_partitions": 9}, [[1, 1]]),
        ((0,), {"min_partitions": 9}, [[]]),
        # No task has more than so many.
        ((10, 4), {"max_records": 4}, [[3, 3, 4], [4]]),
        ((10,), {"max_records": 10}, [[10]]),
        # Both: divided further where it is not enough, left alone where it is.
        ((10,), {"max_records": 5, "min_partitions": 4}, [[2, 3, 2, 3]]),
        ((10,), {"max_records": 2, "min_partitions": 4}, [[2, 2, 2, 2, 2]]),
    ],
)
def test_a_range_is_divided_as_kafkas_connector_says(
    sizes: tuple[int, ...], options: dict[str, int], expected: list[list[int]]
) -> None:
    assert spread(*sizes, **options) == expected


@pytest.mark.parametrize("options", [{"max_records": 1}, {"min_partitions": TASKS_MAX + 1}])
def test_more_tasks_than_spark_can_bear_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(
        OptionError, match=f"{TASKS_MAX + 1} tasks, the maximum is {TASKS_MAX}: raise"
    ):
        spread(TASKS_MAX + 1, **options)
    assert sum(map(len, spread(TASKS_MAX, **dict.fromkeys(options, 1)))) <= TASKS_MAX


@given(
    sizes=st.lists(st.integers(0, 50), max_size=6),
    min_partitions=st.none() | st.integers(1, 40),
    max_records=st.none() | st.integers(1, 20),
)
def test_no_offset_is_lost_or_read_twice(
    sizes: list[int], min_partitions: int | None, max_records: int | None
) -> None:
    pieces = split_ranges(ranges_of(*sizes), min_partitions=min_partitions, max_records=max_records)
    read = [(p.partition, o) for p in pieces for o in range(p.start_offset, p.end_offset)]
    assert read == [(n, 100 + o) for n, size in enumerate(sizes) for o in range(size)]
    assert all(p.start_offset < p.end_offset for p in pieces)
    assert all(a.topic_id == b.topic_id == b"id" for a, b in pairwise(pieces))
    if max_records is not None:
        assert all(p.end_offset - p.start_offset <= max_records for p in pieces)
