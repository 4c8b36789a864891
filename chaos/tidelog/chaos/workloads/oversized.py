"""Requests that ask for too much, and what each must be answered. Pure, but for the bytes it takes.

None can change anything: what is refused for its size is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.records.records import Record, encode_batch
from tidelog.v1 import methods
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    NewTopic,
)
from tidelog.v1.data_pb2 import PartitionProduceData, ProduceRequest

MILLION = 1_000_000
MESSAGE_BYTES = 17 << 20
"""More than a server takes at all."""
BATCH_BYTES = 3 << 20
"""More than a topic takes, less than that."""
REFUSED = "RESOURCE_EXHAUSTED"
"""The status of a call whose request was not looked at."""


@dataclass(frozen=True, slots=True)
class Oversized:
    """`answer` is a gRPC status, or the name of an error code in the answer."""

    what: str
    path: str
    make: Callable[[], bytes]
    answer: str
    elsewhere: str = ""
    """The code of brokers that do not lead the topic, where that is another one."""


def oversized(topic: str) -> tuple[Oversized, ...]:
    """Every oversized request; `topic` exists."""
    return (
        *_too_large(topic),
        *_too_many(),
        *_absurd(topic),
    )


def _too_large(topic: str) -> tuple[Oversized, ...]:
    return (
        Oversized(
            "a message above the server's limit",
            methods.PRODUCE.path,
            lambda: _produce(topic, bytes(MESSAGE_BYTES)),
            REFUSED,
        ),
        Oversized(
            "a batch above the topic's limit",
            methods.PRODUCE.path,
            lambda: _produce(topic, _batch(BATCH_BYTES)),
            "MESSAGE_TOO_LARGE",
            elsewhere="NOT_LEADER_OR_FOLLOWER",
        ),
        Oversized(
            "a name of three megabytes",
            methods.CREATE_TOPICS.path,
            lambda: CreateTopicsRequest(
                topics=[NewTopic(name="x" * BATCH_BYTES)]
            ).SerializeToString(),
            "INVALID_TOPIC",
        ),
    )


def _too_many() -> tuple[Oversized, ...]:
    """A million of everything that can be listed: of fields with number 1, then of deeper ones."""
    empty = b"\x0a\x00" * MILLION
    lists = (
        *(methods.METADATA, methods.DESCRIBE_TOPICS, methods.CREATE_TOPICS, methods.DELETE_TOPICS),
        *(methods.LIST_OFFSETS, methods.DELETE_RECORDS, methods.ALTER_CONFIGS),
        *(methods.CREATE_PARTITIONS, methods.DESCRIBE_CONFIGS),
    )
    found = [
        Oversized(f"a million asked of {one.name}", one.path, lambda: empty, REFUSED)
        for one in lists
    ]
    third, sixth, second = b"\x1a\x00" * MILLION, b"\x32\x00" * MILLION, b"\x12\x00" * MILLION
    for method, data in (
        (methods.PRODUCE, third),
        (methods.FETCH, sixth),
        (methods.OFFSET_FOR_LEADER_EPOCH, second),
        (methods.ELECT_LEADERS, second),
    ):
        found.append(
            Oversized(f"a million asked of {method.name}", method.path, _is(data), REFUSED)
        )
    return tuple(found)


def _absurd(topic: str) -> tuple[Oversized, ...]:
    return (
        Oversized(
            "2³¹-1 partitions",
            methods.CREATE_TOPICS.path,
            lambda: CreateTopicsRequest(
                topics=[NewTopic(name="absurd", partitions=2**31 - 1)]
            ).SerializeToString(),
            "INVALID_PARTITIONS",
        ),
        Oversized(
            "2³¹-1 replicas",
            methods.CREATE_TOPICS.path,
            lambda: CreateTopicsRequest(
                topics=[NewTopic(name="absurd", partitions=1, replication_factor=2**31 - 1)]
            ).SerializeToString(),
            "INVALID_REPLICATION_FACTOR",
        ),
        Oversized(
            "2³¹-1 partitions more",
            methods.CREATE_PARTITIONS.path,
            lambda: CreatePartitionsRequest(
                topics=[CreatePartitionsRequest.Topic(name=topic, count=2**31 - 1)]
            ).SerializeToString(),
            "INVALID_PARTITIONS",
        ),
        Oversized(
            "2,000 topics in one request",
            methods.CREATE_TOPICS.path,
            lambda: CreateTopicsRequest(
                topics=[NewTopic(name=f"absurd-{n}") for n in range(2_000)]
            ).SerializeToString(),
            "INVALID_REQUEST",
        ),
        Oversized(
            "2,000 resources in one request",
            methods.ALTER_CONFIGS.path,
            lambda: AlterConfigsRequest(
                resources=[AlterConfigsRequest.Resource(name=f"t-{n}") for n in range(2_000)]
            ).SerializeToString(),
            "INVALID_REQUEST",
        ),
    )


def _is(data: bytes) -> Callable[[], bytes]:
    return lambda: data


def _batch(size_bytes: int) -> bytes:
    return encode_batch([Record(0, 1, None, bytes(size_bytes), ())])


def _produce(topic: str, records: bytes) -> bytes:
    data = PartitionProduceData(topic=topic, partition=0, records=records)
    return ProduceRequest(acks=-1, partitions=[data]).SerializeToString()
