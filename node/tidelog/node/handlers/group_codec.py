"""Requests and answers of `tidelog.v1.Coordinator`, to and from the coordinator's types. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from tidelog.broker.coordinator.classic_live_group import LiveClassicGroup
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_heartbeats import ID_CHARACTERS_MAX, Heartbeat, Reply
from tidelog.broker.coordinator.consumer_member import by_topic, one_by_one
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.group_states import CLASSIC, EMPTY
from tidelog.broker.coordinator.offsets import (
    NO_EPOCH,
    CommittedOffset,
    OffsetResult,
    TopicPartition,
)
from tidelog.core.coordinator_errors import UnreleasedInstanceIdError
from tidelog.core.errors import InvalidRequestError, TidelogError
from tidelog.core.wire_errors import to_wire
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.topics import TOPIC_ID_BYTES
from tidelog.node.handlers.classic_descriptions import describe_classic
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DescribeGroupsResponse,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    TransactionalOffsetCommitRequest,
    TransactionalOffsetCommitResponse,
)
from tidelog.v1.coordinator_records_pb2 import GroupValue

TOPICS_MAX = 10_000
"""Maximum topics of a subscription."""
TOPIC_CHARACTERS_MAX = 249
"""Longest name of a topic, as controllers create them."""
OWNED_MAX = 100_000
"""Maximum partitions that a heartbeat names as owned."""


def decode_heartbeat(request: ConsumerGroupHeartbeatRequest, host: str) -> Heartbeat:
    """Decode a heartbeat; `host` is the caller's address. Raises `KafkaError`."""
    topics = pattern = None
    if request.HasField("subscription"):
        topics = subscribed(request.subscription.topics)
        pattern = request.subscription.pattern
    if sum(len(topic.partitions) for topic in request.owned.topics) > OWNED_MAX:
        raise InvalidRequestError(f"a member owns at most {OWNED_MAX} partitions")
    has_timeout = request.HasField("rebalance_timeout_ms")
    return Heartbeat(
        member_id=request.member_id,
        epoch=request.member_epoch,
        instance_id=request.instance_id if request.HasField("instance_id") else None,
        rack_id=request.rack_id if request.HasField("rack_id") else None,
        rebalance_timeout_ms=request.rebalance_timeout_ms if has_timeout else None,
        topics=topics,
        pattern=pattern,
        assignor=request.assignor if request.HasField("assignor") else None,
        owned=one_by_one(request.owned.topics) if request.HasField("owned") else None,
        sequence=request.sequence,
        version=request.assignment_version,
        client_id=request.client_id,
        host=host,
    )


def subscribed(topics: Sequence[str]) -> frozenset[str]:
    """Collect the topics of a subscription. Raises `InvalidRequestError`."""
    if len(topics) > TOPICS_MAX:
        raise InvalidRequestError(f"a subscription to {len(topics)} topics: at most {TOPICS_MAX}")
    longest = max(map(len, topics), default=0)
    if longest > TOPIC_CHARACTERS_MAX:
        raise InvalidRequestError(
            f"a topic's name of {longest} characters: names have at most {TOPIC_CHARACTERS_MAX}"
        )
    return frozenset(topics)


def host_of(connection: str) -> str:
    """Return the host of a gRPC peer: 10.0.0.7 for ipv4:10.0.0.7:41234, [::1] for ipv6:[::1]:7."""
    host, colon, _ = connection.removeprefix("ipv4:").removeprefix("ipv6:").rpartition(":")
    return host if colon else connection


def encode_reply(reply: Reply, config: GroupConfig) -> ConsumerGroupHeartbeatResponse:
    """Encode the answer to a heartbeat, or a push."""
    response = ConsumerGroupHeartbeatResponse(
        member_id=reply.member_id,
        member_epoch=reply.epoch,
        heartbeat_interval_ms=config.group_consumer_heartbeat_interval_ms,
        session_timeout_ms=config.group_consumer_session_timeout_ms,
        disconnect_grace_ms=config.group_consumer_disconnect_grace_ms,
        assignment_version=reply.version,
    )
    if reply.assignment is not None:
        response.assignment.topics.extend(by_topic(reply.assignment))
        response.assignment.SetInParent()
    return response


# Offsets


def decode_committer(
    request: OffsetCommitRequest | TransactionalOffsetCommitRequest | OffsetFetchRequest,
) -> Committer:
    """Decode who commits. Raises `InvalidRequestError` for long names."""
    for name in (request.member_id, getattr(request, "instance_id", "")):
        if len(name) > ID_CHARACTERS_MAX:
            raise InvalidRequestError(
                f"a member's name of {len(name)} characters: send at most {ID_CHARACTERS_MAX}"
            )
    if isinstance(request, OffsetFetchRequest):
        return Committer(request.member_id, request.member_epoch)
    instance_id = request.instance_id if request.HasField("instance_id") else None
    sequence = request.sequence if isinstance(request, OffsetCommitRequest) else 0
    return Committer(request.member_id, request.member_epoch, instance_id, sequence)


def decode_offsets(
    request: OffsetCommitRequest | TransactionalOffsetCommitRequest,
) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
    """Decode offsets to commit. Raises `InvalidRequestError`."""
    return (
        (
            TopicPartition(topic.topic, topic.topic_id, one.partition),
            CommittedOffset(
                one.offset,
                one.leader_epoch if one.HasField("leader_epoch") else NO_EPOCH,
                one.metadata,
            ),
        )
        for topic in request.topics
        if _is_named(topic.topic, topic.topic_id)
        for one in topic.partitions
    )


