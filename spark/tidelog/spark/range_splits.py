"""Decides how many tasks read a range: minPartitions and maxRecordsPerPartition.

Pure. A range is counted by its offsets, which compaction may have emptied in part: what comes out
is how a read is spread, never how much it reads.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tidelog.client.arrow.offset_ranges import OffsetRange
from tidelog.spark.option_values import OptionError

TASKS_MAX = 100_000
"""More tasks than that is a mistake in an option: Spark would be busy with them alone."""


def split_ranges(
    ranges: Sequence[OffsetRange], *, min_partitions: int | None, max_records: int | None
) -> list[OffsetRange]:
    """The same offsets in the same order, in one range for each task; empty ranges are left out.

    As in Kafka's connector: first no range holds more than `max_records` offsets, then, while there
    are fewer than `min_partitions`, large ones are divided in proportion to their size, so that
    there are about that many. Raises OptionError above TASKS_MAX.
    """
    pieces = [wanted for wanted in ranges if _size(wanted) > 0]
    if max_records is not None:
        pieces = _divide(pieces, [-(-_size(piece) // max_records) for piece in pieces])
    if min_partitions is not None and len(pieces) < min_partitions:
        pieces = _divide(pieces, _shares([_size(piece) for piece in pieces], min_partitions))
    return pieces


def _shares(sizes: list[int], tasks: int) -> list[int]:
    """How many of about `tasks` parts each gets: at least one, and no more than it has offsets.

    Those that get one whatever they hold are left out of the proportion: else the large ones
    would pay for them.
    """
    total = sum(sizes)
    is_whole = [_rounded(size * tasks, total) <= 1 for size in sizes]
    divided = sum(size for size, whole in zip(sizes, is_whole, strict=True) if not whole)
    left = max(tasks - sum(is_whole), 1)
    return [
        1 if whole else min(max(_rounded(size * left, divided), 1), size)
        for size, whole in zip(sizes, is_whole, strict=True)
    ]


def _rounded(dividend: int, divisor: int) -> int:
    """To the nearest whole number, halves up."""
    return (2 * dividend + divisor) // (2 * divisor)


def _divide(ranges: list[OffsetRange], parts: list[int]) -> list[OffsetRange]:
    if sum(parts) > TASKS_MAX:
        raise OptionError(
            f"the read would take {sum(parts)} tasks, the most are {TASKS_MAX}: raise "
            "maxRecordsPerPartition or lower minPartitions"
        )
    return [
        piece
        for wanted, count in zip(ranges, parts, strict=True)
        for piece in _parts(wanted, count)
    ]


def _parts(wanted: OffsetRange, count: int) -> Iterator[OffsetRange]:
    """`count` ranges whose sizes differ by one at most."""
    edges = [wanted.start_offset + _size(wanted) * nth // count for nth in range(count + 1)]
    for start, end in pairwise(edges):
        yield wanted._replace(start_offset=start, end_offset=end)


def _size(wanted: OffsetRange) -> int:
    return wanted.end_offset - wanted.start_offset
