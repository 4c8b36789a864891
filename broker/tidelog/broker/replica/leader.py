"""A replica that leads: who may append and read what, what is committed, who is in sync.

Owns the high watermark, the ISR and what is known of the followers in one leader epoch. The rules,
each a small function below:

    epoch_refusal             leader epochs are compared before anything else
    has_min_insync            acks=all is refused, and nothing is committed, below the min ISR
    committed_offset          the high watermark is the least end of everyone who may be in the ISR
    deleted_offset            the low watermark is the least start of everyone who may be in the ISR
    is_stale_incarnation      a restarted follower's earlier self is not listened to
    may_join_isr (isr.py)     who joins holds all that is committed and the start of the epoch

Only fetches of this very epoch count: a new leader starts with every follower's end unknown.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable

from tidelog.broker.replica.effects import (
    AnswerDivergingEpoch,
    AppendToLog,
    DeleteRecords,
    Effect,
    FailWaiters,
    NoteIsrChange,
    ProposeIsr,
    RaiseHighWatermark,
    RaiseLowWatermark,
    Refuse,
    ServeRecords,
)
from tidelog.broker.replica.events import (
    Appended,
    DeleteRecordsRequested,
    FetchRequested,
    Flushed,
    FollowerIdentity,
    FollowersFenced,
    IsrAnswered,
    LeaderEvent,
    LogStartRaised,
    PartitionChanged,
    ProduceRequested,
    Ticked,
)
from tidelog.broker.replica.isr import FollowerState, IsrState, may_join_isr
from tidelog.core.errors import invariant
from tidelog.v1 import common_pb2

ACKS_ALL = -1
TO_HIGH_WATERMARK = -1
"""Asked as the offset to delete to."""
# The controller decided that this proposal is not to be. Nor does it follow an earlier attempt that
# is still under way: that one has a lower number (`tidelog.metadata.attempts`).
_CERTAINLY_REFUSED = frozenset({common_pb2.INELIGIBLE_REPLICA, common_pb2.INVALID_REQUEST})


class Leader:
    """The leader's role in one leader epoch, from the moment the image gave it."""

    def __init__(
        self, event: PartitionChanged, *, broker_id: int, lag_ms_max: int, now_ms: int
    ) -> None:
        state = event.state
        self.leader_epoch = state.leader_epoch
        self.epoch_start_offset = event.log_end_offset
        self.log_start_offset = event.log_start_offset
        self.log_end_offset = event.log_end_offset
        self.high_watermark = event.high_watermark
        self.low_watermark = -1
        """-1 until every member of the ISR has fetched in this epoch."""
        self.isr = IsrState(state.isr, state.partition_epoch, elr=state.elr)
        self._broker_id = broker_id
        self._lag_ms_max = lag_ms_max
        self._counted_offset = event.counted_offset
        self._min_insync_replicas = 1
        self._followers: dict[int, FollowerState] = {}
        self._assign(event, now_ms)

    def begin(self, now_ms: int) -> list[Effect]:
        """A leader that is the whole ISR commits at once what it holds."""
        return self._raise_high_watermark(now_ms)

    def change(self, event: PartitionChanged, now_ms: int) -> list[Effect]:
        """Take over a newer state of the partition in the same leader epoch."""
        self._assign(event, now_ms)
        if event.state.partition_epoch <= self.isr.partition_epoch:
            return self._raise_high_watermark(now_ms)
        state = event.state
        return self._commit_isr(IsrState(state.isr, state.partition_epoch, elr=state.elr), now_ms)

    def handle(self, event: LeaderEvent, now_ms: int) -> list[Effect]:
        """Orders that follow from `event`."""
        match event:
            case ProduceRequested():
                return self._produce_requested(event)
            case Appended():
                return self._appended(event, now_ms)
            case Flushed():
                return self._count(event.counted_offset, now_ms)
            case FetchRequested():
                return self._fetch_requested(event, now_ms)
            case DeleteRecordsRequested():
                return self._delete_records_requested(event)
            case LogStartRaised():
                self.log_start_offset = event.log_start_offset
                return self._raise_low_watermark()
            case IsrAnswered():
                return self._isr_answered(event, now_ms)
            case FollowersFenced():
                return self._followers_fenced(event, now_ms)
            case Ticked():
                return self._propose_shrink(now_ms) + self._raise_high_watermark(now_ms)

    def proposal(self) -> list[tuple[int, int]] | None:
        """Broker ids and epochs (-1: unknown) of the ISR to ask the controller for, if any."""
        return None if self.isr.proposed is None else list(self.isr.members)

    def knows_high_watermark(self) -> bool:
        """Whether its high watermark is no lower than the one of the leader before (KIP-207).

        A follower's lags by a fetch: until the start of its epoch is committed a new leader may
        know less than clients were told.
        """
        return self.high_watermark >= self.epoch_start_offset

    def is_under_replicated(self) -> bool:
        """Whether a replica is missing from the ISR."""
        return len(self.isr.committed) <= len(self._followers)

    def is_settled(self) -> bool:
        """Whether every member of the ISR holds all there is."""
        return all(
            follower.log_end_offset == self.log_end_offset
            for follower in self._followers.values()
            if follower.broker_id in self.isr.committed
        )

    def has_min_insync(self) -> bool:
        """Whether the ISR is certainly no smaller than min.insync.replicas asks.

        A topic with fewer replicas than that needs all of them. Where the controller names eligible
        replicas outside the ISR, it knows of configs that this broker does not know yet: each of
        them must hold all that is committed (KIP-966).
        """
        needed = min(self._min_insync_replicas, len(self._followers) + 1)
        return self.isr.size_at_least >= needed and not self.isr.elr

    def _assign(self, event: PartitionChanged, now_ms: int) -> None:
        self._min_insync_replicas = event.min_insync_replicas
        known = self._followers
        self._followers = {
            replica: known.get(replica)
            or FollowerState(replica, caught_up_ms=now_ms if replica in event.state.isr else None)
            for replica in event.state.replicas
            if replica != self._broker_id
        }

    def _produce_requested(self, event: ProduceRequested) -> list[Effect]:
        if event.acks == ACKS_ALL and not self.has_min_insync():
            return [Refuse(common_pb2.NOT_ENOUGH_REPLICAS, self._too_few("nothing was appended"))]
        return [AppendToLog(self.leader_epoch)]

    def _appended(self, event: Appended, now_ms: int) -> list[Effect]:
        invariant(event.log_end_offset >= self.log_end_offset, event, self.log_end_offset)
        for follower in self._followers.values():
            if follower.broker_id in self.isr.committed:
                follower.left_behind(leader_end_offset=self.log_end_offset, now_ms=now_ms)
        self.log_end_offset = event.log_end_offset
        return self._count(event.counted_offset, now_ms)

    def _count(self, offset: int, now_ms: int) -> list[Effect]:
        """The own copy up to `offset` may be acknowledged."""
        invariant(offset <= self.log_end_offset, offset, self.log_end_offset)
        self._counted_offset = max(self._counted_offset, offset)
        return self._raise_high_watermark(now_ms)

    def _fetch_requested(self, event: FetchRequested, now_ms: int) -> list[Effect]:
        refused = epoch_refusal(self.leader_epoch, event.current_leader_epoch)
        if refused is None and event.follower is not None:
            refused = self._follower_refusal(event, event.follower)
        if refused is not None:
            return [refused]
        end = event.epoch_end
        if end is not None and (
            end.leader_epoch != event.last_fetched_epoch or end.end_offset < event.fetch_offset
        ):
            return [AnswerDivergingEpoch(end.leader_epoch, end.end_offset)]
        if not self.log_start_offset <= event.fetch_offset <= self.log_end_offset:
            return [_out_of_range(event.fetch_offset, self.log_start_offset, self.log_end_offset)]
        if event.follower is None:
            return [ServeRecords(self.high_watermark)]
        effects = self._follower_fetched(event, event.follower, now_ms)
        return [*effects, ServeRecords(self.log_end_offset)]

    def _follower_refusal(self, event: FetchRequested, follower: FollowerIdentity) -> Refuse | None:
        if event.current_leader_epoch is None:
            return Refuse(common_pb2.INVALID_REQUEST, "a replica must name the leader epoch")
        known = self._followers.get(follower.broker_id)
        if known is None:
            return Refuse(
                common_pb2.NOT_LEADER_OR_FOLLOWER,
                f"broker {follower.broker_id} is no replica of this partition",
            )
        if not follower.is_known:
            # Perhaps it registered a moment ago, perhaps nobody did: it must fence no one.
            return Refuse(
                common_pb2.INELIGIBLE_REPLICA,
                f"broker {follower.broker_id} has not registered in broker epoch "
                f"{follower.broker_epoch} as far as this broker knows: try again",
            )
        if is_stale_incarnation(known, follower.broker_epoch):
            return Refuse(
                common_pb2.STALE_BROKER_EPOCH,
                f"broker {follower.broker_id} has fetched in broker epoch {known.broker_epoch}, "
                f"newer than {follower.broker_epoch}",
            )
        return None

    def _follower_fetched(
        self, event: FetchRequested, identity: FollowerIdentity, now_ms: int
    ) -> list[Effect]:
        follower = self._followers[identity.broker_id]
        follower.broker_epoch = identity.broker_epoch
        follower.is_eligible = identity.is_eligible
        follower.fetched(
            offset=event.fetch_offset, leader_end_offset=self.log_end_offset, now_ms=now_ms
        )
        effects = self._propose_expansion(follower) + self._raise_high_watermark(now_ms)
        if follower.log_start_offset != event.follower_log_start_offset:
            follower.log_start_offset = event.follower_log_start_offset
            effects += self._raise_low_watermark()
        return effects

    def _delete_records_requested(self, event: DeleteRecordsRequested) -> list[Effect]:
        if not event.is_allowed:
            return [
                Refuse(
                    common_pb2.POLICY_VIOLATION,
                    "the topic's cleanup.policy does not hold delete: its records stay until newer "
                    "ones replace them",
                )
            ]
        offset = self.high_watermark if event.offset == TO_HIGH_WATERMARK else event.offset
        if not 0 <= offset <= self.high_watermark:
            return [_out_of_range(event.offset, self.log_start_offset, self.high_watermark)]
        return [DeleteRecords(offset)]

    def _propose_expansion(self, follower: FollowerState) -> list[Effect]:
        is_pending = self.isr.proposed is not None
        if is_pending or follower.broker_id in self.isr.committed:
            return []
        if not may_join_isr(
            follower,
            high_watermark=self.high_watermark,
            epoch_start_offset=self.epoch_start_offset,
        ):
            return []
        cause = f"replica {follower.broker_id} caught up at offset {follower.log_end_offset}"
        return self._propose((*self.isr.committed, follower.broker_id), cause)

    def _propose_shrink(self, now_ms: int) -> list[Effect]:
        if self.isr.proposed is not None:
            return []
        lagging = [
            follower.broker_id
            for follower in self._followers.values()
            if follower.broker_id in self.isr.committed and not self._is_caught_up(follower, now_ms)
        ]
        if not lagging:
            return []
        staying = tuple(member for member in self.isr.committed if member not in lagging)
        who = ", ".join(f"replica {broker_id}" for broker_id in lagging)
        cause = f"{who} not caught up for {self._lag_ms_max} ms"
        return self._propose(staying, cause)

    def _propose(self, isr: tuple[int, ...], cause: str) -> list[Effect]:
        known = {one.broker_id: one.broker_epoch for one in self._followers.values()}
        self.isr = self.isr.propose(((member, known.get(member, -1)) for member in isr), cause)
        return [ProposeIsr()]

    def _isr_answered(self, event: IsrAnswered, now_ms: int) -> list[Effect]:
        """Keep the proposal unless its fate is known: the maximal ISR counts until then."""
        asked = (event.asked_leader_epoch, event.asked_partition_epoch)
        if self.isr.proposed is None or asked != (self.leader_epoch, self.isr.partition_epoch):
            return []
        if event.error == common_pb2.NONE and event.leader_epoch == self.leader_epoch:
            answered = IsrState(event.isr, event.partition_epoch, elr=event.elr)
            return self._commit_isr(answered, now_ms)
        if event.error in _CERTAINLY_REFUSED:
            self.isr = self.isr.without_proposal()
            return self._raise_high_watermark(now_ms) + self._raise_low_watermark()
        return [ProposeIsr()]

    def _followers_fenced(self, event: FollowersFenced, now_ms: int) -> list[Effect]:
        """They will not join: nobody waits for them, unless they are in the ISR already."""
        for broker_id in event.broker_ids & self._followers.keys():
            self._followers[broker_id].is_eligible = False
        return self._raise_high_watermark(now_ms)

    def _commit_isr(self, committed: IsrState, now_ms: int) -> list[Effect]:
        before, isr = self.isr.committed, committed.committed
        self.isr = committed
        for follower in self._followers.values():
            if follower.broker_id in before and follower.broker_id not in isr:
                # Put out, dead perhaps: nobody waits for it as one about to join until it fetches.
                follower.is_eligible = False
        effects: list[Effect] = [NoteIsrChange(before, isr)] if before != isr else []
        effects += self._raise_high_watermark(now_ms) + self._raise_low_watermark()
        if not self.has_min_insync():
            message = self._too_few("what was appended may be lost or may stay")
            effects.append(FailWaiters(common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND, message))
        return effects

    def _raise_high_watermark(self, now_ms: int) -> list[Effect]:
        if self._counted_offset <= self.high_watermark or not self.has_min_insync():
            return []
        offset = committed_offset(self._counted_offset, self._awaited(now_ms))
        if offset is None or offset <= self.high_watermark:
            return []
        invariant(offset <= self.log_end_offset, offset, self.log_end_offset)
        self.high_watermark = offset
        return [RaiseHighWatermark(offset)]

    def _raise_low_watermark(self) -> list[Effect]:
        """It falls, without a word, when a replica joins that still holds what others deleted."""
        maximal = self.isr.maximal
        members = (one for one in self._followers.values() if one.broker_id in maximal)
        before, self.low_watermark = (
            self.low_watermark,
            deleted_offset(self.log_start_offset, members),
        )
        return [RaiseLowWatermark(self.low_watermark)] if self.low_watermark > before else []

    def _awaited(self, now_ms: int) -> Iterable[FollowerState]:
        """The maximal ISR, and those about to join it: under load they never would otherwise."""
        maximal = self.isr.maximal
        for follower in self._followers.values():
            if follower.broker_id in maximal or self._is_joining(follower, now_ms):
                yield follower

    def _is_joining(self, follower: FollowerState, now_ms: int) -> bool:
        is_known = follower.is_eligible and follower.log_end_offset is not None
        return is_known and self._is_caught_up(follower, now_ms)

    def _is_caught_up(self, follower: FollowerState, now_ms: int) -> bool:
        return follower.is_caught_up(
            leader_end_offset=self.log_end_offset, now_ms=now_ms, lag_ms_max=self._lag_ms_max
        )

    def _too_few(self, outcome: str) -> str:
        return (
            f"the ISR {list(self.isr.committed)} is smaller than min.insync.replicas "
            f"{self._min_insync_replicas}: {outcome}"
        )


