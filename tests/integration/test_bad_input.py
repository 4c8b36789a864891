"""Bad input to a running cluster: its own code, a message that names it, nothing appended."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
import pytest
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Producer
from tidelog.core.errors import CallFailedError
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2, data_pb2, methods
from tidelog.v1.admin_pb2 import CreateTopicsRequest, NewTopic

pytestmark = [pytest.mark.process]
TOPIC = "plain"
TIMEOUT_MS = 10_000
BATCH = encode_batch([Record(offset=0, timestamp=1, key=None, value=b"v" * 50, headers=())])


@pytest.fixture
async def transport() -> AsyncIterator[GrpcTransport]:
    transport = GrpcTransport()
    yield transport
    await transport.close()


@pytest.fixture
async def leader(running_cluster: LocalCluster) -> str:
    """The address of the broker that leads the one partition of TOPIC."""
    async with Admin(running_cluster.bootstrap) as admin:
        if TOPIC not in await admin.list_topics():
            await admin.create_topic(TOPIC, partitions=1, replication_factor=3)
            async with Producer(running_cluster.bootstrap) as producer:
                await producer.send(TOPIC, value=b"its leader has opened it")
        topic = await admin.describe_topic(TOPIC)
        cluster = await admin.describe_cluster()
    leader_id = topic.partitions[0].leader
    return next(broker.address for broker in cluster.brokers if broker.broker_id == leader_id)


def flipped(position: int) -> bytes:
    batch = bytearray(BATCH)
    batch[position] ^= 1
    return bytes(batch)


def produce_request(
    records: bytes, *, topic: str = TOPIC, acks: int = -1
) -> data_pb2.ProduceRequest:
    data = data_pb2.PartitionProduceData(topic=topic, partition=0, records=records)
    return data_pb2.ProduceRequest(acks=acks, partitions=[data])


async def log_end_offset(transport: GrpcTransport, leader: str) -> int:
    request = data_pb2.ListOffsetsRequest()
    request.partitions.add(topic=TOPIC, partition=0, spec=data_pb2.ListOffsetsRequest.LATEST)
    answer = await transport.call(leader, methods.LIST_OFFSETS, request, timeout_ms=TIMEOUT_MS)
    return answer.partitions[0].log_end_offset


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (b"", common_pb2.CORRUPT_MESSAGE),
        (b"\x00" * 30, common_pb2.CORRUPT_MESSAGE),
        (BATCH[:-1], common_pb2.CORRUPT_MESSAGE),
        (BATCH + b"x", common_pb2.CORRUPT_MESSAGE),
        (flipped(16), common_pb2.CORRUPT_MESSAGE),  # magic
        (flipped(18), common_pb2.CORRUPT_MESSAGE),  # CRC
        (flipped(70), common_pb2.CORRUPT_MESSAGE),  # a record's byte
        (flipped(11), common_pb2.CORRUPT_MESSAGE),  # the length's lowest byte
        (flipped(8), common_pb2.MESSAGE_TOO_LARGE),  # a length of 16 MiB more
        (
            encode_batch([Record(0, 1, None, b"v" * 1_100_000, ())]),
            common_pb2.MESSAGE_TOO_LARGE,
        ),
    ],
)
async def test_bad_batch_is_named_and_not_appended(
    transport: GrpcTransport, leader: str, records: bytes, code: int
) -> None:
    before = await log_end_offset(transport, leader)
    answer = await transport.call(
        leader, methods.PRODUCE, produce_request(records), timeout_ms=TIMEOUT_MS
    )
    result = answer.partitions[0]
    assert common_pb2.ErrorCode.Name(result.error.code) == common_pb2.ErrorCode.Name(code)
    assert result.error.message
    assert result.base_offset == -1
    assert await log_end_offset(transport, leader) == before
    good = await transport.call(
        leader, methods.PRODUCE, produce_request(BATCH), timeout_ms=TIMEOUT_MS
    )
    assert good.partitions[0].base_offset == before


async def test_unknown_acks_are_refused(transport: GrpcTransport, leader: str) -> None:
    before = await log_end_offset(transport, leader)
    answer = await transport.call(
        leader, methods.PRODUCE, produce_request(BATCH, acks=2), timeout_ms=TIMEOUT_MS
    )
    assert answer.partitions[0].error.code == common_pb2.INVALID_REQUIRED_ACKS
    assert await log_end_offset(transport, leader) == before


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "ü", "x" * 250])
async def test_bad_topic_name_is_refused_on_creation_and_on_produce(
    transport: GrpcTransport, leader: str, name: str
) -> None:
    created = await transport.call(
        leader,
        methods.CREATE_TOPICS,
        CreateTopicsRequest(topics=[NewTopic(name=name, partitions=1, replication_factor=1)]),
        timeout_ms=TIMEOUT_MS,
    )
    assert created.topics[0].error.code == common_pb2.INVALID_TOPIC
    produced = await transport.call(
        leader, methods.PRODUCE, produce_request(BATCH, topic=name), timeout_ms=TIMEOUT_MS
    )
    assert produced.partitions[0].error.code == common_pb2.INVALID_TOPIC


@pytest.mark.parametrize(
    ("topic", "code", "named"),
    [
        (
            NewTopic(name="t", partitions=1, replication_factor=4),
            common_pb2.INVALID_REPLICATION_FACTOR,
            "3",
        ),
        (NewTopic(name="t", partitions=-1), common_pb2.INVALID_PARTITIONS, "-1"),
        (NewTopic(name=TOPIC), common_pb2.TOPIC_ALREADY_EXISTS, TOPIC),
        (
            NewTopic(name="t", configs={"segment.bites": "1"}),
            common_pb2.INVALID_CONFIG,
            "segment.bites",
        ),
        (
            NewTopic(name="t", configs={"min.insync.replicas": "none"}),
            common_pb2.INVALID_CONFIG,
            "min.insync.replicas",
        ),
    ],
)
async def test_bad_new_topic_is_named(
    transport: GrpcTransport, leader: str, topic: NewTopic, code: int, named: str
) -> None:
    answer = await transport.call(
        leader, methods.CREATE_TOPICS, CreateTopicsRequest(topics=[topic]), timeout_ms=TIMEOUT_MS
    )
    assert answer.topics[0].error.code == code
    assert named in answer.topics[0].error.message


def fetch(fetch_offset: int, epoch: int | None = None) -> data_pb2.FetchRequest:
    partition = data_pb2.FetchPartition(
        topic=TOPIC, partition=0, fetch_offset=fetch_offset, current_leader_epoch=epoch
    )
    return data_pb2.FetchRequest(max_wait_ms=0, max_bytes=1000, partitions=[partition])


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (fetch(10**9), common_pb2.OFFSET_OUT_OF_RANGE),
        (fetch(-5), common_pb2.OFFSET_OUT_OF_RANGE),
        (fetch(0, epoch=-1), common_pb2.FENCED_LEADER_EPOCH),
        (fetch(0, epoch=10**6), common_pb2.UNKNOWN_LEADER_EPOCH),
    ],
)
async def test_bad_fetch_is_named(
    transport: GrpcTransport, leader: str, asked: data_pb2.FetchRequest, code: int
) -> None:
    answer = await transport.call(leader, methods.FETCH, asked, timeout_ms=TIMEOUT_MS)
    assert answer.partitions[0].error.code == code
    assert answer.partitions[0].error.message
    assert not answer.partitions[0].records


async def test_unknown_topic_is_named_in_metadata_fetch_and_delete(
    transport: GrpcTransport, leader: str
) -> None:
    request = data_pb2.MetadataRequest(topics=["nowhere"])
    metadata = await transport.call(leader, methods.METADATA, request, timeout_ms=TIMEOUT_MS)
    assert metadata.topics[0].error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION
    assert "nowhere" in metadata.topics[0].error.message


async def test_message_above_the_servers_limit_is_refused_and_the_server_lives_on(
    transport: GrpcTransport, leader: str
) -> None:
    with pytest.raises(CallFailedError, match="larger than max"):
        await transport.call(
            leader, methods.PRODUCE, produce_request(b"x" * (17 << 20)), timeout_ms=TIMEOUT_MS
        )
    assert await log_end_offset(transport, leader) >= 0


async def test_bytes_that_are_no_message_are_refused(leader: str) -> None:
    async with grpc.aio.insecure_channel(leader) as channel:
        path = methods.PRODUCE.path
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(path)
        with pytest.raises(grpc.aio.AioRpcError):
            await call(b"\xff" * 40, timeout=10)


async def test_missing_topic_is_created_on_produce(running_cluster: LocalCluster) -> None:
    async with Producer(running_cluster.bootstrap) as producer:
        metadata = await producer.send("made.on.first.use", value=b"v")
        assert await producer.partitions_for("made.on.first.use") == [0, 1, 2]
    assert metadata.offset == 0
