"""The cluster, its quorum and its partitions over frames: described, elected, records deleted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.sim.kafka_admin import TOPIC, AdminWorld, play, write

from tidelog.kafka.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tidelog.kafka.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.kafka.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.kafka.messages.describe_quorum_request import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from tidelog.kafka.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tidelog.kafka.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tidelog.node.kafka_apis.admin_quorum import METADATA_TOPIC
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

UNKNOWN = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
NO_OPERATIONS = -(1 << 31)


async def fence(world: AdminWorld) -> int:
    """Crash a broker other than the asked one, and wait until it is fenced; return its id."""
    gone = next(one for one in (1, 2, 3) if one != world.leader_id)
    world.cluster.crash(gone)
    await asyncio.sleep(15)
    return gone


def test_the_cluster_is_described_with_fenced_brokers_where_they_are_asked_for() -> None:
    async def story(world: AdminWorld) -> None:
        gone = await fence(world)
        for version in range(3):
            for has_fenced in (False, True):
                answer = await world.ask(
                    DescribeClusterRequest(True, 1, has_fenced and version >= 2), version
                )
                assert (answer.error_code, answer.error_message) == (0, None)
                told = {one.broker_id: one.is_fenced for one in answer.brokers}
                live = dict.fromkeys({1, 2, 3} - {gone}, False)
                assert told == (live | {gone: True} if has_fenced and version >= 2 else live)
                assert answer.controller_id in live
                assert answer.cluster_id
                assert {one.port for one in answer.brokers} == {9092}
                assert answer.cluster_authorized_operations != NO_OPERATIONS
        plain = await world.ask(DescribeClusterRequest(), 0)
        assert plain.cluster_authorized_operations == NO_OPERATIONS
        for kind, code in ((2, 114), (3, 115)):
            refused = await world.ask(DescribeClusterRequest(False, kind), 1)
            assert (refused.error_code, refused.brokers) == (code, [])
            assert refused.error_message

    play(story)


def test_the_quorum_is_described_by_every_broker_in_every_version() -> None:
    async def story(world: AdminWorld) -> None:
        request = DescribeQuorumRequest(
            [
                TopicData(METADATA_TOPIC, [PartitionData(0), PartitionData(1)]),
                TopicData(TOPIC, [PartitionData(0)]),
            ]
        )
        for node_id in (1, 2, 3):
            for version in range(3):
                answer = await world.ask_node(node_id, request, version)
                assert answer.error_code == 0
                codes = {
                    (topic.topic_name, one.partition_index): one.error_code
                    for topic in answer.topics
                    for one in topic.partitions
                }
                assert codes == {
                    (METADATA_TOPIC, 0): 0,
                    (METADATA_TOPIC, 1): UNKNOWN,
                    (TOPIC, 0): UNKNOWN,
                }
                quorum = answer.topics[0].partitions[0]
                voters = {one.replica_id: one for one in quorum.current_voters}
                assert voters.keys() == {1, 2, 3}
                assert quorum.observers == []
                leader = voters[quorum.leader_id]
                assert leader.log_end_offset >= quorum.high_watermark > 1
                assert quorum.leader_epoch > 0
                if version >= 1:
                    now_ms = leader.last_fetch_timestamp
                    assert leader.last_caught_up_timestamp == now_ms
                    assert all(now_ms - one.last_fetch_timestamp < 5_000 for one in voters.values())
                assert [one.node_id for one in answer.nodes] == ([1, 2, 3] if version >= 2 else [])

    play(story)


def test_a_quorum_without_a_leader_is_told_to_be_asked_again() -> None:
    async def story(world: AdminWorld) -> None:
        for node_id in {1, 2, 3} - {world.leader_id}:
            world.cluster.crash(node_id)
        await asyncio.sleep(30)
        request = DescribeQuorumRequest([TopicData(METADATA_TOPIC, [PartitionData(0)])])
        answer = await world.ask(request, 2)
        assert answer.error_code == common_pb2.NOT_LEADER_OR_FOLLOWER
        assert answer.error_message

    play(story)


async def elected(
    world: AdminWorld,
    partitions: dict[str, list[int]] | None,
    *,
    version: int = 2,
    kind: int = 0,
) -> tuple[int, dict[tuple[str, int], int]]:
    asked = None
    if partitions is not None:
        asked = [TopicPartitions(name, numbers) for name, numbers in partitions.items()]
    answer = await world.ask(ElectLeadersRequest(kind, asked, 10_000), version)
    codes = {
        (topic.topic, one.partition_id): one.error_code
        for topic in answer.replica_election_results
        for one in topic.partition_result
    }
    return answer.error_code, codes


def test_leaders_are_elected_for_named_partitions_and_for_all() -> None:
    async def story(world: AdminWorld) -> None:
        needless = common_pb2.ELECTION_NOT_NEEDED
        for version in range(3):
            assert await elected(world, {TOPIC: [0, 1, 7]}, version=version) == (
                *(0, {(TOPIC, 0): needless, (TOPIC, 1): needless, (TOPIC, 7): UNKNOWN}),
            )
            assert await elected(world, {"unknown": [0]}, version=version) == (
                *(0, {("unknown", 0): UNKNOWN}),
            )
            assert await elected(world, {}, version=version) == (0, {})
            assert await elected(world, {TOPIC: []}, version=version) == (0, {})
            assert await elected(world, None, version=version) == (0, {})
        assert await elected(world, {TOPIC: [0]}, kind=1) == (0, {(TOPIC, 0): needless})
        invalid = common_pb2.INVALID_REQUEST
        assert await elected(world, {TOPIC: [0]}, kind=2) == (invalid, {(TOPIC, 0): invalid})

    play(story)


def test_a_preferred_leader_that_came_back_leads_again_when_asked_for() -> None:
    async def story(world: AdminWorld) -> None:
        partitions = {one.partition_index: one for one in await pages(world, TOPIC)}
        moved = next(one for one in partitions.values() if one.replica_nodes[0] != world.leader_id)
        number, preferred = moved.partition_index, moved.replica_nodes[0]
        world.cluster.crash(preferred)
        await asyncio.sleep(15)
        assert await elected(world, {TOPIC: [number]}) == (
            *(0, {(TOPIC, number): common_pb2.PREFERRED_LEADER_NOT_AVAILABLE}),
        )
        world.cluster.start(preferred)
        await asyncio.sleep(30)
        assert await leader_of(world, number) != preferred
        assert await elected(world, {}) == await elected(world, {TOPIC: []}) == (0, {})
        assert await leader_of(world, number) != preferred, "no partition was asked for"
        code, codes = await elected(world, None)
        assert code == 0
        assert codes[TOPIC, number] == 0
        assert await leader_of(world, number) == preferred

    play(story)


async def leader_of(world: AdminWorld, number: int) -> int:
    leader_id: int = (await pages(world, TOPIC))[number].leader_id
    return leader_id


async def pages(world: AdminWorld, name: str) -> list[Any]:
    """All partitions of a topic."""
    request = DescribeTopicPartitionsRequest([TopicRequest(name)])
    (topic,) = (await world.ask(request, 0)).topics
    partitions: list[Any] = topic.partitions
    return partitions


def test_partitions_are_described_page_by_page() -> None:
    async def story(world: AdminWorld) -> None:
        counts = {"a": 3, "b": 1, TOPIC: 2}
        new = [
            CreatableTopic(name=name, num_partitions=counts[name], replication_factor=1)
            for name in ("a", "b")
        ]
        await world.ask(CreateTopicsRequest(topics=new, timeout_ms=10_000), 7)
        every = [(name, number) for name in sorted(counts) for number in range(counts[name])]
        for limit in (-1, 1, 2, 3, 4, 6, 2_000, 2**31 - 1):
            told, cursor, sizes = [], None, []
            for _ in range(20):
                request = DescribeTopicPartitionsRequest([], limit, cursor)
                answer = await world.ask(request, 0)
                page = [
                    (topic.name, one.partition_index)
                    for topic in answer.topics
                    for one in topic.partitions
                ]
                told += page
                sizes.append(len(page))
                if answer.next_cursor is None:
                    break
                at = answer.next_cursor
                cursor = Cursor(at.topic_name, at.partition_index)
            assert told == every
            assert max(sizes) <= max(1, limit)

    play(story)


def test_unknown_topics_and_cursors_are_answered() -> None:
    async def story(world: AdminWorld) -> None:
        asked = [TopicRequest("z"), TopicRequest(TOPIC), TopicRequest("a"), TopicRequest(TOPIC)]
        answer = await world.ask(DescribeTopicPartitionsRequest(asked), 0)
        assert [(one.name, one.error_code) for one in answer.topics] == [
            *(("a", UNKNOWN), (TOPIC, 0), ("z", UNKNOWN)),
        ]
        known = answer.topics[1]
        assert known.topic_id == world.topic_id
        assert all(len(one.isr_nodes) == 3 for one in known.partitions)
        assert all(one.eligible_leader_replicas == [] for one in known.partitions)
        after = await world.ask(DescribeTopicPartitionsRequest(asked, 10, Cursor(TOPIC, 2)), 0)
        assert [(one.name, len(one.partitions)) for one in after.topics] == [(TOPIC, 0), ("z", 0)]
        gone = await world.ask(DescribeTopicPartitionsRequest(asked, 10, Cursor("z", 9)), 0)
        assert gone.topics == []
        negative = await world.ask(DescribeTopicPartitionsRequest(asked, 10, Cursor(TOPIC, -1)), 0)
        assert {one.error_code for one in negative.topics} == {common_pb2.INVALID_REQUEST}

    play(story)


def deletion(*offsets: tuple[str, int, int]) -> DeleteRecordsRequest:
    topics: dict[str, list[DeleteRecordsPartition]] = {}
    for name, number, offset in offsets:
        topics.setdefault(name, []).append(DeleteRecordsPartition(number, offset))
    return DeleteRecordsRequest([DeleteRecordsTopic(*one) for one in topics.items()], 10_000)


@pytest.mark.parametrize("version", range(3))
def test_records_are_deleted_at_the_leader_alone(version: int) -> None:
    async def story(world: AdminWorld) -> None:
        await write(world, 10)

        async def deleted(request: DeleteRecordsRequest, node_id: int) -> dict[Any, Any]:
            answer = await world.ask_node(node_id, request, version)
            return {
                (topic.name, one.partition_index): (one.error_code, one.low_watermark)
                for topic in answer.topics
                for one in topic.partitions
            }

        request = deletion((TOPIC, 0, 4), (TOPIC, 7, 0), ("unknown", 0, 0))
        assert await deleted(request, world.leader_id) == {
            (TOPIC, 0): (0, 4),
            (TOPIC, 7): (UNKNOWN, -1),
            ("unknown", 0): (UNKNOWN, -1),
        }
        for offset, expected in (
            (11, (common_pb2.OFFSET_OUT_OF_RANGE, -1)),
            (-2, (common_pb2.OFFSET_OUT_OF_RANGE, -1)),
            (3, (0, 4)),
            (-1, (0, 10)),
        ):
            found = await deleted(deletion((TOPIC, 0, offset)), world.leader_id)
            assert found == {(TOPIC, 0): expected}, offset
        other = world.leader_id % 3 + 1
        assert await deleted(deletion((TOPIC, 0, 5)), other) == {
            (TOPIC, 0): (common_pb2.NOT_LEADER_OR_FOLLOWER, -1)
        }

    play(story)