def decode_partitions(topics: Iterable[OffsetFetchRequest.Topic]) -> Iterator[TopicPartition]:
    """Decode partitions. Raises `InvalidRequestError`."""
    return (
        TopicPartition(topic.topic, topic.topic_id, number)
        for topic in topics
        if _is_named(topic.topic, topic.topic_id)
        for number in topic.partitions
    )


def _is_named(topic: str, topic_id: bytes) -> bool:
    """Return True. Raises `InvalidRequestError` for a topic without name and id."""
    if len(topic_id) not in (0, TOPIC_ID_BYTES):
        raise InvalidRequestError(
            f"a topic id of {len(topic_id)} bytes: send {TOPIC_ID_BYTES}, or none"
        )
    if not topic and not topic_id:
        raise InvalidRequestError("a topic without name and id: send one of them")
    return True


def encode_outcomes(
    response: OffsetCommitResponse | TransactionalOffsetCommitResponse | OffsetDeleteResponse,
    results: Sequence[OffsetResult],
) -> None:
    """Add results of a commit or a deletion to an answer, in the order asked."""
    for (name, topic_id), of_topic in groupby(results, key=_topic_of):
        topic = _topic_in(response, name, topic_id)
        for one in of_topic:
            error = None if one.error is None else to_wire(one.error)
            topic.partitions.add(partition=one.partition.partition, error=error)


def encode_fetched(response: OffsetFetchResponse, results: Sequence[OffsetResult]) -> None:
    """Add committed offsets to an answer, in the order asked."""
    for (name, topic_id), of_topic in groupby(results, key=_topic_of):
        _topic_in(response, name, topic_id).partitions.extend(map(_fetched, of_topic))


def _topic_in(response: Any, name: str, topic_id: bytes) -> Any:  # of either kind
    """Return the last topic of an answer if it is this one, else another one."""
    last = response.topics[-1] if response.topics else None
    if last is not None and (last.topic, last.topic_id) == (name, topic_id):
        return last
    return response.topics.add(topic=name, topic_id=topic_id)


def _topic_of(result: OffsetResult) -> tuple[str, bytes]:
    return result.partition.topic, result.partition.topic_id


def _fetched(result: OffsetResult) -> OffsetFetchResponse.Partition:
    committed = result.committed
    return OffsetFetchResponse.Partition(
        partition=result.partition.partition,
        error=None if result.error is None else to_wire(result.error),
        offset=committed.offset,
        leader_epoch=None if committed.leader_epoch == NO_EPOCH else committed.leader_epoch,
        metadata=committed.metadata,
        committed_ms=max(0, committed.committed_ms),
    )


# Groups


def list_group(shard: GroupShard, group_id: str) -> ListGroupsResponse.Group | None:
    """Describe a group in short; None: there is none of this id."""
    if not shard.exists(group_id):
        return None
    live = shard.group(group_id)
    if live is None:
        return ListGroupsResponse.Group(group_id=group_id, type=CLASSIC, state=EMPTY)
    return ListGroupsResponse.Group(
        group_id=group_id, type=live.protocol, state=live.state_name, members=live.member_count
    )


def describe_group(shard: GroupShard, group_id: str) -> DescribeGroupsResponse.Group | None:
    """Describe a group; None: there is none of this id."""
    short = list_group(shard, group_id)
    if short is None:
        return None
    described = DescribeGroupsResponse.Group(group_id=group_id, type=short.type, state=short.state)
    live = shard.group(group_id)
    if isinstance(live, LiveClassicGroup):
        describe_classic(described, live.state, shard.topics)
    elif live is not None:
        _describe(described, live.state)
        described.assignment_failure = live.failure
    return described


def _describe(described: DescribeGroupsResponse.Group, group: ConsumerGroup) -> None:
    described.epoch = group.state.epoch
    described.assignment_epoch = group.state.assignment_epoch
    described.assignor = group.state.assignor
    described.rebalances.extend(
        GroupValue.Rebalance(time_ms=one.time_ms, epoch=one.epoch, cause=one.cause)
        for one in group.state.rebalances
    )
    for _, member in sorted(group.members.items()):
        described.members.add(
            member_id=member.member_id,
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            host=member.host,
            epoch=member.epoch,
            subscribed_topics=sorted(member.topics),
            subscribed_pattern=member.pattern,
            assignment=by_topic(member.held),
            target=by_topic(member.target),
        )


def name_topics(described: DescribeGroupsResponse.Group, image: MetadataImage) -> None:
    """Add the names of topics in the members' partitions; deleted ones have none."""
    ids = {
        topic.topic_id
        for member in described.members
        for topic in (*member.assignment, *member.target)
    }
    for topic_id in sorted(ids):
        found = image.topic_by_id(topic_id)
        if found is not None:
            described.topics.add(topic_id=topic_id, topic=found.name)


def error_response(error: TidelogError) -> ConsumerGroupHeartbeatResponse:
    """Answer a heartbeat that was refused, or push that the member is dismissed."""
    response = ConsumerGroupHeartbeatResponse(error=to_wire(error))
    if isinstance(error, UnreleasedInstanceIdError) and error.holder_silent_ms is not None:
        response.holder_silent_ms = error.holder_silent_ms
    return response
