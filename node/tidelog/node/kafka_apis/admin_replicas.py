"""DescribeLogDirs and DescribeProducers: of the asked broker's own replicas."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.core.turns import PER_PIECE, Turns, in_turns
from tidelog.kafka.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.kafka.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tidelog.kafka.messages.describe_producers_request import DescribeProducersRequest
from tidelog.kafka.messages.describe_producers_response import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.error_codes import Place, kafka_code
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2, data_pb2
from tidelog.v1.common_pb2 import TopicPartition

_NONE = -1


class DescribeLogDirsHandler:
    """Handler of DescribeLogDirs; null asks for all partitions, an empty list for none."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(
        self, request: DescribeLogDirsRequest, call: ApiCall
    ) -> DescribeLogDirsResponse:
        """See `ApiHandler`."""
        del call
        turns = Turns(PER_PIECE)
        asked = [
            TopicPartition(topic=topic.topic, partition=number)
            async for topic in turns.of(request.topics or ())
            async for number in turns.of(topic.partitions)
        ]
        found = await self._ports.replica_manager.descriptions.describe_log_dirs(
            data_pb2.DescribeLogDirsRequest(partitions=asked)
        )
        is_empty = request.topics is not None and not asked
        return DescribeLogDirsResponse(
            results=[
                DescribeLogDirsResult(
                    error_code=kafka_code(one.error.code, Place.PARTITION),
                    log_dir=one.path,
                    topics=[] if is_empty else await _topics(one.partitions),
                    total_bytes=one.total_bytes,
                    usable_bytes=one.usable_bytes,
                )
                for one in found.log_dirs
            ]
        )


class DescribeProducersHandler:
    """Handler of DescribeProducers. A partition that is named twice is answered once."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(
        self, request: DescribeProducersRequest, call: ApiCall
    ) -> DescribeProducersResponse:
        """See `ApiHandler`."""
        del call
        turns = Turns(PER_PIECE)
        found = await self._ports.replica_manager.descriptions.describe_producers(
            data_pb2.DescribeProducersRequest(
                partitions=[
                    TopicPartition(topic=topic.name, partition=number)
                    async for topic in turns.of(request.topics)
                    async for number in turns.of(topic.partition_indexes)
                ]
            )
        )
        topics: dict[str, TopicResponse] = {}
        async for one in in_turns(found.partitions):
            topics.setdefault(one.topic, TopicResponse(one.topic, [])).partitions.append(
                _partition(one)
            )
        return DescribeProducersResponse(topics=list(topics.values()))


async def _topics(
    partitions: Iterable[data_pb2.DescribeLogDirsResponse.Partition],
) -> list[DescribeLogDirsTopic]:
    """Describe partitions by topic; of as many as the broker holds."""
    topics: dict[str, DescribeLogDirsTopic] = {}
    async for one in in_turns(partitions, PER_PIECE):
        topics.setdefault(one.topic, DescribeLogDirsTopic(one.topic, [])).partitions.append(
            DescribeLogDirsPartition(one.partition, one.size_bytes, one.offset_lag)
        )
    return list(topics.values())


def _partition(found: data_pb2.DescribeProducersResponse.Partition) -> PartitionResponse:
    error = found.error
    return PartitionResponse(
        partition_index=found.partition,
        error_code=kafka_code(error.code, Place.PARTITION),
        error_message=error.message if error.code != common_pb2.NONE else None,
        active_producers=[
            ProducerState(
                producer_id=one.producer_id,
                producer_epoch=one.producer_epoch,
                last_sequence=one.last_sequence,
                last_timestamp=one.last_timestamp_ms,
                coordinator_epoch=one.coordinator_epoch,
                current_txn_start_offset=one.transaction_start_offset
                if one.HasField("transaction_start_offset")
                else _NONE,
            )
            for one in found.producers
        ],
    )
