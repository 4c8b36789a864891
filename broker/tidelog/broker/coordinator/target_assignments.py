"""Target assignments of a group of the consumer protocol, made by its assignor in slices. Pure.

`TargetAssignment` is begun at a group epoch and looks at the group as it was then. Members may come
and go while it is made: it is applied all the same, under the epoch of its beginning, so that a
group that changes all the time gets assignments all the same; `ConsumerGroup.needs_assignment` then
asks for the next one.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tidelog.broker.coordinator.assignors.interface import (
    Assignment,
    Assignor,
    GroupSpec,
    MemberSubscription,
)
from tidelog.broker.coordinator.assignors.slices import Sliced, Steps
from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_member import Member
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.offsets import Topics
from tidelog.broker.coordinator.subscribed_topics import Subscription, subscription_of

MEMBERS_PER_SLICE = 50
"""Most members whose records are made in one slice."""
PARTITIONS_PER_SLICE = 1_000
"""Partitions of members after which a slice takes no further one."""


class TargetAssignment:
    """The assignment of one group epoch, while it is made."""

    def __init__(
        self, group: ConsumerGroup, assignors: Mapping[str, Assignor], topics: Topics
    ) -> None:
        """Begin it; `assignors` by name, the default first."""
        self._group = group
        self._epoch = group.state.epoch
        default = next(iter(assignors))
        # A broker of before may have had one that this one's configuration lacks.
        self._assignor = assignors.get(group.wanted_assignor(default), assignors[default])
        self._slices = _assign(self._assignor, tuple(group.members.values()), topics)
        self._targets: Assignment | None = None
        self._left: list[str] = []
        self.is_done = False
        """True when all records of the assignment were returned."""

    def next_slice(self) -> list[CoordinatorRecord]:
        """Work on it for a slice; return the records of some members. Replay them before the next.

        Raises `InvalidAssignmentError` when a user's assignor fails: keep the assignment of before.
        """
        if self._targets is None:
            self._targets = next(self._slices)
            # Members that join from here on have no target, and get none.
            self._left = list(self._group.members)
            return []
        count = self._slice_size(self._targets)
        now, self._left = self._left[:count], self._left[count:]
        records = self._group.retarget(now, self._targets)
        if not self._left:
            self.is_done = True
            records.append(self._group.finish(self._epoch, self._assignor.name))
        return records

    def _slice_size(self, targets: Assignment) -> int:
        """Count the next members whose records make a slice."""
        partitions = 0
        for count, member_id in enumerate(self._left[:MEMBERS_PER_SLICE]):
            if partitions >= PARTITIONS_PER_SLICE:
                return count
            partitions += len(targets.get(member_id, ()))
        return MEMBERS_PER_SLICE


def _assign(
    assignor: Assignor, members: Sequence[Member], topics: Topics
) -> Iterator[Assignment | None]:
    spec = yield from spec_of(members, topics)
    yield from assignor.assign(spec)


def spec_of(members: Sequence[Member], topics: Topics) -> Sliced[GroupSpec]:
    """Describe a group to an assignor; members that are away for a while keep their part."""
    steps = Steps()
    found: dict[str, bytes] = {}
    ids: dict[Subscription, frozenset[bytes]] = {}
    subscriptions: list[MemberSubscription] = []
    for member in members:
        subscription = subscription_of(member)
        if subscription not in ids:
            of_one: list[bytes] = []
            for name in subscription.names(topics):
                topic_id = found.get(name) or topics.topic_id(name)
                if topic_id is not None:
                    found[name] = topic_id
                    of_one.append(topic_id)
                if steps.fill_slice():
                    yield
            ids[subscription] = frozenset(of_one)
        subscriptions.append(_described(member, ids[subscription]))
        if steps.fill_slice(2):
            yield
    counts: dict[bytes, int] = {}
    for topic_id in found.values():
        counts[topic_id] = topics.partition_count(topic_id)
        if steps.fill_slice():
            yield
    return GroupSpec(
        members=tuple(subscriptions),
        partition_counts=counts,
        topic_names={topic_id: name for name, topic_id in found.items()},
    )


def _described(member: Member, topic_ids: frozenset[bytes]) -> MemberSubscription:
    return MemberSubscription(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack=member.rack_id,
        topic_ids=topic_ids,
        owned=member.target,
    )
