"""A member of a group of the consumer protocol, and its way to its target assignment. Pure.

    stable ──target changes──▶ lets go of what it loses ──confirmed──▶ gets what is free
                               (`revoking`, at its old epoch)          (at the assignment's epoch)

Members go their ways one by one; no barrier makes them wait for each other. A partition is given
when no other member owns it or has still to let go of it, never before. Source: KIP-848,
"Reconciliation of the group".
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from tidelog.v1.coordinator_records_pb2 import GroupMemberValue, TopicPartitions

PartitionId = tuple[bytes, int]
"""Topic id, 16 bytes, and number."""
Partitions = frozenset[PartitionId]

NOTHING: Partitions = frozenset()
JOINING, LEAVING, AWAY = 0, -1, -2
"""Epochs of requests: joins; leaves; leaves for a while (a static member, KIP-345)."""


@dataclass(frozen=True, slots=True)
class Member:
    """State of a member, as its record holds it."""

    member_id: str
    instance_id: str | None = None
    rack_id: str = ""
    client_id: str = ""
    host: str = ""
    rebalance_timeout_ms: int = 0
    topics: frozenset[str] = frozenset()
    """Names that it subscribes to."""
    pattern: str = ""
    assignor: str = ""
    """The one that it wants; empty: any."""
    epoch: int = JOINING
    """-2: away, see `AWAY`."""
    previous_epoch: int = JOINING
    """Oldest epoch that the member may still have: it may not have got the answers since."""
    assigned: Partitions = NOTHING
    """Partitions that it owns, or that it may own as soon as it hears of them."""
    revoking: Partitions = NOTHING
    """Partitions that it owned and has not let go of yet."""
    target: Partitions = NOTHING
    """Its part of the newest assignment."""

    @property
    def held(self) -> Partitions:
        """Partitions that nobody else may get."""
        return self.assigned | self.revoking


def reconcile(
    member: Member,
    assignment_epoch: int,
    is_free: Callable[[PartitionId], bool],
    *,
    knows_epoch: bool,
) -> Member:
    """Take the member's next step to its target; the same member when there is none.

    `is_free` says whether no other member holds a partition, `knows_epoch` whether the member has
    shown by a request that it knows its epoch.
    """
    if member.revoking or member.epoch == AWAY or member.epoch > assignment_epoch:
        return member  # the last: it joined again, and waits for the assignment of its epoch
    if going := member.assigned - member.target:
        return replace(member, assigned=member.assigned & member.target, revoking=going)
    coming = frozenset(filter(is_free, member.target - member.assigned))
    given = replace(member, assigned=member.assigned | coming)
    if member.epoch == assignment_epoch:
        return given
    previous_epoch = member.epoch if knows_epoch else member.previous_epoch
    return replace(given, epoch=assignment_epoch, previous_epoch=previous_epoch)


def confirm(member: Member, owned: Partitions | None) -> Member:
    """Note what the member says that it owns; it has let go when none of it is to be let go of."""
    if owned is None or owned & member.revoking:
        return member
    return replace(member, revoking=NOTHING)


def to_value(member: Member) -> GroupMemberValue:
    """Make the member's record."""
    return GroupMemberValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        host=member.host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        subscribed_topics=sorted(member.topics),
        subscribed_pattern=member.pattern,
        assignor=member.assignor,
        epoch=member.epoch,
        previous_epoch=member.previous_epoch,
        assigned=by_topic(member.assigned),
        revoking=by_topic(member.revoking),
        target=by_topic(member.target),
    )


def from_value(member_id: str, value: GroupMemberValue) -> Member:
    """Read the member from its record."""
    return Member(
        member_id=member_id,
        instance_id=value.instance_id if value.HasField("instance_id") else None,
        rack_id=value.rack_id,
        client_id=value.client_id,
        host=value.host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topics=frozenset(value.subscribed_topics),
        pattern=value.subscribed_pattern,
        assignor=value.assignor,
        epoch=value.epoch,
        previous_epoch=value.previous_epoch,
        assigned=one_by_one(value.assigned),
        revoking=one_by_one(value.revoking),
        target=one_by_one(value.target),
    )


def by_topic(partitions: Partitions) -> list[TopicPartitions]:
    """Group partitions by topic, in order."""
    return [
        TopicPartitions(topic_id=topic_id, partitions=[number for _, number in numbers])
        for topic_id, numbers in groupby(sorted(partitions), key=lambda one: one[0])
    ]


def one_by_one(topics: Iterable[TopicPartitions]) -> Partitions:
    """Ungroup partitions."""
    return frozenset((one.topic_id, number) for one in topics for number in one.partitions)
