"""Wide requests, of no client: many elements, each of which is answered and none changes anything.

Partitions have numbers that no topic has, groups and topics names that are nobody's.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidelog.kafka.message import Message
from tidelog.kafka.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.kafka.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.kafka.messages.describe_groups_request import DescribeGroupsRequest
from tidelog.kafka.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tidelog.kafka.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tidelog.kafka.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tidelog.kafka.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.kafka.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from tidelog.kafka.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.kafka.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tidelog.v1 import methods
from tidelog.v1.common_pb2 import TopicPartition
from tidelog.v1.data_pb2 import DeleteRecordsRequest as DeleteRecords
from tidelog.v1.data_pb2 import (
    DescribeProducersRequest,
)
from tidelog.v1.data_pb2 import FetchPartition as Position
from tidelog.v1.data_pb2 import FetchRequest as Fetch
from tidelog.v1.data_pb2 import ListOffsetsRequest as ListOffsets
from tidelog.v1.data_pb2 import (
    MetadataRequest as Metadata,
)
from tidelog.v1.data_pb2 import PartitionProduceData as Batches
from tidelog.v1.data_pb2 import ProduceRequest as Produce

NOBODYS = 1_000_000
"""First of the partitions that no topic has."""
NAME = "a-stranger"
TIMEOUT_MS = 1_000
_NO_BATCH = bytes(16) + b"\x02" + bytes(44)
"""Bytes of the length of a batch and of its format; its partition is not there."""

WIDE_MESSAGES: Mapping[str, tuple[int, Callable[[str, int], Message]]] = {
    "Fetch": (
        11,
        lambda topic, count: FetchRequest(
            max_bytes=1,
            topics=[FetchTopic(topic=topic, partitions=[*map(_position, _numbers(count))])],
        ),
    ),
    "Produce": (
        8,
        lambda topic, count: ProduceRequest(
            acks=1,
            timeout_ms=TIMEOUT_MS,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    partition_data=[
                        PartitionProduceData(index=one, records=_NO_BATCH)
                        for one in _numbers(count)
                    ],
                )
            ],
        ),
    ),
    "DeleteRecords": (
        1,
        lambda topic, count: DeleteRecordsRequest(
            timeout_ms=TIMEOUT_MS,
            topics=[
                DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartition(partition_index=one) for one in _numbers(count)
                    ],
                )
            ],
        ),
    ),
    "ListOffsets": (
        5,
        lambda topic, count: ListOffsetsRequest(
            replica_id=-1,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(partition_index=one, timestamp=-1)
                        for one in _numbers(count)
                    ],
                )
            ],
        ),
    ),
    "OffsetForLeaderEpoch": (
        3,
        lambda topic, count: OffsetForLeaderEpochRequest(
            topics=[
                OffsetForLeaderTopic(
                    topic=topic,
                    partitions=[OffsetForLeaderPartition(partition=one) for one in _numbers(count)],
                )
            ]
        ),
    ),
    "Metadata": (
        8,
        lambda _, count: MetadataRequest(
            topics=[MetadataRequestTopic(name=f"{NAME}-{one}") for one in range(count)],
            allow_auto_topic_creation=False,
        ),
    ),
    "CreateTopics": (
        4,
        lambda _, count: CreateTopicsRequest(
            timeout_ms=TIMEOUT_MS,
            validate_only=True,
            topics=[
                CreatableTopic(name=f"{NAME}-{one}", num_partitions=1, replication_factor=1)
                for one in range(count)
            ],
        ),
    ),
    "OffsetFetch": (
        5,
        lambda topic, count: OffsetFetchRequest(
            group_id=NAME,
            topics=[OffsetFetchRequestTopic(name=topic, partition_indexes=[*_numbers(count)])],
        ),
    ),
    "LeaveGroup": (
        3,
        lambda _, count: LeaveGroupRequest(
            group_id=NAME,
            members=[MemberIdentity(member_id=f"{NAME}-{one}") for one in range(count)],
        ),
    ),
    "DescribeGroups": (
        4,
        lambda _, count: DescribeGroupsRequest(groups=[f"{NAME}-{one}" for one in range(count)]),
    ),
}
"""A version without tagged fields, and the request about a topic that is there, by API."""

WIDE_CALLS: tuple[tuple[methods.Method[Any, Any], Callable[[str, int], Any]], ...] = (
    (
        methods.FETCH,
        lambda topic, count: Fetch(
            max_bytes=1,
            partitions=[Position(topic=topic, partition=one) for one in _numbers(count)],
        ),
    ),
    (
        methods.PRODUCE,
        lambda topic, count: Produce(
            partitions=[
                Batches(topic=topic, partition=one, records=_NO_BATCH) for one in _numbers(count)
            ]
        ),
    ),
    (
        methods.DELETE_RECORDS,
        lambda topic, count: DeleteRecords(
            partitions=[
                DeleteRecords.Partition(topic=topic, partition=one) for one in _numbers(count)
            ],
            timeout_ms=TIMEOUT_MS,
        ),
    ),
    (
        methods.LIST_OFFSETS,
        lambda topic, count: ListOffsets(
            partitions=[
                ListOffsets.Partition(topic=topic, partition=one) for one in _numbers(count)
            ]
        ),
    ),
    (
        methods.METADATA,
        lambda _, count: Metadata(topics=[f"{NAME}-{one}" for one in range(count)]),
    ),
    (
        methods.DESCRIBE_PRODUCERS,
        lambda topic, count: DescribeProducersRequest(
            partitions=[TopicPartition(topic=topic, partition=one) for one in _numbers(count)]
        ),
    ),
)
"""RPCs, and their requests about a topic that is there."""


def _numbers(count: int) -> range:
    return range(NOBODYS, NOBODYS + count)


def _position(number: int) -> FetchPartition:
    return FetchPartition(partition=number, partition_max_bytes=1)
