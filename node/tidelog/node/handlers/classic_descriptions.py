"""Descriptions of groups of the classic protocol as messages of `tidelog.v1.Coordinator`. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.classic_assignment import partitions_of
from tidelog.broker.coordinator.classic_description import DescribedMember, describe
from tidelog.broker.coordinator.classic_group import ClassicGroup
from tidelog.broker.coordinator.classic_subscription import topics_of
from tidelog.broker.coordinator.offsets import Topics
from tidelog.v1.coordinator_pb2 import DescribeGroupsResponse
from tidelog.v1.coordinator_records_pb2 import GroupValue, TopicPartitions


def describe_classic(
    described: DescribeGroupsResponse.Group, group: ClassicGroup, topics: Topics
) -> None:
    """Add what is known of a group; partitions only of consumers, and of topics that exist."""
    found = describe(group)
    described.epoch = found.generation
    described.assignor = found.protocol
    described.rebalances.extend(
        GroupValue.Rebalance(time_ms=one.time_ms, epoch=one.generation, cause=one.cause)
        for one in found.rebalances
    )
    if found.protocol:
        described.assignment_epoch = found.generation
    for member in sorted(found.members):
        assignment = _assignment(member, topics) if group.is_of_consumers else []
        described.members.add(
            member_id=member.member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            host=member.host,
            epoch=found.generation,
            subscribed_topics=sorted(topics_of(member.metadata) or ()),
            assignment=assignment,
            target=assignment,
        )


def _assignment(member: DescribedMember, topics: Topics) -> list[TopicPartitions]:
    by_topic = partitions_of(member.assignment) or {}
    ids = {name: topic_id for name in by_topic if (topic_id := topics.topic_id(name)) is not None}
    return [
        TopicPartitions(topic_id=topic_id, partitions=sorted(by_topic[name]))
        for name, topic_id in sorted(ids.items())
    ]
