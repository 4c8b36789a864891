"""DescribeTopicPartitions: topics by name, page by page, with their eligible leaders (KIP-966).

The cursor of an answer names the first partition of the next page. A topic that is gone by then is
passed over; one that came in between is listed where its name stands behind the cursor.
"""

from __future__ import annotations

from collections.abc import Set

from tidelog.core.internal_topics import INTERNAL_TOPICS
from tidelog.core.turns import in_turns
from tidelog.kafka.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
)
from tidelog.kafka.messages.describe_topic_partitions_response import (
    Cursor as NextCursor,
)
from tidelog.kafka.messages.describe_topic_partitions_response import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from tidelog.metadata.image import PartitionImage, TopicImage
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.metadata import LISTENER_ERROR_FROM, TOPIC_OPERATIONS, partition_answer
from tidelog.node.kafka_apis.reached import live_brokers
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2

PARTITIONS_MAX = 2_000
"""Partitions in one answer, Kafka's max.request.partition.size.limit."""


class DescribeTopicPartitionsHandler:
    """Handler of DescribeTopicPartitions; no name asks for all topics."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(
        self, request: DescribeTopicPartitionsRequest, call: ApiCall
    ) -> DescribeTopicPartitionsResponse:
        """See `ApiHandler`."""
        image = self._ports.known_image()
        alive = set(image.live_brokers())
        reached = {one.node_id for one in live_brokers(image, call.call.listener)}
        cursor = request.cursor or Cursor()
        names = {one.name for one in request.topics} or image.topics.keys()
        response = DescribeTopicPartitionsResponse()
        if cursor.partition_index < 0:
            response.topics = [_failed(name, common_pb2.INVALID_REQUEST) for name in sorted(names)]
            return response
        left = max(1, min(request.response_partition_limit, PARTITIONS_MAX))
        async for name in in_turns(sorted(name for name in names if name >= cursor.topic_name)):
            first = cursor.partition_index if name == cursor.topic_name else 0
            if left == 0:
                response.next_cursor = NextCursor(name, 0)
                break
            topic = image.topics.get(name)
            if topic is None:
                if name != cursor.topic_name or not first:
                    response.topics.append(_failed(name, common_pb2.UNKNOWN_TOPIC_OR_PARTITION))
                continue
            page = topic.partitions[first : first + left]
            response.topics.append(_topic(topic, page, alive, reached))
            left -= len(page)
            if first + len(page) < len(topic.partitions):
                response.next_cursor = NextCursor(name, first + len(page))
                break
        return response


def _failed(name: str, code: int) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=code, name=name)


def _topic(
    topic: TopicImage, page: tuple[PartitionImage, ...], alive: Set[int], reached: Set[int]
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(one, alive, reached) for one in page],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(
    partition: PartitionImage, alive: Set[int], reached: Set[int]
) -> DescribeTopicPartitionsResponsePartition:
    plain = partition_answer(partition, alive, reached, LISTENER_ERROR_FROM)
    last_leader = partition.last_known_leader_id
    return DescribeTopicPartitionsResponsePartition(
        error_code=plain.error_code,
        partition_index=plain.partition_index,
        leader_id=plain.leader_id,
        leader_epoch=plain.leader_epoch,
        replica_nodes=plain.replica_nodes,
        isr_nodes=plain.isr_nodes,
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=[] if last_leader is None else [last_leader],
        offline_replicas=plain.offline_replicas,
    )
