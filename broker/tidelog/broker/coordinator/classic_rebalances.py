"""Rebalances of a classic group: joining, the leader's assignment, and whose time is over. Pure.

A rebalance has a barrier: the next generation begins when each member has joined again, or when the
longest rebalance timeout is over; dynamic members that have not joined are out then. Static ones
stay for their session. A group that was empty waits for further members first. Source: KIP-62,
KIP-134, KIP-345.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidelog.broker.coordinator.classic_group import ClassicGroup, InitialDelay, State, shown
from tidelog.broker.coordinator.classic_member import Member, voted_protocol
from tidelog.broker.coordinator.classic_messages import (
    ClassicLimits,
    ClassicStep,
    JoinAnswer,
    SyncAnswer,
    Ticket,
)
from tidelog.broker.coordinator.classic_record import Recorded, from_value
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.moment import Moment
from tidelog.core.errors import (
    InvalidRequestError,
    KafkaError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from tidelog.v1.coordinator_records_pb2 import ClassicGroupValue


class ClassicRebalances:
    """Steps of one group from generation to generation."""

    def __init__(self, group: ClassicGroup, limits: ClassicLimits) -> None:
        self._group = group
        self._limits = limits

    # Joining

    def begin(self, cause: str, now: Moment, step: ClassicStep) -> None:
        """Begin a rebalance, if none is being prepared; `try_complete` is to follow."""
        group = self._group
        if group.state is State.PREPARING:
            return
        for member in [one for one in group.members.values() if one.ticket is not None]:
            member.renew(now.monotonic_ms)
            self.refuse(member, _rebalancing(group), step)
        group.round.unsynced.clear()
        group.round.sync_deadline_ms = None
        group.note_rebalance(cause, now.wall_ms)
        if group.state is State.EMPTY:
            self._delay(now.monotonic_ms)
        else:
            group.round.join_deadline_ms = now.monotonic_ms + group.rebalance_timeout_ms
        group.state = State.PREPARING

    def _delay(self, now_ms: int) -> None:
        delay_ms = self._limits.initial_rebalance_delay_ms
        limit_ms = now_ms + max(self._group.rebalance_timeout_ms, delay_ms)
        self._group.round.initial = InitialDelay(limit_ms)
        self._group.round.join_deadline_ms = now_ms + delay_ms

    def note_newcomer(self) -> None:
        """Extend the wait of a group that was empty, if it is in it."""
        if self._group.round.initial is not None:
            self._group.round.initial.has_newcomer = True

    def try_complete(self, now: Moment, step: ClassicStep) -> None:
        """Begin the next generation if there is nobody left to wait for."""
        group = self._group
        is_waiting = group.state is State.PREPARING and group.round.initial is None
        if is_waiting and group.have_all_joined:
            self._complete(now, step)

    def _complete(self, now: Moment, step: ClassicStep) -> None:
        group = self._group
        for late in [one for one in group.members.values() if one.ticket is None]:
            if late.instance_id is None:
                group.take_out(late)
        joined = [(one, one.ticket) for one in group.members.values() if one.ticket is not None]
        group.round.initial = None
        if group.members and not joined:
            # Static members that are away: their sessions decide.
            group.round.join_deadline_ms = now.monotonic_ms + group.rebalance_timeout_ms
            return
        group.round.join_deadline_ms = None
        if joined:
            self._announce(joined, now, step)
        else:
            group.state = State.EMPTY
            step.records.append(group.record(group.announced("", now.wall_ms)))

    def _announce(
        self, joined: list[tuple[Member, Ticket]], now: Moment, step: ClassicStep
    ) -> None:
        group = self._group
        if group.members[group.round.leader].ticket is None:
            group.round.leader = joined[0][0].member_id
        announced = group.announced(voted_protocol(group.members.values()), now.wall_ms)
        step.records.append(group.record(announced))
        group.state = State.COMPLETING
        for member, ticket in joined:
            member.is_new = False
            member.renew(now.monotonic_ms)
            group.unpark(member)
            step.answers.append((ticket, self.answer(member, announced)))
        group.round.unsynced = {one.member_id for one, _ in joined}
        group.round.sync_deadline_ms = now.monotonic_ms + group.rebalance_timeout_ms

    def answer(self, member: Member, recorded: Recorded) -> JoinAnswer:
        """Answer a join with a generation; its leader gets the members."""
        group = self._group
        is_leader = group.round.leader == member.member_id
        return JoinAnswer(
            member.member_id,
            recorded.generation,
            recorded.protocol_type,
            recorded.protocol,
            group.round.leader,
            group.joined_members(recorded.protocol) if is_leader else (),
        )

    # Assignment

    def assigned(self, assignments: Mapping[str, bytes], now: Moment) -> ClassicStep:
        """Complete the generation; one that its leader forgot has an empty assignment.

        Raises `InvalidRequestError` when the assignment is too large to be recorded.
        """
        group = self._group
        members = {
            name: replace(one, assignment=assignments.get(name, b""))
            for name, one in group.recorded.members.items()
            if name in group.members
        }
        complete = replace(
            group.recorded, leader=group.round.leader, since_ms=now.wall_ms, members=members
        )
        record = group.record(complete)
        if not self.has_room(record):
            raise InvalidRequestError(
                f"group {group.group_id!r} with this assignment has {bytes_of(record)} bytes, the "
                f"coordinator records {self._limits.record_bytes_max} at most: assign fewer "
                "partitions, or spread the members over several groups"
            )
        return ClassicStep([record], [])

    def has_room(self, record: CoordinatorRecord) -> bool:
        """True if the record of the group is not too large for one batch of the internal topic."""
        return bytes_of(record) <= self._limits.record_bytes_max

    def answer_syncs(self, step: ClassicStep, now: Moment) -> None:
        """Give each waiting member its part of the assignment in `step`."""
        group, complete = self._group, self.newest(step)
        group.state = State.STABLE
        for member in group.members.values():
            ticket = group.unpark(member)
            if ticket is not None:
                member.renew(now.monotonic_ms)
                step.answers.append((ticket, assignment_of(complete, member)))

    def newest(self, step: ClassicStep) -> Recorded:
        """Read the generation as it is when the step is appended."""
        value = step.records[-1].value if step.records else None
        return from_value(value) if isinstance(value, ClassicGroupValue) else self._group.recorded

    # Without a request

    def remove(self, member: Member, step: ClassicStep) -> None:
        """Take a member out; a waiting request of it is refused."""
        group = self._group
        ticket = group.take_out(member)
        if ticket is not None:
            refusal = UnknownMemberIdError(
                f"member {member.member_id} was removed from group {group.group_id!r}: "
                "join without a member id"
            )
            step.answers.append((ticket, refusal))

    def refuse(self, member: Member, error: KafkaError, step: ClassicStep) -> None:
        """Refuse a member's waiting request, if it has one."""
        ticket = self._group.unpark(member)
        if ticket is not None:
            step.answers.append((ticket, error))

    def go_on(self, removed: list[Member], cause: str, now: Moment, step: ClassicStep) -> None:
        """Rebalance what is left of the group when members were removed."""
        if removed:
            self.begin(f"{shown(removed)} {cause}", now, step)
        self.try_complete(now, step)

    def expire(self, now: Moment, step: ClassicStep) -> None:
        """Remove members whose sessions are over, and end waits whose time is over."""
        group, now_ms = self._group, now.monotonic_ms
        for name in [name for name, end_ms in group.pending.items() if end_ms <= now_ms]:
            del group.pending[name]
        silent = [
            one for one in group.members.values() if one.deadline_ms <= now_ms and not one.is_exempt
        ]
        for member in silent:
            self.remove(member, step)
        self.go_on(silent, "was silent for its session", now, step)
        if _is_over(group.round.join_deadline_ms, now_ms):
            self._end_joining(now, step)
        if _is_over(group.round.sync_deadline_ms, now_ms):
            self._end_syncing(now, step)

    def _end_joining(self, now: Moment, step: ClassicStep) -> None:
        initial, now_ms = self._group.round.initial, now.monotonic_ms
        if initial is not None and initial.has_newcomer and now_ms < initial.limit_ms:
            initial.has_newcomer = False
            later_ms = now_ms + self._limits.initial_rebalance_delay_ms
            self._group.round.join_deadline_ms = min(later_ms, initial.limit_ms)
        else:
            self._complete(now, step)

    def _end_syncing(self, now: Moment, step: ClassicStep) -> None:
        group = self._group
        group.round.sync_deadline_ms = None
        unsynced = [group.members[name] for name in sorted(group.round.unsynced)]
        for member in unsynced:
            self.remove(member, step)
        self.go_on(unsynced, "did not ask for its assignment in time", now, step)

    def after_load(self, now: Moment) -> None:
        """Begin with the recorded generation; one that is too large or unassigned is remade."""
        group = self._group
        group.after_load(now.monotonic_ms)
        if group.state is State.PREPARING:
            group.round.join_deadline_ms = now.monotonic_ms + group.rebalance_timeout_ms
            cause = "its coordinator was replaced before the assignment was made"
            group.note_rebalance(cause, now.wall_ms)
        elif len(group.members) > self._limits.size_max:
            self.begin("the group has more members than group.max.size", now, ClassicStep([], []))


def bytes_of(record: CoordinatorRecord) -> int:
    """Size of a record's value."""
    return 0 if record.value is None else record.value.ByteSize()


def assignment_of(recorded: Recorded, member: Member) -> SyncAnswer:
    """Answer a sync with the member's part of a complete generation."""
    return SyncAnswer(
        recorded.protocol_type,
        recorded.protocol,
        recorded.members[member.member_id].assignment,
    )


def _rebalancing(group: ClassicGroup) -> KafkaError:
    return RebalanceInProgressError(f"group {group.group_id!r} rebalances: join again")


def _is_over(deadline_ms: int | None, now_ms: int) -> bool:
    return deadline_ms is not None and deadline_ms <= now_ms
