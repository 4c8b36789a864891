"""A replica that follows: what to do with its leader's answers.

Decides truncation, the follower's high watermark and its log start; never appends by itself and
never trusts an answer to another epoch or position than its present one. Truncation is by leader
epoch alone, never by high watermark (KIP-101, KIP-279), and an answer that tells to truncate tells
nothing else (KAFKA-14704).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.replica.effects import (
    AppendFetched,
    BackOff,
    DeleteRecords,
    Effect,
    RaiseHighWatermark,
    StartAnew,
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
    """The follower's role in one leader epoch; `leader_id` is None while nobody leads."""

    def __init__(self, *, leader_id: int | None, leader_epoch: int) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch

    def handle(self, event: FollowerEvent) -> list[Effect]:
        """Orders that follow from `event`; none when it belongs to another epoch."""
        if event.leader_epoch != self.leader_epoch:
            return []
        match event:
            case FetchAnswered():
                return _fetch_answered(event)
            case FetchedAppended():
                return _take_over(event)


def truncation_offset(*, leader: EpochEnd, own: EpochEnd) -> int:
    """Where two logs may part at the earliest: the lower end of what both know (KIP-279)."""
    return min(leader.end_offset, own.end_offset)


def followed_high_watermark(*, leaders: int, log_end_offset: int) -> int:
    """The leader's high watermark as far as the own log reaches."""
    return min(leaders, log_end_offset)


def is_out_of_reach(event: FetchAnswered) -> bool:
    """Whether the own log holds nothing that the leader's does, after an offset out of range.

    It ends below the leader's log start: all it holds is deleted there. Or it is empty: nothing
    tells where it parts from the leader's.
    """
    return is_empty(event) or event.log_end_offset < event.log_start_offset


def is_empty(event: FetchAnswered) -> bool:
    """Whether the own log holds no record that counts."""
    return event.log_end_offset == event.own_log_start_offset


def _fetch_answered(event: FetchAnswered) -> list[Effect]:
    if event.fetch_offset != event.log_end_offset:
        return []
    if event.error == common_pb2.OFFSET_OUT_OF_RANGE and is_out_of_reach(event):
        cause = f"nothing of it is in the leader's, which begins at {event.log_start_offset}"
        return [StartAnew(event.log_start_offset, cause)]
    if event.error != common_pb2.NONE:
        return [BackOff()]
    if event.diverging_epoch is not None and event.own_epoch_end is not None:
        if is_empty(event):
            # It knows epochs of records that are gone, which the leader may have forgotten.
            return [StartAnew(event.log_end_offset, "empty, with epochs the leader does not know")]
        offset = truncation_offset(leader=event.diverging_epoch, own=event.own_epoch_end)
        return [TruncateTo(offset, _parting(event.diverging_epoch, event.own_epoch_end))]
    if event.first_offset is None:
        return _take_over(event)
    if event.first_offset >= event.log_end_offset:
        return [AppendFetched()]
    return _overlap(event, event.first_offset)


def _overlap(event: FetchAnswered, first_offset: int) -> list[Effect]:
    """The leader's first batch begins below the own log end, though the logs do not diverge.

    Its log start lies within the batch, or compaction put one batch in the place of several: of
    some that all replicas in sync hold, so that this one is not among them.
    """
    if is_empty(event):
        return [AppendFetched(anew_from=first_offset)]
    return [TruncateTo(first_offset, f"the leader's batch there begins at {first_offset}")]


def _parting(leader: EpochEnd, own: EpochEnd) -> str:
    epoch, end_offset = leader
    return f"diverging epoch: {epoch} ended at {end_offset} on the leader, at {own.end_offset} here"


def _take_over(event: FetchAnswered | FetchedAppended) -> list[Effect]:
    """The leader's high watermark and log start, as far as they go beyond the own.

    A lower high watermark changes nothing: what is known committed stays so (I11). Only what is
    committed is deleted.
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
