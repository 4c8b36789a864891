"""DescribeGroups and ConsumerGroupDescribe: each has the groups of its own protocol, as in Kafka.

A tool asks by the one, and where a group is not found there, by the other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from tidelog.broker.coordinator.classic_description import Description, describe
from tidelog.broker.coordinator.classic_live_group import LiveClassicGroup
from tidelog.broker.coordinator.consumer_live_group import LiveGroup
from tidelog.broker.coordinator.consumer_member import Member, Partitions, by_topic
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.group_states import EMPTY
from tidelog.core.errors import (
    GroupIdNotFoundError,
    InvalidRequestError,
    TidelogError,
)
from tidelog.core.turns import in_turns
from tidelog.kafka.messages import consumer_group_describe_response as of_consumers
from tidelog.kafka.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from tidelog.kafka.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse
from tidelog.kafka.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.kafka.messages.describe_groups_response import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from tidelog.metadata.image import MetadataImage
from tidelog.node.handlers.group_limits import DESCRIBED_BYTES_MAX
from tidelog.node.kafka_apis.groups_errors import group_code
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2

NOT_FOUND_FROM = 6
"""First version of DescribeGroups in which a group that is not there is an error."""
DEAD = "Dead"
GROUP_OPERATIONS = sum(1 << bit for bit in (3, 6, 8, 10, 11))
"""Kafka's read, delete, describe, and both of configs: all, without ACLs."""
MEMBER_BYTES = 100
"""Bytes of a member in an answer beside its texts and partitions, about."""
_CONSUMER_MEMBER = 1
_SIMPLE = Description(EMPTY, "", "", 0, "", (), ())
"""A group of committed offsets alone."""
_UNSAID = -(1 << 31)

T = TypeVar("T")


class _Looked(NamedTuple, Generic[T]):
    """A group's description, and its bytes in an answer, about."""

    described: T
    size: int


class DescribeGroupsHandler:
    """Handler of DescribeGroups, for groups of the classic protocol."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator

    async def __call__(
        self, request: DescribeGroupsRequest, call: ApiCall
    ) -> DescribeGroupsResponse:
        """See `ApiHandler`."""
        operations = GROUP_OPERATIONS if request.include_authorized_operations else _UNSAID
        response = DescribeGroupsResponse()
        looks = _looks(self._coordinator, request.groups, _classic)
        async for group_id, found in looks:
            if isinstance(found, TidelogError):
                described = _not_described(group_id, found, call.version)
            else:
                described = _described(group_id, found)
            described.authorized_operations = operations
            response.groups.append(described)
        return response


def _not_described(group_id: str, error: TidelogError, version: int) -> DescribedGroup:
    code = group_code(error)
    if code == common_pb2.GROUP_ID_NOT_FOUND and version < NOT_FOUND_FROM:
        code = common_pb2.NONE
    return DescribedGroup(
        error_code=code, error_message=str(error), group_id=group_id, group_state=DEAD
    )


def _described(group_id: str, found: Description) -> DescribedGroup:
    return DescribedGroup(
        group_id=group_id,
        group_state=found.state,
        protocol_type=found.protocol_type,
        protocol_data=found.protocol,
        members=[DescribedGroupMember(*one) for one in found.members],
    )


def _classic(shard: GroupShard, group_id: str) -> _Looked[Description]:
    live = shard.group(group_id)
    if not shard.exists(group_id):
        raise GroupIdNotFoundError(f"group {group_id!r} does not exist")
    if isinstance(live, LiveGroup):
        raise GroupIdNotFoundError(f"group {group_id!r} is one of the consumer protocol")
    found = _SIMPLE if live is None else describe(live.state)
    size = sum(MEMBER_BYTES + len(one.metadata) + len(one.assignment) for one in found.members)
    return _Looked(found, size)


class ConsumerGroupDescribeHandler:
    """Handler of ConsumerGroupDescribe, for groups of the consumer protocol."""

    def __init__(self, coordinator: GroupCoordinator, image: Callable[[], MetadataImage]) -> None:
        self._coordinator = coordinator
        self._image = image

    async def __call__(
        self, request: ConsumerGroupDescribeRequest, call: ApiCall
    ) -> ConsumerGroupDescribeResponse:
        """See `ApiHandler`."""
        del call
        operations = GROUP_OPERATIONS if request.include_authorized_operations else _UNSAID
        response = ConsumerGroupDescribeResponse()

        def look(shard: GroupShard, group_id: str) -> _Looked[of_consumers.DescribedGroup]:
            return _of_consumers(shard, group_id, self._image())

        async for group_id, found in _looks(self._coordinator, request.group_ids, look):
            if isinstance(found, TidelogError):
                described = of_consumers.DescribedGroup(
                    group_id=group_id, error_code=group_code(found), error_message=str(found)
                )
            else:
                described = found
            described.authorized_operations = operations
            response.groups.append(described)
        return response


def _of_consumers(
    shard: GroupShard, group_id: str, image: MetadataImage
) -> _Looked[of_consumers.DescribedGroup]:
    live = shard.group(group_id)
    if live is None or isinstance(live, LiveClassicGroup):
        raise GroupIdNotFoundError(f"group {group_id!r} is none of the consumer protocol")
    state, members = live.state.state, sorted(live.state.members.items())
    described = of_consumers.DescribedGroup(
        group_id=group_id,
        group_state=live.state_name,
        group_epoch=state.epoch,
        assignment_epoch=state.assignment_epoch,
        assignor_name=state.assignor,
        members=[_member(one, image) for _, one in members],
    )
    size = sum(
        MEMBER_BYTES + 4 * (len(one.held) + len(one.target)) + sum(map(len, one.topics))
        for _, one in members
    )
    return _Looked(described, size)


def _member(member: Member, image: MetadataImage) -> of_consumers.Member:
    return of_consumers.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id or None,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.pattern or None,
        assignment=_assignment(member.held, image),
        target_assignment=_assignment(member.target, image),
        member_type=_CONSUMER_MEMBER,
    )


def _assignment(partitions: Partitions, image: MetadataImage) -> of_consumers.Assignment:
    """Name partitions; topics that were deleted have no name, and are left out."""
    return of_consumers.Assignment(
        [
            of_consumers.TopicPartitions(one.topic_id, topic.name, list(one.partitions))
            for one in by_topic(partitions)
            if (topic := image.topic_by_id(one.topic_id)) is not None
        ]
    )


async def _looks(
    coordinator: GroupCoordinator,
    group_ids: Sequence[str],
    look: Callable[[GroupShard, str], _Looked[T]],
) -> AsyncIterator[tuple[str, T | TidelogError]]:
    """Iterate over groups and their descriptions, or why there are none."""
    size = 0
    async for group_id in in_turns(group_ids):
        try:
            if size >= DESCRIBED_BYTES_MAX:
                raise InvalidRequestError(f"{size} bytes without this group: describe fewer")
            found = await coordinator.look_at(group_id, look)
        except TidelogError as error:
            yield group_id, error
        else:
            size += found.size
            yield group_id, found.described
