"""A partition replica on this broker: its role and epochs.

Decides roles from the image's states and passes every other event to the role. Never goes back to
an older leader epoch or partition epoch. Without an undamaged log there is no role.

    role        leaves it by
    none        a state that names this broker as leader, or any other state
    follower    a newer leader epoch
    leader      a newer leader epoch
    any         LogDamaged: none, until the log is healed; LogClosed: none, for good
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.replica.effects import (
    AnnounceLeadership,
    AnnounceLeadershipEnd,
    AssignEpoch,
    Effect,
    FailDeletions,
    FailWaiters,
    Refuse,
    RestartLog,
    StartFetching,
    StopFetching,
    TruncateTo,
    WakeFetches,
)
from tidelog.broker.replica.events import (
    DeleteRecordsRequested,
    Event,
    FetchAnswered,
    FetchedAppended,
    FetchRequested,
    LeaderEvent,
    LeadershipEnd,
    LogClosed,
    LogDamaged,
    PartitionChanged,
    ProduceRequested,
)
from tidelog.broker.replica.follower import Follower
from tidelog.broker.replica.leader import Leader, epoch_refusal
from tidelog.v1 import common_pb2


class Replica:
    """State machine of one replica; `handle` is the only way it changes."""

    def __init__(self, *, broker_id: int, lag_ms_max: int, served_epoch: int = -1) -> None:
        """`served_epoch`: that of this replica's earlier object in the same broker epoch."""
        self.role: Leader | Follower | None = None
        self.is_closed = False
        self._broker_id = broker_id
        self._lag_ms_max = lag_ms_max
        self._served_epoch = served_epoch
        self._heal_at_ms = 0

    @property
    def leader(self) -> Leader | None:
        """The leader role, if this replica leads."""
        return self.role if isinstance(self.role, Leader) else None

    @property
    def follower(self) -> Follower | None:
        """The follower role, if this replica follows."""
        return self.role if isinstance(self.role, Follower) else None

    @property
    def leader_epoch(self) -> int:
        """Leader epoch of the role; -1 without one."""
        return -1 if self.role is None else self.role.leader_epoch

    @property
    def served_epoch(self) -> int:
        """Newest leader epoch in which this replica led or fetched; -1: in none.

        Only there can a leader have seen it fetch, and have proposed it for the ISR.
        """
        return max(self._served_epoch, self.leader_epoch)

    def leader_refusal(self, current_leader_epoch: int | None) -> Refuse | None:
        """Error for a request to the leader of that epoch; None if this replica is."""
        if self.role is not None:
            refused = epoch_refusal(self.role.leader_epoch, current_leader_epoch)
            if refused is not None:
                return refused
        return None if self.leader is not None else _not_leader()

    def handle(self, event: Event, now_ms: int) -> list[Effect]:
        """Handle `event`; return the effects, to be carried out in order."""
        match event:
            case PartitionChanged():
                return self._partition_changed(event, now_ms)
            case LogClosed():
                self.is_closed = True
                return self._end_role("its log was closed", event.end)
            case LogDamaged():
                return self._end_role("its log is damaged", LeadershipEnd.OFFLINE)
            case FetchAnswered() | FetchedAppended():
                follower = self.follower
                return [] if follower is None else follower.handle(event)
            case _:
                leader = self.leader
                if leader is None:
                    return self._refuse(event)
                return leader.handle(event, now_ms)

    def _partition_changed(self, event: PartitionChanged, now_ms: int) -> list[Effect]:
        state = event.state
        if self.is_closed or state.leader_epoch < self.leader_epoch:
            return []
        if event.first_bad_offset is not None:
            return self._heal(event, event.first_bad_offset, now_ms)
        if state.leader_epoch == self.leader_epoch:
            return [] if self.leader is None else self.leader.change(event, now_ms)
        if state.leader_id != self._broker_id:
            return self._follow(event)
        if may_lead(event):
            return self._lead(event, now_ms)
        return []

    def _lead(self, event: PartitionChanged, now_ms: int) -> list[Effect]:
        leader = Leader(
            event, broker_id=self._broker_id, lag_ms_max=self._lag_ms_max, now_ms=now_ms
        )
        ended = self._announced_end(LeadershipEnd.DEPOSED)
        self.role = leader
        return [
            *ended,
            StopFetching(),
            AssignEpoch(leader.leader_epoch, leader.epoch_start_offset),
            WakeFetches(),
            AnnounceLeadership(leader.leader_epoch, leader.high_watermark),
            *leader.begin(now_ms),
        ]

    def _follow(self, event: PartitionChanged) -> list[Effect]:
        state = event.state
        reason = f"broker {state.leader_id} leads now"
        effects = self._end_leadership(reason, LeadershipEnd.DEPOSED)
        self.role = Follower(leader_id=state.leader_id, leader_epoch=state.leader_epoch)
        if state.leader_id is None:
            return [*effects, StopFetching()]
        return [*effects, StartFetching(state.leader_id)]

    def _heal(self, event: PartitionChanged, offset: int, now_ms: int) -> list[Effect]:
        """Truncate to the first damaged offset: the leader has the records.

        Only in a leader epoch after those it served in: the image may be old, and in the last of
        these the leader may have added this replica to the ISR. The report begins a new epoch. A
        log that is still damaged after that is truncated again, but not at once.
        """
        if now_ms < self._heal_at_ms or not may_cut(event, self._broker_id, self.served_epoch):
            return []
        self._heal_at_ms = now_ms + self._lag_ms_max
        cause = f"damaged from offset {offset} on"
        if offset >= event.log_start_offset:
            return [TruncateTo(offset, cause)]
        return [RestartLog(offset, cause)]

    def _end_role(self, reason: str, end: LeadershipEnd) -> list[Effect]:
        effects = self._end_leadership(reason, end)
        self._served_epoch = self.served_epoch
        self.role = None
        return [*effects, StopFetching()]

    def _end_leadership(self, reason: str, end: LeadershipEnd) -> list[Effect]:
        """Fail waiting requests with an unknown outcome: their records may still be committed."""
        if self.leader is None:
            return []
        message = f"this broker no longer leads the partition, {reason}: the outcome is unknown"
        return [
            FailWaiters(common_pb2.REQUEST_TIMED_OUT, message),
            FailDeletions(common_pb2.NOT_LEADER_OR_FOLLOWER, message),
            WakeFetches(),
            *self._announced_end(end),
        ]

    def _announced_end(self, end: LeadershipEnd) -> list[Effect]:
        if self.leader is None:
            return []
        return [AnnounceLeadershipEnd(self.leader.leader_epoch, end)]

    def _refuse(self, event: LeaderEvent) -> list[Effect]:
        match event:
            case ProduceRequested() | DeleteRecordsRequested():
                return [_not_leader()]
            case FetchRequested():
                return [self.leader_refusal(event.current_leader_epoch) or _not_leader()]
            case _:
                return []


def may_lead(event: PartitionChanged) -> bool:
    """An image older than the log's records gives no leadership: epochs never decrease in a log."""
    return event.state.leader_epoch > event.latest_epoch


def may_cut(event: PartitionChanged, broker_id: int, served_epoch: int) -> bool:
    """A damaged replica outside ISR and ELR may truncate, as long as another one leads.

    The state must be of a later leader epoch than `served_epoch`: only a leader that sees it fetch
    in that epoch or a later one can bring it back into the ISR. A replica that the controllers made
    leader although they knew of its damage may truncate once, before it leads: damage found after
    that is reported again.
    """
    state = event.state
    if state.leader_epoch <= served_epoch:
        return False
    if state.leader_id == broker_id:
        return broker_id in state.damaged and may_lead(event)
    is_complete = broker_id in state.isr or broker_id in state.elr
    return state.leader_id is not None and not is_complete


def _not_leader() -> Refuse:
    return Refuse(
        common_pb2.NOT_LEADER_OR_FOLLOWER,
        "this broker does not lead the partition: ask the leader",
    )
