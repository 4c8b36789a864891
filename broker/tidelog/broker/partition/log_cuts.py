"""Cuts of a replica's log that its core ordered: carried out, and reported to operators.

Owns what an operator reads of them; where to cut is the core's to decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tidelog.broker.partition.replica_stats import ReplicaStats
from tidelog.core.logs import get_logger
from tidelog.log.partition_log import PartitionLog

log = get_logger(__name__)


class Cut(NamedTuple):
    """A cut that was made; offsets are log ends, exclusive."""

    before: int
    after: int
    records: int
    cause: str
    """For people."""


Note = Callable[[Cut], None]
"""Has the node's journal tell of a cut."""


async def truncate_to(
    partition_log: PartitionLog,
    offset: int,
    *,
    name: str,
    cause: str,
    stats: ReplicaStats,
    note: Note,
) -> None:
    """Drop every batch from `offset` on, durably."""
    before, high_watermark = partition_log.log_end_offset, partition_log.high_watermark
    await partition_log.truncate_to(offset)
    after = partition_log.log_end_offset
    records = before - after
    stats.truncated_records += records
    note(Cut(before, after, records, f"{records} records: {cause}"))
    report = log.error if after < high_watermark else log.info
    report(
        "truncated",
        partition=name,
        log_end_offset=after,
        before=before,
        high_watermark=high_watermark,
        records=records,
        committed_records=max(0, high_watermark - after),
    )


async def restart_at(
    partition_log: PartitionLog, offset: int, *, name: str, cause: str, note: Note
) -> None:
    """Drop the whole log and begin, empty, at `offset`, durably."""
    before = partition_log.log_end_offset
    records = before - partition_log.log_start_offset
    await partition_log.restart_at(offset)
    log.warning(
        "log restarted empty", partition=name, offset=offset, before=before, records=records
    )
    if (before, records) != (offset, 0):
        note(Cut(before, offset, records, f"{records} records, restarted empty: {cause}"))
