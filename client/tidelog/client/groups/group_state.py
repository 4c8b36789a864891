"""Descriptions of groups for the admin client. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.client.records import TopicPartition
from tidelog.v1.coordinator_pb2 import DescribeGroupsResponse
from tidelog.v1.coordinator_records_pb2 import TopicPartitions


class GroupListing(NamedTuple):
    """A group in short."""

    group_id: str
    type: str
    """"consumer" or "classic"."""
    state: str
    """Empty, Assigning, Reconciling, Stable, …"""
    members: int
    coordinator: int
    """Broker id of the coordinator."""


class Rebalance(NamedTuple):
    """A rise of the group epoch."""

    time_ms: int
    epoch: int
    cause: str


@dataclass(frozen=True, slots=True)
class GroupMemberDescription:
    """A member of a group."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    rack_id: str
    epoch: int
    topics: tuple[str, ...]
    """Names that it subscribes to."""
    pattern: str
    """Pattern that it subscribes by; empty: none."""
    assignment: tuple[TopicPartition, ...]
    """Partitions that it owns or has still to let go of."""
    target: tuple[TopicPartition, ...]
    """Partitions that the newest assignment gives it."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group, its members and its last ten rebalances, the newest last."""

    group_id: str
    type: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    coordinator: int
    members: tuple[GroupMemberDescription, ...]
    rebalances: tuple[Rebalance, ...]
    assignment_failure: str = ""
    """Why the newest assignment could not be made by an assignor of the operator's own."""


class GroupOffset(NamedTuple):
    """A committed offset."""

    offset: int
    metadata: str
    leader_epoch: int | None
    committed_ms: int
    """Time of the commit by the coordinator's clock, milliseconds since the Unix epoch."""


def describe(group: DescribeGroupsResponse.Group, coordinator: int) -> GroupDescription:
    """Read a description from the coordinator's answer."""
    names = {one.topic_id: one.topic for one in group.topics}
    return GroupDescription(
        group_id=group.group_id,
        type=group.type,
        state=group.state,
        epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=group.assignor,
        coordinator=coordinator,
        members=tuple(_member(one, names) for one in group.members),
        rebalances=tuple(Rebalance(one.time_ms, one.epoch, one.cause) for one in group.rebalances),
        assignment_failure=group.assignment_failure,
    )


def _member(
    one: DescribeGroupsResponse.Member, names: Mapping[bytes, str]
) -> GroupMemberDescription:
    return GroupMemberDescription(
        member_id=one.member_id,
        instance_id=one.instance_id if one.HasField("instance_id") else None,
        client_id=one.client_id,
        host=one.host,
        rack_id=one.rack_id,
        epoch=one.epoch,
        topics=tuple(one.subscribed_topics),
        pattern=one.subscribed_pattern,
        assignment=_partitions(one.assignment, names),
        target=_partitions(one.target, names),
    )


def _partitions(
    topics: Iterable[TopicPartitions], names: Mapping[bytes, str]
) -> tuple[TopicPartition, ...]:
    """Name partitions; those of topics that were deleted are left out."""
    return tuple(
        sorted(
            TopicPartition(names[topic.topic_id], number)
            for topic in topics
            if topic.topic_id in names
            for number in topic.partitions
        )
    )
