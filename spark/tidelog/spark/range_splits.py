"""The division of ranges among tasks: minPartitions and maxRecordsPerPartition.

Pure. The size of a range is its number of offsets, some of which compaction may have removed. The
division spreads a read and never changes which records it reads.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.spark.option_values import OptionError

TASKS_MAX = 100_000
"""The maximum number of tasks: more are a mistake in an option, and would only keep Spark busy."""


def split_ranges(
    ranges: Sequence[OffsetRange], *, min_partitions: int | None, max_records: int | None
) -> list[OffsetRange]:
    """The same offsets in the same order, in one range per task, without empty ranges.

    As in Kafka's connector: first, ranges are divided to hold at most `max_records` offsets. Then,
    if there are fewer than `min_partitions`, large ranges are divided in proportion to their size
    into about that many. Raises OptionError above TASKS_MAX.
    """
    pieces = [wanted for wanted in ranges if _size(wanted) > 0]
    if max_records is not None:
        pieces = _divide(pieces, [-(-_size(piece) // max_records) for piece in pieces])
    if min_partitions is not None and len(pieces) < min_partitions:
        pieces = _divide(pieces, _shares([_size(piece) for piece in pieces], min_partitions))
    return pieces


def _shares(sizes: list[int], tasks: int) -> list[int]:
    """The number of parts of each range, about `tasks` in total: from 1 to its number of offsets.

    Small ranges that get one part in any case are left out of the proportion; else the large ranges
    would get too few.
    """
    total = sum(sizes)
    is_whole = [_round(size * tasks, total) <= 1 for size in sizes]
    divided = sum(size for size, whole in zip(sizes, is_whole, strict=True) if not whole)
    left = max(tasks - sum(is_whole), 1)
    return [
        1 if whole else min(max(_round(size * left, divided), 1), size)
        for size, whole in zip(sizes, is_whole, strict=True)
    ]


def _round(dividend: int, divisor: int) -> int:
    """The quotient, rounded to the nearest whole number, halves up."""
    return (2 * dividend + divisor) // (2 * divisor)


def _divide(ranges: list[OffsetRange], parts: list[int]) -> list[OffsetRange]:
    if sum(parts) > TASKS_MAX:
        raise OptionError(
            f"the read would take {sum(parts)} tasks, the maximum is {TASKS_MAX}: raise "
            "maxRecordsPerPartition or lower minPartitions"
        )
    return [
        piece
        for wanted, count in zip(ranges, parts, strict=True)
        for piece in _parts(wanted, count)
    ]


def _parts(wanted: OffsetRange, count: int) -> Iterator[OffsetRange]:
    """Divide a range into `count` ranges whose sizes differ by at most one."""
    edges = [wanted.start_offset + _size(wanted) * nth // count for nth in range(count + 1)]
    for start, end in pairwise(edges):
        yield wanted._replace(start_offset=start, end_offset=end)


def _size(wanted: OffsetRange) -> int:
    return wanted.end_offset - wanted.start_offset
