"""Mutants of a replica that leads: what it counts, whom it answers, and when."""
# ruff: noqa: SLF001  # they take the place of methods

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from tidelog.broker.partition import leader_io as leading
from tidelog.broker.partition.fetch import FetchPosition
from tidelog.broker.partition.partition import Partition
from tidelog.broker.replica import isr, leader, replica
from tidelog.broker.replica.effects import (
    Answer,
    Effect,
    FailDeletions,
    FailWaiters,
    Refuse,
    ServeRecords,
    WakeFetches,
)
from tidelog.broker.replica.events import (
    FetchRequested,
    FollowerIdentity,
    IsrAnswered,
    LeadershipEnd,
    PartitionChanged,
)
from tidelog.broker.replica.isr import FollowerState, IsrState
from tidelog.broker.replica.leader import Leader
from tidelog.broker.replica.replica import Replica
from tidelog.core.memory_reads import Changes, Loaded
from tidelog.net.unread_responses import UnreadResponses
from tidelog.simulation.mutants.mutant import replaces
from tidelog.v1 import common_pb2

_ask = leading.ask
_awaited = Leader._awaited
_carry_out = Partition._carry_out
_commit_isr = Leader._commit_isr
_fetch_requested = Leader._fetch_requested
_isr_answered = Leader._isr_answered
_lead = Replica._lead

# Epochs


@replaces(leader, "epoch_refusal")
def epochs_not_compared(_own: int, _asked: int | None) -> Refuse | None:
    """A fetch of another epoch is served and counted (KIP-320)."""
    return None


@replaces(replica, "may_lead")
def leads_below_its_logs_epoch(_event: PartitionChanged) -> bool:
    """An image older than the log's records gives leadership."""
    return True


@replaces(Leader, "proposal")
def newest_incarnation_named(self: Leader) -> list[tuple[int, int]] | None:
    """Asked again, a proposal names who fetched since, not who caught up (KIP-903)."""
    if self.isr.proposed is None:
        return None
    known = {one.broker_id: one.broker_epoch for one in self._followers.values()}
    return [(member, known.get(member, -1)) for member in self.isr.proposed]


_known: WeakKeyDictionary[Replica, dict[int, FollowerState]] = WeakKeyDictionary()
"""A replica's knowledge of its followers when it led last."""


@replaces(Replica, "_lead")
def ends_outlive_the_epoch(self: Replica, event: PartitionChanged, now_ms: int) -> list[Effect]:
    """A leader that leads again counts fetches of an older epoch (KIP-320)."""
    effects = _lead(self, event, now_ms)
    role = self.leader
    if role is not None:
        role._followers.update(_known.get(self, {}))
        _known[self] = role._followers
    return effects


@replaces(leader, "is_stale_incarnation")
def earlier_incarnations_counted(_follower: FollowerState, _broker_epoch: int) -> bool:
    """A delayed fetch of a follower's earlier process counts (KIP-903)."""
    return False


# Reads that wait for the disk

_answers: WeakKeyDictionary[Loaded, Answer | None] = WeakKeyDictionary()
"""The core's answer before records were loaded."""


@replaces(leading, "ask")
def read_not_checked_again(
    partition: Partition,
    asked: FetchPosition,
    *,
    follower: FollowerIdentity | None,
    loaded: Loaded,
) -> Answer | None:
    """Records that were allowed before a read waited for the disk are served after it."""
    if loaded not in _answers:
        _answers[loaded] = _ask(partition, asked, follower=follower, loaded=loaded)
    return _answers[loaded]


@replaces(Changes, "note")
def loaded_bytes_outlive_a_cut(_self: Changes, _start: int, _end: int | None = None) -> None:
    """Bytes that were read while a file was cut and filled again are taken for what it holds."""


# The high watermark


@replaces(Leader, "_awaited")
def unknown_followers_not_awaited(self: Leader, now_ms: int) -> Iterable[FollowerState]:
    """A leader after another commits without those who have not fetched in its epoch yet."""
    awaited = _awaited(self, now_ms)
    if self.leader_epoch == 0:
        return awaited
    return [one for one in awaited if one.log_end_offset is not None]


