"""A group of the classic protocol: generations, who leads one, and who is assigned to it. The core.

    Empty ──join──▶ PreparingRebalance ──all have joined──▶ CompletingRebalance ──leader syncs──▶
       ▲                │ ▲                                        │                        Stable
       └──nobody left───┘ └────────a member joins, changes or goes─┴─────────────────────────┘

    replay        changes what is recorded; nothing else does
    after_load    begins afresh, in memory, from what is recorded
    the rest      reads; `classic_rebalances` and `classic_requests` decide

Generations, assignments and the members of a generation are recorded. Joins, waiting requests,
sessions and the state between two generations are in memory only: who replaces the coordinator
begins with the recorded generation. Source: Kafka's ClassicGroup.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain

from tidelog.broker.coordinator.classic_member import Member, from_record, to_record
from tidelog.broker.coordinator.classic_messages import (
    JoinedMember,
    JoinRequest,
    Rebalance,
    Ticket,
)
from tidelog.broker.coordinator.classic_record import (
    NEVER,
    Recorded,
    RecordedMember,
    from_value,
    to_value,
)
from tidelog.broker.coordinator.classic_subscription import CONSUMER_PROTOCOL_TYPE, topics_of
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.member_bytes import MemberBytes
from tidelog.core.errors import (
    FencedInstanceIdError,
    IllegalGenerationError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from tidelog.v1.coordinator_records_pb2 import ClassicGroupKey, ClassicGroupValue, CoordinatorKey

REBALANCES_KEPT = 10
"""Rebalances of each group that are remembered, in memory."""
CAUSE_CHARACTERS_MAX = 255
"""Longest cause of a rebalance that is kept: members' names and reasons are strangers' texts."""


class AllTopics:
    """Topics of members that did not say which: none is free of subscribers."""

    def __contains__(self, topic: object) -> bool:
        """Return True."""
        return True


class State(Enum):
    """State of a group, by its public name."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(slots=True)
class InitialDelay:
    """Wait of a group that was empty for further members."""

    limit_ms: int
    """Time at which it ends, even if more members come."""
    has_newcomer: bool = False
    """True if one came since the wait began or was extended."""


@dataclass(slots=True)
class Round:
    """State of the way from one generation to the next, in memory only."""

    leader: str = ""
    """Member that assigns; empty: nobody is there."""
    protocol_type: str = ""
    initial: InitialDelay | None = None
    join_deadline_ms: int | None = None
    """Time at which the joining ends; None: the group does not prepare a rebalance."""
    sync_deadline_ms: int | None = None
    """Time at which those that did not ask for their assignment are removed; None: never."""
    unsynced: set[str] = field(default_factory=set)
    """Members of the newest generation that did not ask for their assignment yet."""


