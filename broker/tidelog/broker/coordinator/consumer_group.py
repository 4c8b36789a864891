"""A group of the consumer protocol: members, epochs, and who holds which partition. The core.

    replay_group, replay_member   change the state; nothing else does
    begin, change, remove         decide: records of a changed member and of the next group epoch
    assign                        decide: records of a new target assignment
    step                          decide: the next step of a member to its target

The *group epoch* rises when members, subscriptions or subscribed topics change; an assignor then
makes the *target assignment* of that epoch, and each member comes to it at its own pace. Epochs
never fall: the group's record outlives its members. Source: KIP-848.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from tidelog.broker.coordinator.consumer_member import (
    NOTHING,
    Member,
    PartitionId,
    Partitions,
    from_value,
    reconcile,
    to_value,
)
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.member_bytes import MEMBER_COST_BYTES, MemberBytes
from tidelog.broker.coordinator.offsets import Topics
from tidelog.broker.coordinator.subscribed_topics import SubscribedTopics
from tidelog.v1.coordinator_records_pb2 import (
    CoordinatorKey,
    GroupKey,
    GroupMemberKey,
    GroupMemberValue,
    GroupValue,
)

REBALANCES_KEPT = 10
FIRST_EPOCH = 1
"""Epoch of a group that has had no member: its assignment, of nothing, is complete."""


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A rise of the group epoch."""

    time_ms: int
    epoch: int
    cause: str


@dataclass(frozen=True, slots=True)
class GroupState:
    """State of a group, its members aside."""

    epoch: int = FIRST_EPOCH
    assignment_epoch: int = FIRST_EPOCH
    """At most `epoch`; below it an assignment is to be made."""
    assignor: str = ""
    """The one that made the assignment."""
    rebalances: tuple[Rebalance, ...] = ()
    """The last ten, the newest last."""
    topics_hash: int = 0
    """Hash of the subscribed topics as of `epoch`, see `SubscribedTopics`."""


