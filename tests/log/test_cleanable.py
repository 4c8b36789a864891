"""Which segments may be cleaned, when, and which become one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest

from tidelog.log.cleanable import (
    MAX_RELATIVE_OFFSET,
    Cleanable,
    cleanable_segments,
    group_segments,
)
from tidelog.log.config import LogConfig


@dataclass(frozen=True)
class Extent:
    """A segment as far as it counts."""

    base_offset: int
    next_offset: int
    size: int = 100
    max_timestamp: int = 0


SEGMENTS = [Extent(at, at + 10, max_timestamp=at) for at in range(0, 50, 10)]


def cleanable(
    *,
    first_dirty_offset: int = 0,
    high_watermark: int = 50,
    first_undecided_offset: int | None = None,
    min_compaction_lag_ms: int = 0,
    now_ms: int = 1000,
) -> Cleanable[Extent]:
    return cleanable_segments(
        SEGMENTS,
        first_dirty_offset=first_dirty_offset,
        high_watermark=high_watermark,
        first_undecided_offset=first_undecided_offset,
        min_compaction_lag_ms=min_compaction_lag_ms,
        now_ms=now_ms,
    )


def test_all_but_the_active_segment_may_be_cleaned() -> None:
    assert cleanable().end_offset == 40


def test_no_segment_that_reaches_above_the_high_watermark_is_cleaned() -> None:
    assert cleanable(high_watermark=29).end_offset == 20
    assert cleanable(high_watermark=30).end_offset == 30


def test_no_segment_that_reaches_into_an_open_transaction_is_cleaned() -> None:
    assert cleanable(first_undecided_offset=19).end_offset == 10
    assert cleanable(first_undecided_offset=20).end_offset == 20


def test_no_segment_from_the_first_that_is_too_young_on_is_cleaned() -> None:
    assert cleanable(min_compaction_lag_ms=100, now_ms=119).end_offset == 20
    assert cleanable(min_compaction_lag_ms=100, now_ms=120).end_offset == 30


def test_what_is_clean_already_is_never_too_young() -> None:
    young = cleanable(min_compaction_lag_ms=100, now_ms=50, first_dirty_offset=20)

    assert [segment.base_offset for segment in young.segments] == [0, 10]
    assert young.dirty_ratio == 0


def test_timestamps_of_the_future_do_not_count_without_a_lag() -> None:
    assert cleanable(now_ms=5).end_offset == 40


def test_nothing_is_cleanable_where_all_is_clean_or_nothing_is_committed() -> None:
    assert cleanable(first_dirty_offset=45).dirty_ratio == 0
    assert cleanable(first_dirty_offset=30, high_watermark=10).dirty_ratio == 0
    assert cleanable(high_watermark=0).end_offset == 0


def test_the_dirty_ratio_counts_a_segment_cleaned_in_part_as_dirty() -> None:
    assert cleanable().dirty_ratio == 1
    assert cleanable(first_dirty_offset=20).dirty_ratio == 0.5
    assert cleanable(first_dirty_offset=19).dirty_ratio == 0.75


def test_a_log_is_due_above_the_ratio() -> None:
    half = cleanable(first_dirty_offset=20)

    assert half.is_due(LogConfig(min_cleanable_dirty_ratio=0.49), first_timestamps=(), now_ms=9)
    assert not half.is_due(LogConfig(min_cleanable_dirty_ratio=0.5), first_timestamps=(), now_ms=9)


@pytest.mark.parametrize(
    ("first_timestamps", "is_due"), [((800, 499), True), ((500, 501), False), ((0, -1), False)]
)
def test_a_log_is_due_when_a_dirty_record_is_older_than_max_compaction_lag(
    first_timestamps: Sequence[int], is_due: bool
) -> None:
    config = LogConfig(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=500)

    assert cleanable().is_due(config, first_timestamps=first_timestamps, now_ms=1000) == is_due


def test_no_segment_is_read_for_its_age_without_need() -> None:
    def fail() -> Iterable[int]:
        raise AssertionError
        yield 0

    assert cleanable().is_due(LogConfig(), first_timestamps=fail(), now_ms=1000)
    clean = cleanable(first_dirty_offset=40)
    assert not clean.is_due(LogConfig(), first_timestamps=fail(), now_ms=1000)


DEFAULT = LogConfig()


def groups(segments: Sequence[Extent], config: LogConfig = DEFAULT) -> list[list[int]]:
    """Base offsets of each group."""
    found = group_segments(segments, config)
    return [[segment.base_offset for segment in group] for group in found]


def test_neighbours_are_grouped_up_to_segment_bytes() -> None:
    sizes = [40, 60, 1, 99, 300, 50, 50]
    segments = [Extent(at, at + 1, size) for at, size in enumerate(sizes)]

    assert groups(segments, LogConfig(segment_bytes=100)) == [[0, 1], [2, 3], [4], [5, 6]]


def test_a_group_has_room_in_its_indexes() -> None:
    segments = [Extent(at, at + 1, 1000) for at in range(4)]

    assert groups(segments, LogConfig(segment_index_bytes=24, index_interval_bytes=1000)) == [
        [0, 1],
        [2, 3],
    ]
    assert groups(segments, LogConfig(segment_index_bytes=40 * 12, index_interval_bytes=0)) == [
        [0, 1],
        [2, 3],
    ]


def test_offsets_of_a_group_fit_the_index() -> None:
    far = MAX_RELATIVE_OFFSET
    assert groups([Extent(0, 5), Extent(5, far + 1)]) == [[0, 5]]
    assert groups([Extent(0, 5), Extent(5, far + 2)]) == [[0], [5]]
