"""Follower role: decisions on the leader's answers to fetches.

Decides truncation, the follower's high watermark and its log start; never appends by itself and
never trusts an answer to another epoch or position than its current one. Truncation is by leader
epoch only, never by high watermark (KIP-101, KIP-279), and an answer with a diverging epoch is used
for nothing else (KAFKA-14704).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.replica.effects import (
    AppendFetched,
    BackOff,
    DeleteRecords,
    Effect,
    RaiseHighWatermark,
    RestartLog,
    TruncateTo,
)
from tidelog.broker.replica.events import (
    EpochEnd,
    FetchAnswered,
    FetchedAppended,
    FollowerEvent,
)
from tidelog.v1 import common_pb2


class Follower:
    """Follower role in one leader epoch; `leader_id` is None while there is no leader."""

    def __init__(self, *, leader_id: int | None, leader_epoch: int) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch

    def handle(self, event: FollowerEvent) -> list[Effect]:
        """Handle `event`; return the effects, none when it belongs to another epoch."""
        if event.leader_epoch != self.leader_epoch:
            return []
        match event:
            case FetchAnswered():
                return _fetch_answered(event)
            case FetchedAppended():
                return _take_over(event)


def truncation_offset(*, leader: EpochEnd, own: EpochEnd) -> int:
    """Earliest offset where two logs may diverge: the lower of the epoch's two ends (KIP-279)."""
    return min(leader.end_offset, own.end_offset)


def followed_high_watermark(*, leaders: int, log_end_offset: int) -> int:
    """The leader's high watermark, limited to the follower's log end."""
    return min(leaders, log_end_offset)


def is_out_of_reach(event: FetchAnswered) -> bool:
    """True when the follower's log has no record in common with the leader's, when out of range.

    It ends below the leader's log start: all its records are deleted there. Or it is empty, so that
    there is no point of divergence.
    """
    return is_empty(event) or event.log_end_offset < event.log_start_offset


def is_empty(event: FetchAnswered) -> bool:
    """True when the follower's log has no record above its log start."""
    return event.log_end_offset == event.own_log_start_offset


def _fetch_answered(event: FetchAnswered) -> list[Effect]:
    if event.fetch_offset != event.log_end_offset:
        return []
    if event.error == common_pb2.OFFSET_OUT_OF_RANGE and is_out_of_reach(event):
        cause = f"no record of it is in the leader's log, which begins at {event.log_start_offset}"
        return [RestartLog(event.log_start_offset, cause)]
    if event.error != common_pb2.NONE:
        return [BackOff()]
    if event.diverging_epoch is not None and event.own_epoch_end is not None:
        if is_empty(event):
            # It has epochs of deleted records, which the leader may have forgotten.
            return [RestartLog(event.log_end_offset, "empty, with epochs the leader does not know")]
        offset = truncation_offset(leader=event.diverging_epoch, own=event.own_epoch_end)
        return [TruncateTo(offset, _parting(event.diverging_epoch, event.own_epoch_end))]
    if event.first_offset is None:
        return _take_over(event)
    if event.first_offset >= event.log_end_offset:
        return [AppendFetched()]
    return _overlap(event, event.first_offset)


def _overlap(event: FetchAnswered, first_offset: int) -> list[Effect]:
    """Handle a first batch that begins below the follower's log end, without divergence.

    The follower's log start lies within the batch, or compaction on the leader merged several
    batches into one: only batches that all in-sync replicas hold, so this one is not in sync.
    """
    if is_empty(event):
        return [AppendFetched(restart_offset=first_offset)]
    return [TruncateTo(first_offset, f"the leader's batch there begins at {first_offset}")]


def _parting(leader: EpochEnd, own: EpochEnd) -> str:
    epoch, end_offset = leader
    return f"diverging epoch: {epoch} ended at {end_offset} on the leader, at {own.end_offset} here"


def _take_over(event: FetchAnswered | FetchedAppended) -> list[Effect]:
    """Take over the leader's high watermark and log start where they exceed the follower's.

    A lower high watermark changes nothing: committed records stay committed (I11). Only committed
    records are deleted.
    """
    high_watermark = followed_high_watermark(
        leaders=event.high_watermark, log_end_offset=event.log_end_offset
    )
    effects: list[Effect] = []
    if high_watermark > event.own_high_watermark:
        effects.append(RaiseHighWatermark(high_watermark))
    log_start_offset = min(event.log_start_offset, max(high_watermark, event.own_high_watermark))
    if log_start_offset > event.own_log_start_offset:
        effects.append(DeleteRecords(log_start_offset))
    return effects