def epoch_refusal(own: int, asked: int | None) -> Refuse | None:
    """Why a request of leader epoch `asked` may not be answered in epoch `own`, if so (KIP-320)."""
    if asked is None or asked == own:
        return None
    if asked < own:
        return Refuse(
            common_pb2.FENCED_LEADER_EPOCH,
            f"leader epoch {asked} has ended, it is {own} now: refresh the metadata",
        )
    return Refuse(
        common_pb2.UNKNOWN_LEADER_EPOCH,
        f"leader epoch {asked} is not known here yet, only {own}: try again",
    )


def committed_offset(own: int, followers: Iterable[FollowerState]) -> int | None:
    """The end of what all of them hold; None while one of them is unknown."""
    least = own
    for follower in followers:
        end_offset = follower.log_end_offset
        if end_offset is None:
            return None
        least = min(least, end_offset)
    return least


def deleted_offset(own: int, followers: Iterable[FollowerState]) -> int:
    """Below it none of them holds a record; -1 while one of them is unknown."""
    return min([own, *(follower.log_start_offset for follower in followers)])


def is_stale_incarnation(follower: FollowerState, broker_epoch: int) -> bool:
    """A delayed fetch of an earlier incarnation tells of a log that may be gone (KIP-903)."""
    return broker_epoch < follower.broker_epoch


def _out_of_range(offset: int, start_offset: int, end_offset: int) -> Refuse:
    return Refuse(
        common_pb2.OFFSET_OUT_OF_RANGE,
        f"offset {offset} is outside the log, which holds offsets from {start_offset} up to "
        f"{end_offset}",
    )