class ClassicGroup:
    """State of one group, and its records."""

    def __init__(
        self, group_id: str, first: Recorded = NEVER, members_bytes: MemberBytes | None = None
    ) -> None:
        """Begin a group without members; `first` has the number before its first generation."""
        self.group_id = group_id
        self.recorded = first
        self.is_recorded = False
        """True when the log has a record of the group."""
        self.state = State.EMPTY
        self.round = Round()
        self.members: dict[str, Member] = {}
        self.pending: dict[str, int] = {}
        """Ids that were given and have not joined yet, and the times at which they end."""
        self.rebalances: deque[Rebalance] = deque(maxlen=REBALANCES_KEPT)
        self.counted_bytes = 0
        """Bytes of the group's record, assignments aside, or more."""
        self.held_bytes = 0
        """Bytes that its members hold in memory."""
        self._members_bytes = members_bytes or MemberBytes()
        self._instances: dict[str, str] = {}
        self._waiting: dict[Ticket, str] = {}
        self._have: Counter[str] = Counter()  # members that have a protocol, by its name

    # Change

    def replay(self, value: ClassicGroupValue) -> None:
        """Apply the group's record."""
        self.recorded = from_value(value)
        self.is_recorded = True

    def after_load(self, now_ms: int) -> None:
        """Begin with the recorded generation: each member has a full session.

        One without an assignment has to be made again, see `classic_record`.
        """
        recorded = self.recorded
        self.forget_members()
        self.pending, self._instances, self._waiting = {}, {}, {}
        self.round = Round(recorded.leader, recorded.protocol_type)
        for one in recorded.members.values():
            self.add(from_record(one, recorded.protocol, now_ms))
        if not recorded.members:
            self.state = State.EMPTY
        else:
            self.state = State.STABLE if recorded.is_complete else State.PREPARING

    def forget_members(self) -> None:
        """Forget all members: they are loaded again, or the group is given up."""
        for member in self.members.values():
            self._count(member, -1)
        self.members, self._have = {}, Counter()

    def add(self, member: Member) -> None:
        """Put a member in; the first one leads."""
        self.members[member.member_id] = member
        self.pending.pop(member.member_id, None)
        self._count(member, 1)
        self.round.leader = self.round.leader or member.member_id
        if member.instance_id is not None:
            self._instances[member.instance_id] = member.member_id

    def take_out(self, member: Member) -> Ticket | None:
        """Take a member out, and give back its waiting request."""
        ticket = self.unpark(member)
        del self.members[member.member_id]
        self._count(member, -1)
        self.round.unsynced.discard(member.member_id)
        if member.instance_id is not None:
            del self._instances[member.instance_id]
        if self.round.leader == member.member_id:
            self.round.leader = next(iter(self.members), "")
        return ticket

    def note_rebalance(self, cause: str, wall_ms: int) -> None:
        """Remember why the next generation is made."""
        kept = cause[:CAUSE_CHARACTERS_MAX]
        self.rebalances.append(Rebalance(wall_ms, self.generation + 1, kept))

    def update(self, member: Member, request: JoinRequest) -> None:
        """Take over the fields of a member's later join."""
        self._count(member, -1)
        member.take(request)
        self._count(member, 1)

    def replace(self, old: Member, new: Member) -> None:
        """Put a static member in the place of its former self, which has no waiting request."""
        was_leader, names = self.round.leader == old.member_id, list(self.members)
        was_unsynced = old.member_id in self.round.unsynced
        self.take_out(old)
        self.add(new)
        if was_leader:
            self.round.leader = new.member_id
        if was_unsynced:
            self.round.unsynced.add(new.member_id)
        ordered = (new.member_id if one == old.member_id else one for one in names)
        self.members = {one: self.members[one] for one in ordered}

    def _count(self, member: Member, sign: int) -> None:
        self.counted_bytes += sign * member.counted_bytes
        self.held_bytes += sign * member.held_bytes
        self._members_bytes.change_classic(member.host, sign * member.held_bytes)
        for protocol in member.protocols:
            self._have[protocol.name] += sign

    def park(self, member: Member, ticket: Ticket) -> None:
        """Let a member's request wait; it has no other one."""
        member.ticket = ticket
        self._waiting[ticket] = member.member_id

    def unpark(self, member: Member) -> Ticket | None:
        """Take a member's waiting request, if it has one."""
        ticket, member.ticket = member.ticket, None
        if ticket is not None:
            del self._waiting[ticket]
        return ticket

    # Read

    @property
    def generation(self) -> int:
        """The newest generation that is recorded."""
        return self.recorded.generation

    @property
    def is_unused(self) -> bool:
        """True for a group that nobody would miss: without a record, a member, or a given id."""
        return not self.is_recorded and not self.members and not self.pending

    @property
    def empty_since_ms(self) -> int | None:
        """Wall clock's time at which the last member went; None: there are some, or never were."""
        return self.recorded.since_ms if self.state is State.EMPTY and self.is_recorded else None

    @property
    def next_deadline_ms(self) -> int | None:
        """Time by the clock that only rises at which `expire` has to look; None: nothing ends."""
        own = (self.round.join_deadline_ms, self.round.sync_deadline_ms)
        members = (one.deadline_ms for one in self.members.values() if not one.is_exempt)
        ends = chain(members, self.pending.values(), (one for one in own if one is not None))
        return min(ends, default=None)

    @property
    def rebalance_timeout_ms(self) -> int:
        """Longest time that a member has to join again."""
        return max((one.rebalance_timeout_ms for one in self.members.values()), default=0)

    @property
    def have_all_joined(self) -> bool:
        """True, while the group prepares a rebalance, when there is nobody left to wait for."""
        return not self.pending and len(self._waiting) == len(self.members)

    @property
    def waiting_count(self) -> int:
        """Number of members with a waiting request."""
        return len(self._waiting)

    @property
    def tickets(self) -> list[Ticket]:
        """Tickets of requests that wait."""
        return list(self._waiting)

    def waiting(self, ticket: Ticket) -> Member | None:
        """Member whose request of this ticket waits."""
        member_id = self._waiting.get(ticket)
        return None if member_id is None else self.members[member_id]

    def have_all(self, protocol: str) -> bool:
        """True if each member has this protocol."""
        return self._have[protocol] == len(self.members)

    @property
    def common_protocols(self) -> list[str]:
        """Names of the protocols that each member has, in order."""
        return sorted(name for name in self._have if self.have_all(name))

    def instance(self, instance_id: str | None) -> Member | None:
        """Static member of this `group.instance.id`."""
        member_id = None if instance_id is None else self._instances.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def require(self, member_id: str, instance_id: str | None) -> Member:
        """Find a member. Raises `KafkaError` for none, and when another has its instance id."""
        holder = self.instance(instance_id)
        if holder is not None and holder.member_id != member_id:
            raise FencedInstanceIdError(
                f"group.instance.id {instance_id!r} belongs to another member now: "
                f"{holder.member_id}; give each member an instance id of its own"
            )
        member = self.members.get(member_id)
        if member is None or (instance_id is not None and holder is None):
            raise UnknownMemberIdError(
                f"group {self.group_id!r} has no member {member_id!r}"
                f"{f' of group.instance.id {instance_id!r}' if instance_id is not None else ''}: "
                "join without a member id"
            )
        return member

    def check_generation(self, member: Member, generation: int) -> None:
        """Raise `IllegalGenerationError` unless the generation is the newest."""
        if generation != self.generation:
            raise IllegalGenerationError(
                f"member {member.member_id} is of generation {generation}, group "
                f"{self.group_id!r} is at {self.generation}: join again"
            )

    def check_commit(self, member_id: str, instance_id: str | None, generation: int) -> None:
        """Raise `KafkaError` unless offsets may be committed under this name.

        Without members anybody may, who names no generation.
        """
        if generation < 0 and self.state is State.EMPTY:
            return
        if generation < 0 and not member_id and instance_id is None:
            raise UnknownMemberIdError(
                f"group {self.group_id!r} has members: commit as one of them, or stop them first"
            )
        self.check_generation(self.require(member_id, instance_id), generation)
        if self.state is State.COMPLETING:
            raise RebalanceInProgressError(
                f"group {self.group_id!r} has no assignment of generation {generation} yet: "
                "ask for it by SyncGroup, then commit"
            )

    def check_transactional_commit(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> None:
        """Raise `KafkaError` unless offsets may be committed in a transaction under this name.

        As in Kafka also by nobody, and by a member that has not asked for its assignment yet: what
        it read in the generation before has no other owner until it does.
        """
        if generation < 0 and (self.state is State.EMPTY or (not member_id and not instance_id)):
            return
        self.check_generation(self.require(member_id, instance_id), generation)

    @property
    def is_of_consumers(self) -> bool:
        """True if the members' metadata are subscriptions of Kafka's consumers."""
        return self.round.protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def topics(self) -> Container[str]:
        """Topics that the members subscribe to; all where that is not known."""
        if self.state is State.EMPTY:
            return frozenset()
        if self.state is not State.STABLE or not self.is_of_consumers:
            return AllTopics()
        names = [topics_of(one.metadata(self.recorded.protocol)) for one in self.members.values()]
        known = [one for one in names if one is not None]
        return AllTopics() if len(known) < len(names) else frozenset().union(*known)

    def joined_members(self, protocol: str) -> tuple[JoinedMember, ...]:
        """List the members for their leader."""
        return tuple(
            JoinedMember(one.member_id, one.instance_id, one.metadata(protocol))
            for one in self.members.values()
        )

    # Records

    def announced(self, protocol: str, wall_ms: int) -> Recorded:
        """Make the next generation of the members, without an assignment; without members: none."""
        members = (to_record(one, protocol, b"") for one in self.members.values())
        return Recorded(
            generation=self.generation + 1,
            protocol_type=self.round.protocol_type,
            protocol=protocol,
            since_ms=wall_ms,
            members={one.member_id: one for one in members},
        )

    def recorded_of(self, member: Member) -> RecordedMember:
        """Make the part of a member in the newest generation, without its assignment."""
        return to_record(member, self.recorded.protocol, b"")

    def record(self, recorded: Recorded) -> CoordinatorRecord:
        """Make the group's record."""
        return CoordinatorRecord(self._key(), to_value(recorded))

    def delete(self) -> list[CoordinatorRecord]:
        """Delete the group, which must be empty."""
        return [CoordinatorRecord(self._key(), None)]

    def _key(self) -> CoordinatorKey:
        return CoordinatorKey(classic_group=ClassicGroupKey(group_id=self.group_id))


def shown(members: Iterable[Member]) -> str:
    """Name members for people, three at most."""
    names = [f"{one.member_id} ({one.instance_id or one.client_id})" for one in members]
    further = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + further
