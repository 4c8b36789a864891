"""Target assignments of a group of the consumer protocol, made by its assignor in slices. Pure.

`TargetAssignment` is begun at a group epoch and looks at the group as it was then. Members may come
and go while it is made: it is applied all the same, under the epoch of its beginning, so that a
group that changes all the time gets assignments all the same; `ConsumerGroup.needs_assignment` then
asks for the next one.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tidelog.broker.coordinator.assignors.interface import (
    Assignment,
    Assignor,
    GroupSpec,
    MemberSubscription,
)
from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_member import Member
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.offsets import Topics

MEMBERS_PER_SLICE = 50
"""Members whose records are made in one slice."""


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
        self._slices = self._assignor.assign(spec_of(group, topics))
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
        now, self._left = self._left[:MEMBERS_PER_SLICE], self._left[MEMBERS_PER_SLICE:]
        records = self._group.retarget(now, self._targets)
        if not self._left:
            self.is_done = True
            records.append(self._group.finish(self._epoch, self._assignor.name))
        return records


def spec_of(group: ConsumerGroup, topics: Topics) -> GroupSpec:
    """Describe the group to an assignor; members that are away for a while keep their part."""
    ids = {name: topic_id for name in group.topics if (topic_id := topics.topic_id(name))}
    return GroupSpec(
        members=tuple(_subscriptions(group.members.values(), ids)),
        partition_counts={topic_id: topics.partition_count(topic_id) for topic_id in ids.values()},
        topic_names={topic_id: name for name, topic_id in ids.items()},
    )


def _subscriptions(
    members: Iterable[Member], ids: Mapping[str, bytes]
) -> Iterator[MemberSubscription]:
    for member in members:
        yield MemberSubscription(
            member_id=member.member_id,
            instance_id=member.instance_id,
            rack=member.rack_id,
            topic_ids=frozenset(ids[name] for name in member.topics if name in ids),
            owned=member.target,
        )
