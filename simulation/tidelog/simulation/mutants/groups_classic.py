"""Mutants of groups of the classic protocol: generations, who is waited for, who is believed."""
# they take the place of methods

from __future__ import annotations

from dataclasses import replace

from tidelog.broker.coordinator import classic_group
from tidelog.broker.coordinator.classic_group import ClassicGroup
from tidelog.broker.coordinator.classic_member import Member, from_record
from tidelog.broker.coordinator.classic_messages import (
    ClassicStep,
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    SyncRequest,
    Ticket,
)
from tidelog.broker.coordinator.classic_record import Recorded, RecordedMember
from tidelog.broker.coordinator.classic_requests import ClassicRequests
from tidelog.broker.coordinator.moment import Moment
from tidelog.core.errors import IllegalGenerationError, UnknownMemberIdError
from tidelog.simulation.mutants.mutant import replaces

_check_commit = ClassicGroup.check_commit
_heartbeat = ClassicRequests.heartbeat
_sync = ClassicRequests.sync


@replaces(ClassicRequests, "sync")
def late_syncs_taken(
    self: ClassicRequests, request: SyncRequest, ticket: Ticket, now: Moment
) -> ClassicStep:
    """A sync of an older generation gets, or is, the newest one's assignment."""
    return _sync(self, replace(request, generation=self.group.generation), ticket, now)


@replaces(ClassicRequests, "heartbeat")
def late_heartbeats_taken(self: ClassicRequests, request: HeartbeatRequest, now: Moment) -> None:
    """A member of an older generation is not told that there is another one."""
    _heartbeat(self, replace(request, generation=self.group.generation), now)


@replaces(ClassicGroup, "check_commit")
def commits_of_any_generation_taken(
    self: ClassicGroup, member_id: str, instance_id: str | None, generation: int
) -> None:
    """A member commits in a generation that is over."""
    try:
        _check_commit(self, member_id, instance_id, generation)
    except IllegalGenerationError:
        return


@replaces(ClassicGroup, "have_all_joined")
def rebalance_not_waited_for(self: ClassicGroup) -> bool:
    """A generation begins with the first member that joins; the others are out."""
    return bool(self._waiting)


@replaces(ClassicGroup, "require")
def replaced_members_not_fenced(
    self: ClassicGroup, member_id: str, instance_id: str | None
) -> Member:
    """A static member is believed though another one has taken its place (KIP-345)."""
    member = self.members.get(member_id) or self.instance(instance_id)
    if member is None:
        raise UnknownMemberIdError(f"group {self.group_id!r} has no member {member_id!r}")
    return member


@replaces(classic_group, "from_record")
def classic_sessions_not_restarted_after_a_load(
    recorded: RecordedMember, protocol: str, now_ms: int
) -> Member:
    """A coordinator that has loaded a classic group removes whom it has not heard of."""
    return replace(from_record(recorded, protocol, now_ms), deadline_ms=now_ms)


@replaces(Member, "is_exempt")
def waiting_members_expire(_self: Member) -> bool:
    """A member that waits for the others to join is removed when its session is over."""
    return False


@replaces(Recorded, "is_complete")
def unassigned_generations_loaded(_self: Recorded) -> bool:
    """A coordinator that loads a generation without an assignment takes it for a stable one."""
    return True


@replaces(ClassicRequests, "_came_back")
def returned_leader_assigns_again(
    self: ClassicRequests, member: Member, _was_leader: str, _request: JoinRequest
) -> JoinAnswer:
    """A static leader that comes back is told to assign a generation that has its assignment."""
    return self._rebalances.answer(member, self.group.recorded)
