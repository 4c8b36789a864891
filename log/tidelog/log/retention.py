"""Retention: selection of a log's expired segments. Pure: decides, deletes nothing.

Kafka's rules (UnifiedLog.deleteOldSegments): oldest first and never past a segment that stays; only
committed segments; segments below the log start offset regardless of the policy. And only segments
below the first undecided transaction: readers of committed records have still to get its records.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.log.config import LogConfig

_UNLIMITED = -1


class SegmentFacts(NamedTuple):
    """Facts about a segment that retention depends on; `max_timestamp` is -1 when it is empty."""

    next_offset: int
    size: int
    max_timestamp: int


class RetentionResult(NamedTuple):
    """Number of segments and bytes removed from a log."""

    segments: int
    bytes: int


def expired_segments(
    segments: Sequence[SegmentFacts],
    *,
    config: LogConfig,
    log_start_offset: int,
    last_stable_offset: int,
    now_ms: int,
) -> int:
    """Count the segments to delete, from the oldest on."""
    surplus = sum(segment.size for segment in segments) - config.retention_bytes
    has_size_limit = config.is_deleted and config.retention_bytes != _UNLIMITED
    for count, segment in enumerate(segments):
        is_too_much = has_size_limit and surplus >= segment.size
        is_too_old = config.is_deleted and _is_too_old(segment, config, now_ms)
        is_gone = segment.next_offset <= log_start_offset
        if segment.next_offset > last_stable_offset or not (is_gone or is_too_old or is_too_much):
            return count
        if not segment.size:
            return count
        surplus -= segment.size
    return len(segments)


def _is_too_old(segment: SegmentFacts, config: LogConfig, now_ms: int) -> bool:
    return (
        config.retention_ms != _UNLIMITED and now_ms - segment.max_timestamp > config.retention_ms
    )
