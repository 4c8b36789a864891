"""Requests of the classic group protocol: what each does to its group. The core.

Each method raises `KafkaError` with nothing changed, or returns the records and answers that follow
from it. A join and a sync may wait: their answers are part of a later step. Source: Kafka's
GroupMetadataManager, `classicGroup…`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.classic_group import ClassicGroup, State, shown
from tidelog.broker.coordinator.classic_joins import check_join
from tidelog.broker.coordinator.classic_member import Member, new_member, voted_protocol
from tidelog.broker.coordinator.classic_messages import (
    ClassicLimits,
    ClassicStep,
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveDecision,
    LeaveRequest,
    LeavingMember,
    MemberIdGivenError,
    SyncRequest,
    Ticket,
)
from tidelog.broker.coordinator.classic_rebalances import ClassicRebalances, assignment_of
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.moment import Moment
from tidelog.core.errors import (
    FencedInstanceIdError,
    InconsistentGroupProtocolError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
    as_result,
)

REASON_CHARACTERS_MAX = 100
"""Characters of a member's reason that are kept (KIP-800)."""
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""Time after which a new member that waits for its first generation counts as gone, as in Kafka."""

NEW_MEMBER_RETURN_MS_MAX = 30_000
"""Time that a new member has to come back when its connection ended before its first generation."""


class ClassicRequests:
    """Decisions on one group."""

    def __init__(self, group: ClassicGroup, limits: ClassicLimits) -> None:
        self.group = group
        self._limits = limits
        self._rebalances = ClassicRebalances(group, limits)

    # Joining

    def join(self, request: JoinRequest, ticket: Ticket, fresh_id: str, now: Moment) -> ClassicStep:
        """Decide a join; `fresh_id` is for a member that has no id yet, nobody has had it.

        Raises `MemberIdGivenError` with that id when the member has to join again with it.
        """
        group, step = self.group, ClassicStep([], [])
        check_join(group, request, self._limits)
        if not request.member_id:
            self._join_unnamed(request, ticket, fresh_id, now, step)
        elif request.member_id in group.pending and request.instance_id is None:
            self._add(request.member_id, request, ticket, now, step)
        else:
            self._join_again(request, ticket, now, step)
        return step

    def _join_unnamed(
        self, request: JoinRequest, ticket: Ticket, fresh_id: str, now: Moment, step: ClassicStep
    ) -> None:
        holder = self.group.instance(request.instance_id)
        if holder is not None:
            self._replace(holder, new_member(fresh_id, request), request, ticket, now, step)
        elif request.instance_id is None and request.knows_required_id:
            self.group.pending[fresh_id] = now.monotonic_ms + request.session_timeout_ms
            raise MemberIdGivenError(
                f"a member joins group {self.group.group_id!r} with an id: join again with "
                f"{fresh_id}",
                fresh_id,
            )
        else:
            self._add(fresh_id, request, ticket, now, step)

    def _add(
        self, member_id: str, request: JoinRequest, ticket: Ticket, now: Moment, step: ClassicStep
    ) -> None:
        group, member = self.group, new_member(member_id, request)
        member.knows_id = bool(request.member_id) or request.instance_id is not None
        if not group.members:
            group.round.protocol_type = request.protocol_type
        member.is_new = True
        group.add(member)
        self._rebalances.note_newcomer()
        self._wait(member, ticket, f"{shown([member])} joined", now, step)

    def _wait(
        self, member: Member, ticket: Ticket, cause: str, now: Moment, step: ClassicStep
    ) -> None:
        """Let a join wait for the next generation, which begins if there is nobody else."""
        if member.is_new:
            member.deadline_ms = now.monotonic_ms + NEW_MEMBER_JOIN_TIMEOUT_MS
        self._rebalances.begin(cause, now, step)
        self._rebalances.refuse(member, self._again("this member has joined anew"), step)
        self.group.park(member, ticket)
        self._rebalances.try_complete(now, step)

    def _join_again(
        self, request: JoinRequest, ticket: Ticket, now: Moment, step: ClassicStep
    ) -> None:
        group = self.group
        member = group.require(request.member_id, request.instance_id)
        if self._needs_rebalance(member, request):
            why = f": {request.reason[:REASON_CHARACTERS_MAX]}" if request.reason else ""
            group.update(member, request)
            self._wait(member, ticket, f"{shown([member])} joined again{why}", now, step)
            return
        # Its answer was lost, or it follows a leader whose assignment is not there yet.
        group.update(member, request)
        member.renew(now.monotonic_ms)
        step.answers.append((ticket, self._rebalances.answer(member, group.recorded)))

    def _needs_rebalance(self, member: Member, request: JoinRequest) -> bool:
        state, is_same = self.group.state, member.protocols == request.protocols
        if state is State.COMPLETING:
            return not is_same
        is_leader = self.group.round.leader == member.member_id
        return state is not State.STABLE or is_leader or not is_same

    # Static members

    def _replace(
        self,
        holder: Member,
        member: Member,
        request: JoinRequest,
        ticket: Ticket,
        now: Moment,
        step: ClassicStep,
    ) -> None:
        """Put a static member in the place of its former self, which is fenced."""
        group, was_leader = self.group, self.group.round.leader
        fenced = FencedInstanceIdError(
            f"group.instance.id {holder.instance_id!r} belongs to another member now: "
            f"{member.member_id}; give each member an instance id of its own"
        )
        self._rebalances.refuse(holder, fenced, step)
        group.replace(holder, member)
        member.is_new = holder.is_new
        member.renew(now.monotonic_ms)
        record = self._unchanged(holder, member)
        if record is None:
            self._wait(member, ticket, f"{shown([member])} came back", now, step)
            return
        step.records.append(record)
        step.answers.append((ticket, self._came_back(member, was_leader, request)))

    def _unchanged(self, holder: Member, member: Member) -> CoordinatorRecord | None:
        """Record of the same generation with the new member; None: it has to be made again."""
        group = self.group
        if group.state is not State.STABLE:
            return None
        if voted_protocol(group.members.values()) != group.recorded.protocol:
            return None
        of_member = group.recorded_of(member)
        record = group.record(group.recorded.with_member(holder.member_id, of_member))
        return record if self._rebalances.has_room(record) else None

    def _came_back(self, member: Member, was_leader: str, request: JoinRequest) -> JoinAnswer:
        """Answer one that has its generation's assignment (KIP-814).

        A leader would assign afresh, which nobody else would hear of: it is told that it has not
        to, or, if it does not know of that, that another one leads.
        """
        group = self.group
        answer = self._rebalances.answer(member, group.recorded)
        if group.round.leader != member.member_id:
            return answer
        if request.knows_skipped_assignment:
            return answer._replace(skip_assignment=True)
        return answer._replace(leader=was_leader, members=())

    # Assignment

    def sync(self, request: SyncRequest, ticket: Ticket, now: Moment) -> ClassicStep:
        """Decide a sync; those of others wait for the leader's."""
        group, step = self.group, ClassicStep([], [])
        member = group.require(request.member_id, request.instance_id)
        group.check_generation(member, request.generation)
        self._check_protocol(request)
        if group.state is State.PREPARING:
            raise self._again("it has begun another rebalance")
        if group.state is State.COMPLETING:
            if group.round.leader == member.member_id:
                step = self._rebalances.assigned(request.assignments, now)
            self._rebalances.refuse(member, self._again("this member asked again"), step)
        group.round.unsynced.discard(member.member_id)
        member.renew(now.monotonic_ms)
        if step.records:
            self._rebalances.answer_syncs(step, now)
        if group.state is State.COMPLETING:
            group.park(member, ticket)
        else:
            complete = self._rebalances.newest(step)
            step.answers.append((ticket, assignment_of(complete, member)))
        return step

    def _check_protocol(self, request: SyncRequest) -> None:
        """Raise `InconsistentGroupProtocolError` for a member of another kind (KIP-559)."""
        recorded = self.group.recorded
        for ours, theirs in (
            (recorded.protocol_type, request.protocol_type),
            (recorded.protocol, request.protocol),
        ):
            if theirs is not None and theirs != ours:
                raise InconsistentGroupProtocolError(
                    f"generation {recorded.generation} of group {self.group.group_id!r} has "
                    f"protocol {ours!r}, not {theirs!r}: join again"
                )

    # Staying and going

    def heartbeat(self, request: HeartbeatRequest, now: Moment) -> None:
        """Renew a member's session. Raises `RebalanceInProgressError` when it has to join again."""
        group = self.group
        member = group.require(request.member_id, request.instance_id)
        group.check_generation(member, request.generation)
        member.renew(now.monotonic_ms)
        if group.state is State.PREPARING:
            raise self._again("it rebalances")

    def note_commit(self, member_id: str, now: Moment) -> None:
        """Renew the session of a member that commits, as in Kafka."""
        member = self.group.members.get(member_id)
        if member is not None and not member.is_new:
            member.renew(now.monotonic_ms)

    def leave(self, request: LeaveRequest, now: Moment) -> LeaveDecision:
        """Remove members; each has its own result."""
        step = ClassicStep([], [])
        results: list[KafkaError | None] = []
        gone: list[Member] = []
        for leaving in request.members:
            try:
                member = self._leaving(leaving)
            except KafkaError as error:
                results.append(as_result(error))
                continue
            results.append(None)
            if member is not None:
                gone.append(member)
                self._rebalances.remove(member, step)
        reasons = {one.reason for one in request.members if one.reason}
        why = f" ({min(reasons)[:REASON_CHARACTERS_MAX]})" if reasons else ""
        self._rebalances.go_on(gone, f"left{why}", now, step)
        return LeaveDecision(step, results)

    def _leaving(self, leaving: LeavingMember) -> Member | None:
        """Find the member that is to go; None: its id was given, and is taken back."""
        group = self.group
        if leaving.instance_id is None and leaving.member_id in group.pending:
            del group.pending[leaving.member_id]
            return None
        if not leaving.member_id and leaving.instance_id is not None:
            holder = group.instance(leaving.instance_id)
            if holder is not None:
                return holder
            raise UnknownMemberIdError(
                f"group {group.group_id!r} has no member of group.instance.id "
                f"{leaving.instance_id!r}: it has left already"
            )
        return group.require(leaving.member_id, leaving.instance_id)

    # Without a request

    def cancel(self, ticket: Ticket, now: Moment) -> None:
        """Forget a waiting request whose caller has gone; its member has a session to come back.

        A new one has `NEW_MEMBER_RETURN_MS_MAX` at most, and no time if it does not know its id.
        """
        member = self.group.waiting(ticket)
        if member is None:
            return
        self.group.unpark(member)
        member.renew(now.monotonic_ms)
        if member.is_new:
            most_ms = NEW_MEMBER_RETURN_MS_MAX if member.knows_id else 0
            member.deadline_ms = min(member.deadline_ms, now.monotonic_ms + most_ms)

    def after_load(self, now: Moment) -> None:
        """Begin with the recorded generation; see `ClassicRebalances.after_load`."""
        self._rebalances.after_load(now)

    def expire(self, now: Moment) -> ClassicStep:
        """Remove members whose sessions are over, and end waits whose time is over."""
        step = ClassicStep([], [])
        self._rebalances.expire(now, step)
        return step

    def _again(self, why: str) -> KafkaError:
        return RebalanceInProgressError(f"group {self.group.group_id!r}: {why}; join again")
