"""Log dirs and producers of a broker's replicas, over frames and over gRPC alike."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sim.kafka_admin import TOPIC, AdminWorld, play, write

from tidelog.client import Admin, LogDirDescription
from tidelog.client.errors import TidelogError, UnknownTopicOrPartitionError
from tidelog.kafka.messages.describe_log_dirs_request import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from tidelog.kafka.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

CAPACITY_BYTES = 1 << 30
PRODUCER_ID = 7_000


def admin_of(world: AdminWorld) -> Admin:
    client = world.cluster.new_client("admin")
    return Admin(
        "node-1:9192", transport=client.transport, clock=client.clock, random=client.random
    )


async def log_dirs(
    world: AdminWorld, topics: list[DescribableLogDirTopic] | None, version: int = 5
) -> Any:
    answer = await world.ask(DescribeLogDirsRequest(topics), version)
    assert answer.error_code == 0
    (result,) = answer.results
    sizes = {
        (topic.name, one.partition_index): one.partition_size
        for topic in result.topics
        for one in topic.partitions
    }
    return result, sizes


def test_log_dirs_have_sizes_of_replicas_and_of_the_disk() -> None:
    async def story(world: AdminWorld) -> None:
        await write(world, 10)
        world.cluster.disk(world.leader_id).capacity_bytes = CAPACITY_BYTES
        for version in range(1, 6):
            result, sizes = await log_dirs(world, None, version)
            assert (result.error_code, result.log_dir.startswith("/")) == (0, True)
            assert sizes.keys() == {(TOPIC, 0), (TOPIC, 1)}
            assert (sizes[TOPIC, 0] > 60, sizes[TOPIC, 1]) == (True, 0)
            room = (result.total_bytes, 0 < result.usable_bytes < CAPACITY_BYTES)
            assert room == ((CAPACITY_BYTES, True) if version >= 4 else (-1, False))
        named = [DescribableLogDirTopic(TOPIC, [1, 9]), DescribableLogDirTopic("unknown", [0])]
        assert (await log_dirs(world, named))[1].keys() == {(TOPIC, 1)}
        assert (await log_dirs(world, []))[1] == {}
        assert (await log_dirs(world, [DescribableLogDirTopic(TOPIC, [])]))[1] == {}

        async with admin_of(world) as admin:
            described = await admin.describe_log_dirs()
            assert described.keys() == {1, 2, 3}
            (folder,) = as_folders(described[world.leader_id])
            assert {tuple(tp): one.size_bytes for tp, one in folder.replicas.items()} == sizes
            assert all(one.offset_lag == 0 for one in folder.replicas.values())
            assert folder.total_bytes == CAPACITY_BYTES
            (gone,) = (await admin.describe_log_dirs([9])).values()
            assert isinstance(gone, TidelogError)

    play(story)


def as_folders(found: list[LogDirDescription] | TidelogError) -> list[LogDirDescription]:
    assert not isinstance(found, TidelogError)
    return found


def test_producers_are_described_by_any_replica_and_each_partition_once() -> None:
    async def story(world: AdminWorld) -> None:
        await write(world, 3, producer_id=PRODUCER_ID, producer_epoch=2)
        await write(world, 1)
        request = DescribeProducersRequest(
            [TopicRequest(TOPIC, [0, 0, 1, 9]), TopicRequest("unknown", [0])]
        )
        unknown = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        for node_id in (1, 2, 3):
            answer = await world.ask_node(node_id, request, 0)
            told = {
                (topic.name, one.partition_index): (
                    one.error_code,
                    bool(one.error_message),
                    [
                        (p.producer_id, p.producer_epoch, p.last_sequence, p.last_timestamp)
                        for p in one.active_producers
                    ],
                )
                for topic in answer.topics
                for one in topic.partitions
            }
            assert told == {
                (TOPIC, 0): (0, False, [(PRODUCER_ID, 2, 2, 1)]),
                (TOPIC, 1): (0, False, []),
                (TOPIC, 9): (unknown, True, []),
                ("unknown", 0): (unknown, True, []),
            }
            assert sum(len(topic.partitions) for topic in answer.topics) == 4
            (producer,) = answer.topics[0].partitions[0].active_producers
            assert (producer.coordinator_epoch, producer.current_txn_start_offset) == (-1, -1)

        async with admin_of(world) as admin:
            found = await admin.describe_producers([(TOPIC, 0), (TOPIC, 1)])
            (one,) = as_producers(found[(TOPIC, 0)])  # type: ignore[index]  # equal to its tuple
            assert (one.producer_id, one.producer_epoch, one.last_sequence) == (PRODUCER_ID, 2, 2)
            missing = await admin.describe_producers([("unknown", 0)])
            assert isinstance(next(iter(missing.values())), UnknownTopicOrPartitionError)

    play(story)


def as_producers(found: Any) -> list[Any]:
    assert not isinstance(found, TidelogError)
    return list(found)
