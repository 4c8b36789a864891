"""OffsetCommit and OffsetDelete: committed offsets of groups.

A commit that is refused as a whole has its error with each partition: it has no other place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat

from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.offset_retention import AS_CONFIGURED
from tidelog.broker.coordinator.offsets import (
    CommittedOffset,
    OffsetResult,
    TopicPartition,
)
from tidelog.core.errors import TidelogError
from tidelog.core.turns import PER_PIECE, Turns, listed
from tidelog.kafka.messages.offset_commit_request import OffsetCommitRequest
from tidelog.kafka.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tidelog.kafka.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
)
from tidelog.kafka.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from tidelog.metadata.image import MetadataImage
from tidelog.node.kafka_apis.groups_errors import TOPIC_IDS_FROM, group_code, offset_code
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2


class OffsetCommitHandler:
    """Handler of OffsetCommit."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator

    async def __call__(self, request: OffsetCommitRequest, call: ApiCall) -> OffsetCommitResponse:
        """See `ApiHandler`."""
        try:
            offsets = await listed(_offsets(request, call.version))
            results = await self._coordinator.commit(request.group_id, _committer(request), offsets)
        except TidelogError as error:
            codes: Iterable[int] = repeat(offset_code(error, call.version))
        else:
            codes = (offset_code(one.error, call.version) for one in results)
        left, turns = iter(codes), Turns(PER_PIECE)
        return OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=[
                        OffsetCommitResponsePartition(one.partition_index, next(left))
                        async for one in turns.of(topic.partitions)
                    ],
                )
                async for topic in turns.of(request.topics)
            ]
        )


def _committer(request: OffsetCommitRequest) -> Committer:
    """Say who commits; without a generation it is nobody, whatever name it has, as in Kafka."""
    epoch = request.generation_id_or_member_epoch
    if epoch < 0:
        return Committer()
    return Committer(request.member_id, epoch, request.group_instance_id)


def _offsets(
    request: OffsetCommitRequest, version: int
) -> Iterator[tuple[TopicPartition, CommittedOffset]]:
    retention_ms = max(AS_CONFIGURED, request.retention_time_ms)
    for topic in request.topics:
        topic_id = topic.topic_id if version >= TOPIC_IDS_FROM else b""
        for one in topic.partitions:
            yield (
                TopicPartition(topic.name, topic_id, one.partition_index),
                CommittedOffset(
                    one.committed_offset,
                    one.committed_leader_epoch,
                    one.committed_metadata or "",
                    retention_ms=retention_ms,
                ),
            )


class OffsetDeleteHandler:
    """Handler of OffsetDelete."""

    def __init__(self, coordinator: GroupCoordinator, image: Callable[[], MetadataImage]) -> None:
        self._coordinator = coordinator
        self._image = image

    async def __call__(self, request: OffsetDeleteRequest, call: ApiCall) -> OffsetDeleteResponse:
        """See `ApiHandler`."""
        del call
        try:
            partitions = await listed(_named(request.topics))
            results = iter(await self._coordinator.delete_offsets(request.group_id, partitions))
        except TidelogError as error:
            return OffsetDeleteResponse(error_code=group_code(error))
        turns = Turns(PER_PIECE)
        return OffsetDeleteResponse(
            topics=[
                OffsetDeleteResponseTopic(
                    name=topic.name,
                    partitions=[
                        OffsetDeleteResponsePartition(
                            one.partition_index, self._code(topic.name, next(results))
                        )
                        async for one in turns.of(topic.partitions)
                    ],
                )
                async for topic in turns.of(request.topics)
            ]
        )

    def _code(self, topic: str, result: OffsetResult) -> int:
        """Number of a result; where the topic exists, no offset is as good as a deleted one."""
        code = group_code(result.error)
        is_nothing = code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        return common_pb2.NONE if is_nothing and topic in self._image().topics else code


def _named(topics: Iterable[OffsetDeleteRequestTopic]) -> Iterator[TopicPartition]:
    for topic in topics:
        for one in topic.partitions:
            yield TopicPartition(topic.name, b"", one.partition_index)
