"""Groups of the classic protocol of one partition of `__consumer_offsets`. Pure.

    join, sync, heartbeat, leave    decide a member's request
    expire, cancel, restart         decide without one: time has passed, a caller has gone, an
                                    append failed
    replay                          changes what is recorded

A group comes to be in memory, with the first member that gets an id, and is recorded with its first
generation. One that is not recorded and has nobody in it is forgotten.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.classic_live_group import LiveClassicGroup
from tidelog.broker.coordinator.classic_member import Member
from tidelog.broker.coordinator.classic_messages import (
    ClassicLimits,
    ClassicStep,
    HeartbeatRequest,
    JoinRequest,
    LeaveDecision,
    LeaveRequest,
    MemberIdGivenError,
    SyncRequest,
    Ticket,
)
from tidelog.broker.coordinator.classic_record import NEVER, Recorded
from tidelog.broker.coordinator.member_bytes import MemberBytes
from tidelog.broker.coordinator.moment import Moment
from tidelog.core.errors import UnknownMemberIdError
from tidelog.v1.coordinator_records_pb2 import ClassicGroupValue


class ClassicGroups:
    """The groups by their ids."""

    def __init__(self, limits: ClassicLimits, members_bytes: MemberBytes | None = None) -> None:
        self.by_id: dict[str, LiveClassicGroup] = {}
        self._members_bytes = members_bytes or MemberBytes()
        self._limits = limits

    # Change

    def replay(self, group_id: str, value: ClassicGroupValue | None) -> None:
        """Apply a group's record; None: it is deleted, or of the other protocol from here on."""
        if value is None:
            self.drop(group_id)
            return
        if group_id not in self.by_id:
            members_bytes = self._members_bytes
            self.by_id[group_id] = LiveClassicGroup(
                group_id, self._limits, members_bytes=members_bytes
            )
        self.by_id[group_id].state.replay(value)

    def after_load(self, group_id: str, now: Moment) -> None:
        """Begin a group with its recorded generation: all members have a full session."""
        self.by_id[group_id].requests.after_load(now)

    def drop(self, group_id: str) -> None:
        """Forget a group with all that is in it."""
        live = self.by_id.pop(group_id, None)
        if live is not None:
            live.state.forget_members()

    def member(self, group_id: str, request: JoinRequest) -> Member | None:
        """Member that is there and joins again, perhaps by another id."""
        live = self.by_id.get(group_id)
        if live is None:
            return None
        found = live.state.members.get(request.member_id)
        return found or live.state.instance(request.instance_id)

    # Requests

    def join(
        self,
        group_id: str,
        request: JoinRequest,
        *,
        ticket: Ticket,
        fresh_id: str,
        now: Moment,
        first: Recorded = NEVER,
    ) -> ClassicStep:
        """Decide a join, see `ClassicRequests`; a new group begins after the generation `first`."""
        live = self.by_id.get(group_id)
        if live is None:
            if request.member_id:
                raise _unknown(group_id, request.member_id)
            live = LiveClassicGroup(group_id, self._limits, first, self._members_bytes)
        try:
            step = live.requests.join(request, ticket, fresh_id, now)
        except MemberIdGivenError:
            self.by_id[group_id] = live  # it has the id
            raise
        self.by_id[group_id] = live
        return step

    def sync(
        self, group_id: str, request: SyncRequest, *, ticket: Ticket, now: Moment
    ) -> ClassicStep:
        """Decide a sync, see `ClassicRequests`."""
        return self._of(group_id, request.member_id).requests.sync(request, ticket, now)

    def heartbeat(self, group_id: str, request: HeartbeatRequest, now: Moment) -> None:
        """Decide a heartbeat, see `ClassicRequests`."""
        self._of(group_id, request.member_id).requests.heartbeat(request, now)

    def leave(self, group_id: str, request: LeaveRequest, now: Moment) -> LeaveDecision:
        """Decide a leave, see `ClassicRequests`."""
        live = self.by_id.get(group_id)
        if live is not None:
            return live.requests.leave(request, now)
        unknown = [_unknown(group_id, one.member_id) for one in request.members]
        return LeaveDecision(ClassicStep([], []), [*unknown])

    def _of(self, group_id: str, member_id: str) -> LiveClassicGroup:
        live = self.by_id.get(group_id)
        if live is None:
            raise _unknown(group_id, member_id)
        return live

    # Without a request

    def expire(self, group_id: str, now: Moment) -> ClassicStep:
        """Remove members whose sessions are over, and end waits whose time is over."""
        live = self.by_id.get(group_id)
        if live is None:
            return ClassicStep([], [])
        step = live.requests.expire(now)
        if live.state.is_unused and not step.records:
            del self.by_id[group_id]
        return step

    def next_deadline_ms(self, group_id: str) -> int | None:
        """Time by the clock that only rises at which `expire` has to look; None: nothing ends."""
        live = self.by_id.get(group_id)
        return None if live is None else live.state.next_deadline_ms

    def cancel(self, group_id: str, ticket: Ticket, now: Moment) -> None:
        """Forget a waiting request whose caller has gone."""
        live = self.by_id.get(group_id)
        if live is not None:
            live.requests.cancel(ticket, now)

    def restart(self, group_id: str, now: Moment) -> list[Ticket]:
        """Begin a group again with its recorded generation, since a step of it was not appended.

        Returns the requests that waited: they are to be refused.
        """
        live = self.by_id.get(group_id)
        if live is None:
            return []
        waiting = live.state.tickets
        if live.state.is_recorded:
            live.requests.after_load(now)
        else:
            self.drop(group_id)
        return waiting


def _unknown(group_id: str, member_id: str) -> UnknownMemberIdError:
    return UnknownMemberIdError(
        f"group {group_id!r} has no member {member_id!r}: join without a member id"
    )
