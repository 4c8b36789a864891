"""What a soak of a group must have read, and how long anything stood still. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple


class Read(NamedTuple):
    """A record that a member handed out; `reader` is one run of a member's program."""

    time_s: float
    reader: int
    partition: int
    offset: int


class Interval(NamedTuple):
    """Time of a strike, or of an outage of a node."""

    from_s: float
    until_s: float

    def overlaps(self, from_s: float, until_s: float) -> bool:
        """True if any of it lies in between."""
        return self.from_s < until_s and from_s < self.until_s


class Silences(NamedTuple):
    """Longest times between two reads of a partition."""

    untouched_s: float
    """By the same member, which nobody struck, while no node was down."""
    node_down_s: float
    """By the same member, which nobody struck, while a node was down."""
    any_s: float
    """Of any partition, those of members that were struck included."""


def missing(acknowledged: Mapping[int, Iterable[int]], reads: Iterable[Read]) -> int:
    """Number of acknowledged records that nobody has read."""
    found: dict[int, set[int]] = defaultdict(set)
    for one in reads:
        found[one.partition].add(one.offset)
    return sum(len(set(offsets) - found[partition]) for partition, offsets in acknowledged.items())


def repeats(reads: Sequence[Read]) -> int:
    """Number of reads of records that were read before."""
    return len(reads) - len({(one.partition, one.offset) for one in reads})


def silences(
    reads: Iterable[Read],
    strikes: Mapping[int, Sequence[Interval]],
    outages: Sequence[Interval],
) -> Silences:
    """Longest silences while records came in; `strikes` by reader."""
    by_partition: dict[int, list[Read]] = defaultdict(list)
    for one in sorted(reads):
        by_partition[one.partition].append(one)
    untouched_s = node_down_s = any_s = 0.0
    for before, after in (pair for of_one in by_partition.values() for pair in pairwise(of_one)):
        gap_s = after.time_s - before.time_s
        any_s = max(any_s, gap_s)
        span = before.time_s, after.time_s
        if before.reader != after.reader or _is_any(strikes.get(before.reader, ()), span):
            continue
        if _is_any(outages, span):
            node_down_s = max(node_down_s, gap_s)
        else:
            untouched_s = max(untouched_s, gap_s)
    return Silences(untouched_s, node_down_s, any_s)


def _is_any(intervals: Iterable[Interval], span: tuple[float, float]) -> bool:
    return any(one.overlaps(*span) for one in intervals)


def verdict(
    acknowledged: Mapping[int, Sequence[int]],
    reads: Sequence[Read],
    found: Silences,
    *,
    is_balanced: bool,
) -> dict[str, Any]:
    """The figures of a soak; `violations` counts what must never be."""
    lost = missing(acknowledged, reads)
    count = sum(map(len, acknowledged.values()))
    return {
        "acknowledged": count,
        "missing": lost,
        "repeats": repeats(reads),
        "untouched_silent_s": round(found.untouched_s, 3),
        "node_down_silent_s": round(found.node_down_s, 3),
        "longest_silent_s": round(found.any_s, 3),
        "balanced": is_balanced,
        "violations": lost + (not count) + (not is_balanced),
    }
