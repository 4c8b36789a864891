"""Selection of the segments to clean in a compacted log, when, and in which groups. Pure.

Facts: Kafka's LogCleanerManager and Cleaner.groupSegmentsBySize, KIP-354. `compaction` decides
which records stay.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, Protocol, TypeVar

from tidelog.log.config import LogConfig
from tidelog.records.batch import HEADER_BYTES

MAX_RELATIVE_OFFSET = 2**31 - 1
_INDEX_ENTRY_BYTES = 12
_MAX_I64 = 2**63 - 1


class SegmentExtent(Protocol):
    """A segment's facts that the selection depends on."""

    @property
    def base_offset(self) -> int:
        """Offset of its first record."""

    @property
    def next_offset(self) -> int:
        """Offset after its last record."""

    @property
    def size(self) -> int:
        """Size of all batches in bytes."""

    @property
    def max_timestamp(self) -> int:
        """Maximum timestamp of all batches; -1: there are none."""


S = TypeVar("S", bound=SegmentExtent)


@dataclass(frozen=True, slots=True)
class Cleanable(Generic[S]):
    """The segments a cleaning may rewrite, oldest first; dirty from `first_dirty_offset` on."""

    segments: tuple[S, ...]
    first_dirty_offset: int

    @property
    def dirty(self) -> tuple[S, ...]:
        """Segments that no cleaning has covered to their end."""
        return tuple(s for s in self.segments if s.next_offset > self.first_dirty_offset)

    @property
    def end_offset(self) -> int:
        """End (exclusive) of the range that a cleaning may cover."""
        return self.segments[-1].next_offset if self.segments else self.first_dirty_offset

    @property
    def dirty_ratio(self) -> float:
        """Share of dirty bytes among all that may be rewritten; 0 when there are none."""
        size_bytes = sum(segment.size for segment in self.segments)
        return sum(segment.size for segment in self.dirty) / size_bytes if size_bytes else 0.0

    def is_due(self, config: LogConfig, *, first_timestamps: Iterable[int], now_ms: int) -> bool:
        """True when enough is dirty, or a dirty record exceeds max.compaction.lag.ms (KIP-354).

        `first_timestamps`, of the first batch of each dirty segment, are read only if needed.
        """
        if self.dirty_ratio > config.min_cleanable_dirty_ratio:
            return True
        oldest_ms = now_ms - config.max_compaction_lag_ms
        return oldest_ms > 0 and any(0 < first_ms < oldest_ms for first_ms in first_timestamps)


def cleanable_segments(
    segments: Sequence[S],
    *,
    first_dirty_offset: int,
    high_watermark: int,
    first_undecided_offset: int | None,
    min_compaction_lag_ms: int,
    now_ms: int,
) -> Cleanable[S]:
    """Select the segments below everything that may still change or is too young.

    The bounds are: the high watermark, the first undecided transaction, the active segment (the
    last one), and the first dirty segment with a timestamp within the lag.
    """
    bound = high_watermark
    if first_undecided_offset is not None:
        bound = min(bound, first_undecided_offset)
    newest_ms = now_ms - min_compaction_lag_ms if min_compaction_lag_ms > 0 else _MAX_I64

    def may_be_cleaned(segment: S) -> bool:
        is_old_enough = segment.max_timestamp <= newest_ms
        is_clean = segment.next_offset <= first_dirty_offset
        return segment.next_offset <= bound and (is_clean or is_old_enough)

    return Cleanable(tuple(takewhile(may_be_cleaned, segments[:-1])), first_dirty_offset)


def group_segments(segments: Sequence[S], config: LogConfig) -> list[list[S]]:
    """Group neighbouring segments to be rewritten into one each, within a segment's size limits."""
    # An index has at most one entry per this many bytes, one batch each.
    bytes_per_entry = max(config.index_interval_bytes, HEADER_BYTES)
    indexable_bytes = config.segment_index_bytes // _INDEX_ENTRY_BYTES * bytes_per_entry
    limit_bytes = min(config.segment_bytes, indexable_bytes)
    groups: list[list[S]] = []
    size_bytes = 0
    for segment in segments:
        size_bytes += segment.size
        if (
            not groups
            or size_bytes > limit_bytes
            or segment.next_offset - 1 - groups[-1][0].base_offset > MAX_RELATIVE_OFFSET
        ):
            groups.append([])
            size_bytes = segment.size
        groups[-1].append(segment)
    return groups