class ConsumerGroup:
    """State of one group, and its next records."""

    def __init__(self, group_id: str, members_bytes: MemberBytes | None = None) -> None:
        self.group_id = group_id
        self.state = GroupState()
        self.members: dict[str, Member] = {}
        self._holders: dict[PartitionId, str] = {}
        self._instances: dict[str, str] = {}
        self._subscribed = SubscribedTopics()
        self._record_bytes: dict[str | None, int] = {}
        self.state_bytes = 0
        """Bytes of the records of the group and of its members."""
        self._members_bytes = members_bytes or MemberBytes()
        self._held: dict[str, tuple[str, int]] = {}
        """Addresses and bytes in memory of members."""

    # Read

    @property
    def needs_assignment(self) -> bool:
        """True while the newest group epoch has no target assignment."""
        return self.state.assignment_epoch < self.state.epoch

    def subscribed(self, topics: Topics) -> frozenset[str]:
        """Names that some member subscribes to, by name or by pattern."""
        return self._subscribed.names(self.members.values(), topics)

    @property
    def patterns(self) -> Collection[str]:
        """Patterns that some member subscribes by."""
        return self._subscribed.patterns

    @property
    def changed_ms(self) -> int:
        """Wall clock's time of the newest group epoch; 0: there was none."""
        rebalances = self.state.rebalances
        return rebalances[-1].time_ms if rebalances else 0

    def have_topics_changed(self, topics: Topics) -> bool:
        """True if the subscribed topics are not those of the newest group epoch."""
        return self._subscribed.hash(self.members.values(), topics) != self.state.topics_hash

    def holder(self, partition: PartitionId) -> str | None:
        """Member that owns a partition or has still to let go of it."""
        return self._holders.get(partition)

    def instance(self, instance_id: str) -> Member | None:
        """Static member of this `group.instance.id`."""
        member_id = self._instances.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def wanted_assignor(self, default: str) -> str:
        """Name the assignor that most members want; of equals the first by name."""
        votes = Counter(one.assignor for one in self.members.values() if one.assignor)
        return min(votes, key=lambda name: (-votes[name], name), default=default)

    # Decide

    def begin(self, cause: str, now_ms: int, topics: Topics) -> list[CoordinatorRecord]:
        """Begin the next group epoch without a change of members, as when topics have changed."""
        return [self._next_epoch(self.members, cause, now_ms, topics)]

    def change(
        self, member: Member, cause: str | None, now_ms: int, topics: Topics
    ) -> list[CoordinatorRecord]:
        """Put a member in, or in the place of itself; with a cause, begin the next group epoch."""
        records = (
            [self._member_record(member)] if self.members.get(member.member_id) != member else []
        )
        if cause is not None:
            members = {**self.members, member.member_id: member}
            records.append(self._next_epoch(members, cause, now_ms, topics))
        return records

    def remove(
        self, member_ids: list[str], cause: str, now_ms: int, topics: Topics
    ) -> list[CoordinatorRecord]:
        """Take members out, and begin the next group epoch."""
        left = {name: one for name, one in self.members.items() if name not in member_ids}
        tombstones = [CoordinatorRecord(self._member_key(one), None) for one in member_ids]
        return [*tombstones, self._next_epoch(left, cause, now_ms, topics)]

    def replace_member(
        self, old_id: str, member: Member, cause: str | None, now_ms: int, topics: Topics
    ) -> list[CoordinatorRecord]:
        """Put a static member in the place of its former self, which had another member id."""
        records = [CoordinatorRecord(self._member_key(old_id), None), self._member_record(member)]
        if cause is not None:
            members = {name: one for name, one in self.members.items() if name != old_id}
            members[member.member_id] = member
            records.append(self._next_epoch(members, cause, now_ms, topics))
        return records

    def assign(
        self, epoch: int, assignor: str, targets: Mapping[str, Partitions]
    ) -> list[CoordinatorRecord]:
        """Set the target assignment that was made for `epoch`; members that left since are skipped.

        The group's record comes last: a coordinator that loads only a part of the records makes the
        assignment again.
        """
        return [*self.retarget(self.members, targets), self.finish(epoch, assignor)]

    def retarget(
        self, member_ids: Iterable[str], targets: Mapping[str, Partitions]
    ) -> list[CoordinatorRecord]:
        """Set the targets of some members; `finish` comes when all have theirs."""
        members = (self.members[name] for name in member_ids if name in self.members)
        return [
            self._member_record(replace(member, target=target))
            for member in members
            if member.target != (target := targets.get(member.member_id, NOTHING))
        ]

    def finish(self, epoch: int, assignor: str) -> CoordinatorRecord:
        """Note that every member has its target of the assignment that was made for `epoch`."""
        return self._group_record(replace(self.state, assignment_epoch=epoch, assignor=assignor))

    def step(self, member: Member, *, knows_epoch: bool) -> Member:
        """Take a member's next step to its target, see `reconcile`."""

        def is_free(partition: PartitionId) -> bool:
            return self._holders.get(partition, member.member_id) == member.member_id

        return reconcile(member, self.state.assignment_epoch, is_free, knows_epoch=knows_epoch)

    def delete(self) -> list[CoordinatorRecord]:
        """Delete the group, which must be empty."""
        return [CoordinatorRecord(self._group_key(), None)]

    def _next_epoch(
        self, members: Mapping[str, Member], cause: str, now_ms: int, topics: Topics
    ) -> CoordinatorRecord:
        epoch = self.state.epoch + 1
        rebalances = (*self.state.rebalances, Rebalance(now_ms, epoch, cause))[-REBALANCES_KEPT:]
        topics_hash = self._subscribed.hash(members.values(), topics)
        state = replace(self.state, epoch=epoch, rebalances=rebalances, topics_hash=topics_hash)
        return self._group_record(state)

    # Change

    def replay_group(self, value: GroupValue | None) -> None:
        """Apply the group's record; None: it is deleted."""
        self._count_bytes(None, value)
        if value is None:
            self.state = GroupState()
            return
        self.state = GroupState(
            epoch=value.epoch,
            assignment_epoch=value.assignment_epoch,
            assignor=value.assignor,
            rebalances=tuple(
                Rebalance(one.time_ms, one.epoch, one.cause) for one in value.rebalances
            ),
            topics_hash=value.topics_hash,
        )

    def replay_member(self, member_id: str, value: GroupMemberValue | None) -> None:
        """Apply a member's record; None: it is gone."""
        self._count_bytes(member_id, value)
        old = self.members.pop(member_id, None)
        if old is not None:
            self._forget(old)
        if value is not None:
            member = self._subscribed.add(from_value(member_id, value))
            self.members[member_id] = member
            self._holders.update(dict.fromkeys(member.held, member_id))
            if member.instance_id is not None:
                self._instances[member.instance_id] = member_id

    def _count_bytes(
        self, member_id: str | None, value: GroupValue | GroupMemberValue | None
    ) -> None:
        """Count a record of a member, or of the group: None."""
        self.state_bytes -= self._record_bytes.pop(member_id, 0)
        if value is not None:
            size = self._record_bytes[member_id] = value.ByteSize()
            self.state_bytes += size
        if member_id is not None:
            self._count_held(member_id, value)

    def _count_held(self, member_id: str, value: GroupValue | GroupMemberValue | None) -> None:
        if member_id in self._held:
            host, held_bytes = self._held.pop(member_id)
            self._members_bytes.change(host, -held_bytes)
        if isinstance(value, GroupMemberValue):
            held = value.host, MEMBER_COST_BYTES + self._record_bytes[member_id]
            self._held[member_id] = held
            self._members_bytes.change(*held)

    def _forget(self, member: Member) -> None:
        for partition in member.held:
            if self._holders.get(partition) == member.member_id:
                del self._holders[partition]
        self._subscribed.remove(member)
        instance_id = member.instance_id
        if instance_id is not None and self._instances.get(instance_id) == member.member_id:
            del self._instances[instance_id]

    # Records

    def _group_record(self, state: GroupState) -> CoordinatorRecord:
        value = GroupValue(
            epoch=state.epoch,
            assignment_epoch=state.assignment_epoch,
            assignor=state.assignor,
            rebalances=[
                GroupValue.Rebalance(time_ms=one.time_ms, epoch=one.epoch, cause=one.cause)
                for one in state.rebalances
            ],
            topics_hash=state.topics_hash,
        )
        return CoordinatorRecord(self._group_key(), value)

    def _member_record(self, member: Member) -> CoordinatorRecord:
        return CoordinatorRecord(self._member_key(member.member_id), to_value(member))

    def _group_key(self) -> CoordinatorKey:
        return CoordinatorKey(group=GroupKey(group_id=self.group_id))

    def _member_key(self, member_id: str) -> CoordinatorKey:
        key = GroupMemberKey(group_id=self.group_id, member_id=member_id)
        return CoordinatorKey(member=key)