@replaces(Leader, "has_min_insync")
def committed_below_min_insync(_self: Leader) -> bool:
    """An ISR smaller than min.insync.replicas commits and acknowledges."""
    return True


@replaces(IsrState, "maximal")
def joining_replica_not_counted(self: IsrState) -> tuple[int, ...]:
    """The high watermark does not wait for whom a pending proposal takes in (KIP-497)."""
    return self.committed


@replaces(IsrState, "maximal")
def leaving_replica_not_counted(self: IsrState) -> tuple[int, ...]:
    """The high watermark does not wait for whom a pending proposal puts out (KIP-497)."""
    return self.committed if self.proposed is None else self.proposed


@replaces(IsrState, "size_at_least")
def pending_shrink_not_counted(self: IsrState) -> int:
    """A replica that is about to leave the ISR counts for min.insync.replicas (KIP-497)."""
    return len(self.committed)


@replaces(Leader, "_isr_answered")
def unanswered_proposal_forgotten(self: Leader, event: IsrAnswered, now_ms: int) -> list[Effect]:
    """A proposal whose outcome is unknown counts as refused (KIP-497)."""
    if event.error == common_pb2.REQUEST_TIMED_OUT:
        self.isr = self.isr.without_proposal()
    return _isr_answered(self, event, now_ms)


@replaces(leader, "may_join_isr")
def joined_below_epoch_start(
    follower: FollowerState, *, high_watermark: int, epoch_start_offset: int
) -> bool:
    """A follower at the high watermark joins before this leader has committed its log (KIP-320)."""
    return isr.may_join_isr(
        follower,
        high_watermark=high_watermark,
        epoch_start_offset=min(high_watermark, epoch_start_offset),
    )


@replaces(leader, "may_join_isr")
def joined_below_high_watermark(
    follower: FollowerState, *, high_watermark: int, epoch_start_offset: int
) -> bool:
    """A follower that fetched in this epoch joins, though it lacks records committed in it."""
    return isr.may_join_isr(
        follower,
        high_watermark=min(high_watermark, epoch_start_offset),
        epoch_start_offset=epoch_start_offset,
    )


# Answers


@replaces(Leader, "_fetch_requested")
def read_to_epoch_start(self: Leader, event: FetchRequested, now_ms: int) -> list[Effect]:
    """A new leader serves consumers all it began with, committed or not."""
    effects = _fetch_requested(self, event, now_ms)
    if event.follower is None and isinstance(effects[-1], ServeRecords):
        return [ServeRecords(max(self.high_watermark, self.epoch_start_offset))]
    return effects


@replaces(Leader, "_commit_isr")
def shrink_answered_as_refusal(self: Leader, committed: IsrState, now_ms: int) -> list[Effect]:
    """Records appended before the ISR fell below the minimum are reported as not appended."""
    return [
        FailWaiters(common_pb2.NOT_ENOUGH_REPLICAS, one.message)
        if isinstance(one, FailWaiters)
        else one
        for one in _commit_isr(self, committed, now_ms)
    ]


@replaces(Replica, "_end_leadership")
def lost_leadership_answered_as_refusal(
    self: Replica, reason: str, end: LeadershipEnd
) -> list[Effect]:
    """Producers that wait when leadership ends get an answer that nothing was appended."""
    if self.leader is None:
        return []
    code = common_pb2.NOT_LEADER_OR_FOLLOWER
    ended = self._announced_end(end)
    return [FailWaiters(code, reason), FailDeletions(code, reason), WakeFetches(), *ended]


@replaces(Partition, "_carry_out")
def lost_leadership_answered_as_success(self: Partition, effect: Effect) -> None:
    """Producers that wait when leadership ends get an acknowledgement."""
    if isinstance(effect, FailWaiters):
        self.acks_all.complete_up_to(self.log.log_end_offset)
    _carry_out(self, effect)


@replaces(Partition, "ackable_offset")
def own_append_not_flushed(self: Partition) -> int:
    """A leader counts its own copy before flush.messages=1 has it on stable storage."""
    return self.log.log_end_offset


@replaces(UnreadResponses, "room")
def unread_responses_unbounded(_self: UnreadResponses, _owner: str) -> int:
    """A broker makes every response it is asked for, whether the ones before it are read or not."""
    return 1 << 40
