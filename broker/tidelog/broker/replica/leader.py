"""Leader role: admission of appends and reads, high watermark, ISR.

Owns the high watermark, the ISR and the followers' states in one leader epoch. The rules, each a
small function below:

    epoch_refusal             leader epochs are compared before anything else
    has_min_insync            acks=all is refused, and nothing is committed, below the min ISR
    committed_offset          the high watermark is the smallest log end in the maximal ISR
    deleted_offset            the low watermark is the smallest log start in the maximal ISR
    is_stale_incarnation      fetches of a follower's earlier incarnation are refused
    may_join_isr (isr.py)     a joining replica holds all committed records and the epoch's start

Only fetches in this leader epoch count: a new leader starts with every follower's end unknown.
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
"""Requested offset that stands for the high watermark in DeleteRecords."""
# Errors with which the controller certainly rejected the proposal. It does not accept an earlier
# attempt in flight either, which has a lower number (`tidelog.metadata.attempts`).
_CERTAINLY_REFUSED = frozenset({common_pb2.INELIGIBLE_REPLICA, common_pb2.INVALID_REQUEST})


class Leader:
    """Leader role in one leader epoch, from the moment the image assigned it."""

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
        self._ackable_offset = event.ackable_offset
        self._min_insync_replicas = 1
        self._followers: dict[int, FollowerState] = {}
        self._assign(event, now_ms)

    def begin(self, now_ms: int) -> list[Effect]:
        """A leader that is alone in the ISR commits its whole log immediately."""
        return self._raise_high_watermark(now_ms)

    def change(self, event: PartitionChanged, now_ms: int) -> list[Effect]:
        """Take over a newer state of the partition in the same leader epoch."""
        self._assign(event, now_ms)
        if event.state.partition_epoch <= self.isr.partition_epoch:
            return self._raise_high_watermark(now_ms)
        state = event.state
        return self._commit_isr(IsrState(state.isr, state.partition_epoch, elr=state.elr), now_ms)

    def handle(self, event: LeaderEvent, now_ms: int) -> list[Effect]:
        """Handle `event`; return the effects, to be carried out in order."""
        match event:
            case ProduceRequested():
                return self._produce_requested(event)
            case Appended():
                return self._appended(event, now_ms)
            case Flushed():
                return self._count(event.ackable_offset, now_ms)
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
        """Broker ids and epochs (-1: unknown) of the proposed ISR; None without a proposal."""
        return None if self.isr.proposed is None else list(self.isr.members)

    def knows_high_watermark(self) -> bool:
        """True when its high watermark has reached that of the previous leader (KIP-207).

        A follower's high watermark lags by a fetch: until the start of its epoch is committed, a
        new leader's may be lower than the one clients have seen.
        """
        return self.high_watermark >= self.epoch_start_offset

    def is_under_replicated(self) -> bool:
        """True when a replica is missing from the ISR."""
        return len(self.isr.committed) <= len(self._followers)

    def is_settled(self) -> bool:
        """True when every member of the ISR holds all records."""
        return all(
            follower.log_end_offset == self.log_end_offset
            for follower in self._followers.values()
            if follower.broker_id in self.isr.committed
        )

    def has_min_insync(self) -> bool:
        """True when the ISR certainly has at least min.insync.replicas members.

        A topic with fewer replicas than that needs all of them. A nonempty ELR means that the
        controller knows a config that this broker does not know yet: each of its members must hold
        all committed records (KIP-966).
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
        return self._count(event.ackable_offset, now_ms)

    def _count(self, offset: int, now_ms: int) -> list[Effect]:
        """Note that the leader's own log may be acknowledged up to `offset`."""
        invariant(offset <= self.log_end_offset, offset, self.log_end_offset)
        self._ackable_offset = max(self._ackable_offset, offset)
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
            return Refuse(common_pb2.INVALID_REQUEST, "a replica must send the leader epoch")
        known = self._followers.get(follower.broker_id)
        if known is None:
            return Refuse(
                common_pb2.NOT_LEADER_OR_FOLLOWER,
                f"broker {follower.broker_id} is no replica of this partition",
            )
        if not follower.is_known:
            # It may have registered a moment ago, or not at all: it must not fence another
            # incarnation.
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
        follower.note_fetch(
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
                    "the topic's cleanup.policy lacks delete: its records stay until newer "
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
        """Keep the proposal unless its outcome is known: until then the maximal ISR counts."""
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
        """Exclude fenced followers: they will not join, so only ISR members are still awaited."""
        for broker_id in event.broker_ids & self._followers.keys():
            self._followers[broker_id].is_eligible = False
        return self._raise_high_watermark(now_ms)

    def _commit_isr(self, committed: IsrState, now_ms: int) -> list[Effect]:
        before, isr = self.isr.committed, committed.committed
        self.isr = committed
        for follower in self._followers.values():
            if follower.broker_id in before and follower.broker_id not in isr:
                # A removed follower, possibly dead, is not awaited as joining until it fetches
                # again.
                follower.is_eligible = False
        effects: list[Effect] = [NoteIsrChange(before, isr)] if before != isr else []
        effects += self._raise_high_watermark(now_ms) + self._raise_low_watermark()
        if not self.has_min_insync():
            message = self._too_few("the appended records may be lost or may stay")
            effects.append(FailWaiters(common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND, message))
        return effects

    def _raise_high_watermark(self, now_ms: int) -> list[Effect]:
        if self._ackable_offset <= self.high_watermark or not self.has_min_insync():
            return []
        offset = committed_offset(self._ackable_offset, self._awaited(now_ms))
        if offset is None or offset <= self.high_watermark:
            return []
        invariant(offset <= self.log_end_offset, offset, self.log_end_offset)
        self.high_watermark = offset
        return [RaiseHighWatermark(offset)]

    def _raise_low_watermark(self) -> list[Effect]:
        """Update the low watermark; it falls, without an effect, when a replica joins behind it."""
        maximal = self.isr.maximal
        members = (one for one in self._followers.values() if one.broker_id in maximal)
        before, self.low_watermark = (
            self.low_watermark,
            deleted_offset(self.log_start_offset, members),
        )
        return [RaiseLowWatermark(self.low_watermark)] if self.low_watermark > before else []

    def _awaited(self, now_ms: int) -> Iterable[FollowerState]:
        """Followers to wait for: the maximal ISR, and those joining, which else never would."""
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
    """Error for a request of leader epoch `asked` in epoch `own`; None if it may pass (KIP-320)."""
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
    """Smallest log end offset; None while a follower's is unknown."""
    least = own
    for follower in followers:
        end_offset = follower.log_end_offset
        if end_offset is None:
            return None
        least = min(least, end_offset)
    return least


def deleted_offset(own: int, followers: Iterable[FollowerState]) -> int:
    """Smallest log start offset; -1 while a follower's is unknown."""
    return min([own, *(follower.log_start_offset for follower in followers)])


def is_stale_incarnation(follower: FollowerState, broker_epoch: int) -> bool:
    """True for a delayed fetch of an earlier incarnation, whose log may be lost (KIP-903)."""
    return broker_epoch < follower.broker_epoch


def _out_of_range(offset: int, start_offset: int, end_offset: int) -> Refuse:
    return Refuse(
        common_pb2.OFFSET_OUT_OF_RANGE,
        f"offset {offset} is outside the log's range from {start_offset} up to {end_offset}",
    )
