"""What filters spare a read, and what Spark still has to evaluate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.records import TopicPartition
from tidelog.spark.filters import Pushed, narrow, push, start_at

COMPARISONS = (EqualTo, EqualNullSafe, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp()) * 1000
ORDERS = OffsetRange("orders", b"o", 0, 10, 20)
RANGES = [ORDERS, ORDERS._replace(partition=1), OffsetRange("users", b"u", 0, 0, 15)]


def read(*filters: Filter) -> list[str]:
    """What is read, where Spark has nothing left to do."""
    pushed, left = push(filters)
    assert left == []
    return shown(narrow(RANGES, pushed))


def shown(ranges: list[OffsetRange]) -> list[str]:
    return [f"{r.topic}-{r.partition} {r.start_offset}..{r.end_offset}" for r in ranges]


EVERYTHING = shown(RANGES)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (EqualTo(("partition",), 1), ["orders-1 10..20"]),
        (EqualNullSafe(("partition",), 1), ["orders-1 10..20"]),
        (GreaterThan(("partition",), 0), ["orders-1 10..20"]),
        (GreaterThanOrEqual(("partition",), 1), ["orders-1 10..20"]),
        (LessThan(("partition",), 0), []),
        (LessThanOrEqual(("partition",), -1), []),
        (In(("partition",), (1, 7)), ["orders-1 10..20"]),
        (Not(EqualTo(("partition",), 0)), ["orders-1 10..20"]),
        (Not(In(("partition",), (0, 7))), ["orders-1 10..20"]),
        (EqualTo(("topic",), "users"), ["users-0 0..15"]),
        (GreaterThan(("topic",), "orders"), ["users-0 0..15"]),
        (StringStartsWith(("topic",), "us"), ["users-0 0..15"]),
        (StringEndsWith(("topic",), "sers"), ["users-0 0..15"]),
        (StringContains(("topic",), "ser"), ["users-0 0..15"]),
        (Not(StringContains(("topic",), "rd")), ["users-0 0..15"]),
        (EqualTo(("offset",), 17), ["orders-0 17..18", "orders-1 17..18"]),
        (In(("offset",), (3,)), ["users-0 3..4"]),
        (GreaterThan(("offset",), 14), ["orders-0 15..20", "orders-1 15..20"]),
        (GreaterThanOrEqual(("offset",), 15), ["orders-0 15..20", "orders-1 15..20"]),
        (LessThan(("offset",), 10), ["users-0 0..10"]),
        (LessThanOrEqual(("offset",), 9), ["users-0 0..10"]),
        (LessThan(("offset",), -5), []),
        (IsNotNull(("partition",)), EVERYTHING),
        (IsNotNull(("timestamp",)), EVERYTHING),
    ],
)
def test_a_filter_that_the_read_fulfils_is_kept(given: Filter, expected: list[str]) -> None:
    assert read(given) == expected


def test_filters_add_up() -> None:
    of_offset = (GreaterThan(("offset",), 11), LessThan(("offset",), 14), LessThan(("offset",), 16))
    assert read(*of_offset, EqualTo(("partition",), 0), EqualTo(("topic",), "orders")) == [
        "orders-0 12..14"
    ]
    assert read(EqualTo(("offset",), 11), EqualTo(("offset",), 12)) == []


@pytest.mark.parametrize(
    "given",
    [
        EqualTo(("key",), b"k"),
        IsNotNull(("key",)),
        IsNull(("partition",)),
        Not(IsNotNull(("partition",))),
        Not(EqualTo(("offset",), 1)),
        Not(GreaterThan(("offset",), 1)),
        EqualTo(("partition",), None),
        In(("partition",), (1, None)),
        In(("partition",), ()),
        In(("offset",), ()),
        EqualTo(("offset",), None),
        EqualTo(("offset",), 1.5),
        EqualTo(("partition",), True),
        EqualTo(("topic",), 5),
        EqualTo(("topic", "partition"), 5),
        LessThan(("timestamp",), NOON),
        LessThanOrEqual(("timestamp",), NOON),
        Not(GreaterThan(("timestamp",), NOON)),
        GreaterThan(("timestamp",), NOON.replace(tzinfo=None)),
        GreaterThan(("timestamp",), 5),
        GreaterThan(("timestamp",), datetime(1969, 1, 1, tzinfo=UTC)),
        In(("timestamp",), ()),
    ],
)
def test_another_filter_narrows_nothing_and_is_sparks(given: Filter) -> None:
    assert push([given]) == (Pushed(), [given])


def test_a_set_of_offsets_narrows_to_its_ends_and_is_still_sparks() -> None:
    given = In(("offset",), (12, 17, 14))
    pushed, left = push([given])
    assert left == [given]
    assert shown(narrow(RANGES[:1], pushed)) == ["orders-0 12..18"]


@pytest.mark.parametrize(
    "given",
    [
        EqualTo(("timestamp",), NOON),
        GreaterThan(("timestamp",), NOON),
        GreaterThanOrEqual(("timestamp",), NOON),
        In(("timestamp",), (NOON + timedelta(hours=1), NOON)),
    ],
)
def test_a_time_narrows_the_start_and_is_still_sparks(given: Filter) -> None:
    assert push([given]) == (Pushed(from_ms=NOON_MS), [given])


def test_the_latest_of_times_counts_and_no_millisecond_is_cut() -> None:
    later = GreaterThan(("timestamp",), NOON + timedelta(microseconds=1))
    pushed, left = push([GreaterThan(("timestamp",), NOON), later])
    assert pushed.from_ms == NOON_MS + 1
    assert len(left) == 2


def test_a_read_starts_at_the_first_record_that_is_new_enough() -> None:
    firsts = {
        TopicPartition("orders", 0): 15,
        TopicPartition("orders", 1): None,
        TopicPartition("users", 0): 15,
    }
    assert shown(start_at(RANGES, firsts)) == ["orders-0 15..20"]
    before = dict.fromkeys(firsts, 5)
    assert shown(start_at(RANGES, before)) == [*EVERYTHING[:2], "users-0 5..15"]


VALUES = {
    "partition": st.integers(-1, 4),
    "offset": st.integers(-1, 12),
    "topic": st.text("ab", max_size=3),
}


@st.composite
def filters(draw: st.DrawFn) -> Filter:
    column = draw(st.sampled_from(sorted(VALUES)))
    value = VALUES[column]
    kinds: list[Any] = [*COMPARISONS, In]
    kind = draw(st.sampled_from([*kinds, StringContains] if column == "topic" else kinds))
    made: Filter = kind(
        (column,), tuple(draw(st.lists(value, max_size=3))) if kind is In else draw(value)
    )
    return Not(made) if draw(st.booleans()) else made


def passes(each: Filter, row: dict[str, Any]) -> bool:
    """What SQL says, for values that are never null."""
    match each:
        case Not(child):
            return not passes(child, row)
        case EqualTo((column,), value) | EqualNullSafe((column,), value):
            return bool(row[column] == value)
        case GreaterThan((column,), value):
            return bool(row[column] > value)
        case GreaterThanOrEqual((column,), value):
            return bool(row[column] >= value)
        case LessThan((column,), value):
            return bool(row[column] < value)
        case LessThanOrEqual((column,), value):
            return bool(row[column] <= value)
        case In((column,), values):
            return row[column] in values
        case StringContains((column,), value):
            return value in row[column]
    raise AssertionError(each)


@given(st.lists(filters(), max_size=4))
def test_what_is_read_and_then_evaluated_is_what_the_filters_say(given: list[Filter]) -> None:
    ranges = [OffsetRange(t, b"", p, 2, 9) for t in ("a", "ab", "bb") for p in range(3)]
    rows = [
        {"topic": r.topic, "partition": r.partition, "offset": offset}
        for r in ranges
        for offset in range(r.start_offset, r.end_offset)
    ]
    pushed, left = push(given)
    read = [
        {"topic": r.topic, "partition": r.partition, "offset": offset}
        for r in narrow(ranges, pushed)
        for offset in range(r.start_offset, r.end_offset)
    ]
    assert [row for row in read if all(passes(each, row) for each in left)] == [
        row for row in rows if all(passes(each, row) for each in given)
    ]
    if not left:
        assert all(all(passes(each, row) for each in given) for row in read)
