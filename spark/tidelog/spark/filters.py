"""Filter pushdown: the partitions, offsets and early records that a batch read need not read.

Pure. Spark evaluates every filter that `push` returns. A filter may narrow the read and still be
returned; it is kept here only if every record of the narrowed read passes it.

    column      filters that narrow the read               kept
    topic       any comparison: a range is read or not     yes
    partition   any comparison: a range is read or not     yes
    offset      =, in, <, <=, >, >=: the range is cut      yes, except "in"
    timestamp   =, in, >, >=: the range starts later       no: times need not grow with offsets,
                                                           which is why < and <= narrow nothing
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.offsets import OffsetQuery
from tidelog.client.records import TopicPartition
from tidelog.spark.option_values import OFFSET_MAX

_CONSTANTS: Mapping[str, type] = {"topic": str, "partition": int}
"""Columns with one value in all records of a range."""
_NEVER_NULL = ("topic", "partition", "offset", "timestamp")


@dataclass(frozen=True, slots=True)
class Pushed:
    """The conditions that records must meet to be read."""

    of_partition: tuple[Filter, ...] = ()
    """The filters on topic and partition."""
    start_offset: int = 0
    end_offset: int = OFFSET_MAX
    from_ms: int | None = None
    """Records of earlier times, milliseconds since the Unix epoch, are not needed."""


def push(filters: Iterable[Filter]) -> tuple[Pushed, list[Filter]]:
    """Split `filters` into the conditions to push, and the filters that Spark must evaluate."""
    pushed, left = Pushed(), []
    for each in filters:
        column, values = _parts(each)
        if isinstance(each, IsNotNull) and column in _NEVER_NULL:
            continue
        if column in _CONSTANTS and values and _are(values, _CONSTANTS[column]):
            pushed = replace(pushed, of_partition=(*pushed.of_partition, each))
        elif column == "offset" and _are(values, int) and (span := _span(each, values)):
            start, end = span
            pushed = replace(
                pushed,
                start_offset=max(pushed.start_offset, start),
                end_offset=min(pushed.end_offset, end),
            )
            if len(values) > 1:
                left.append(each)
        else:
            if column == "timestamp" and (from_ms := _from_ms(each, values)) is not None:
                pushed = replace(pushed, from_ms=max(pushed.from_ms or 0, from_ms))
            left.append(each)
    return pushed, left


def narrow(ranges: Sequence[OffsetRange], pushed: Pushed) -> list[OffsetRange]:
    """Narrow `ranges` by partition and offset, and drop those that become empty."""
    cut = [
        wanted._replace(
            start_offset=max(wanted.start_offset, pushed.start_offset),
            end_offset=min(wanted.end_offset, pushed.end_offset),
        )
        for wanted in ranges
        if all(_holds(each, wanted) for each in pushed.of_partition)
    ]
    return [wanted for wanted in cut if wanted.start_offset < wanted.end_offset]


def start_at(
    ranges: Sequence[OffsetRange], firsts: Mapping[TopicPartition, int | None]
) -> list[OffsetRange]:
    """Narrow `ranges` to start at the first record that is new enough; None: there is none."""
    left = []
    for wanted in ranges:
        first = firsts[TopicPartition(wanted.topic, wanted.partition)]
        if first is not None and first < wanted.end_offset:
            left.append(wanted._replace(start_offset=max(wanted.start_offset, first)))
    return left


def _parts(each: Filter) -> tuple[str, Sequence[Any]]:  # Any: literals of any type
    """The column of a filter, and the values that it is compared with."""
    inner = each.child if isinstance(each, Not) else each
    column = ".".join(getattr(inner, "attribute", ()))
    if isinstance(inner, In):
        return column, inner.value
    return column, (inner.value,) if hasattr(inner, "value") else ()


def _are(values: Sequence[Any], kind: type) -> bool:
    """True if all values have exactly this type: none is null, and no boolean is a number."""
    return all(type(value) is kind for value in values)


def _span(each: Filter, values: Sequence[int]) -> tuple[int, int] | None:
    """The span of offsets that can pass, as start and exclusive end."""
    if not values:
        return None
    first, last = min(values), max(values)
    match each:
        case EqualTo() | EqualNullSafe() | In():
            return first, last + 1
        case GreaterThan():
            return first + 1, OFFSET_MAX
        case GreaterThanOrEqual():
            return first, OFFSET_MAX
        case LessThan():
            return 0, last
        case LessThanOrEqual():
            return 0, last + 1
    return None


def _from_ms(each: Filter, values: Sequence[Any]) -> int | None:
    """The earliest time that passes; None if there is none, or if records without a time pass."""
    is_from = isinstance(each, EqualTo | EqualNullSafe | In | GreaterThan | GreaterThanOrEqual)
    if not is_from or not values or not _are(values, datetime):
        return None
    if any(value.tzinfo is None for value in values):
        return None
    from_ms = OffsetQuery.of(min(values)).timestamp_ms
    return from_ms if from_ms > 0 else None


def _holds(each: Filter, wanted: OffsetRange) -> bool:
    """True if the records of a range pass a filter on its topic or its partition."""
    if isinstance(each, Not):
        return not _holds(each.child, wanted)
    column, values = _parts(each)
    own: Any = getattr(wanted, column)  # str or int, as the values are
    match each:
        case EqualTo() | EqualNullSafe() | In():
            return own in values
        case GreaterThan():
            return bool(own > values[0])
        case GreaterThanOrEqual():
            return bool(own >= values[0])
        case LessThan():
            return bool(own < values[0])
        case LessThanOrEqual():
            return bool(own <= values[0])
        case StringStartsWith():
            return bool(own.startswith(values[0]))
        case StringEndsWith():
            return bool(own.endswith(values[0]))
        case StringContains():
            return values[0] in own
    raise TypeError(f"{each} compares {column} with nothing")
