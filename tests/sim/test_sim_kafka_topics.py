"""CreateTopics, DeleteTopics and CreatePartitions over frames: all versions, wrong requests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.proto.kafka_requests import write_request
from tests.sim.kafka_admin import TOPIC, AdminWorld, play
from tests.sim.kafka_wire import WireClient, led_topic, metadata

from tidelog.kafka.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tidelog.kafka.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.kafka.messages.create_topics_response import CreatableTopicResult
from tidelog.kafka.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tidelog.kafka.wire import NO_UUID
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

OTHER_ID = b"another topic's!"
HUGE = 2**31 - 1
DYNAMIC_TOPIC_CONFIG, DEFAULT_CONFIG = 1, 5


def new(
    name: str,
    partitions: int = -1,
    factor: int = -1,
    *,
    configs: dict[str, str | None] | None = None,
    assigned: Sequence[Sequence[int]] = (),
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(n, list(one)) for n, one in enumerate(assigned)],
        configs=[CreatableTopicConfig(*one) for one in (configs or {}).items()],
    )


async def created(
    world: AdminWorld, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
) -> list[CreatableTopicResult]:
    request = CreateTopicsRequest(
        topics=list(topics), timeout_ms=10_000, validate_only=validate_only
    )
    results: list[CreatableTopicResult] = (await world.ask(request, version)).topics
    return results


async def partitions_of(world: AdminWorld, name: str) -> int | None:
    (topic,) = (await metadata(world.client, name)).topics
    return None if topic.error_code else len(topic.partitions)


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_created_and_described_as_the_version_can(version: int) -> None:
    async def story(world: AdminWorld) -> None:
        (result,) = await created(
            world, new("a", 3, 2, configs={"retention.ms": "1000"}), version=version
        )
        assert (result.name, result.error_code, result.error_message) == ("a", 0, None)
        _, topic, _ = await led_topic(world.cluster, "a")
        assert [len(one.replica_nodes) for one in topic.partitions] == [2, 2, 2]
        if version >= 5:
            assert (result.num_partitions, result.replication_factor) == (3, 2)
            of = {one.name: (one.value, one.config_source) for one in result.configs or ()}
            assert of["retention.ms"] == ("1000", DYNAMIC_TOPIC_CONFIG)
            assert of["segment.bytes"] == (str(1 << 30), DEFAULT_CONFIG)
        assert result.topic_id == (topic.topic_id if version >= 7 else NO_UUID)

    play(story)


def test_defaults_and_named_replicas() -> None:
    async def story(world: AdminWorld) -> None:
        results = await created(world, new("d"), new("named", assigned=[[3, 1], [2, 3], [1, 2]]))
        assert [(one.num_partitions, one.replication_factor) for one in results] == [(2, 3), (3, 2)]
        _, topic, _ = await led_topic(world.cluster, "named")
        replicas = {one.partition_index: one.replica_nodes for one in topic.partitions}
        assert replicas == {0: [3, 1], 1: [2, 3], 2: [1, 2]}

    play(story)


def test_validation_alone_answers_as_the_creation_and_creates_nothing() -> None:
    async def story(world: AdminWorld) -> None:
        (result,) = await created(world, new("v", 4, 1), validate_only=True)
        assert (result.error_code, result.num_partitions) == (0, 4)
        assert result.topic_id == NO_UUID
        assert result.configs
        assert "v" not in await world.topics()

    play(story)


def test_each_wrong_topic_has_its_own_error_and_the_others_are_created() -> None:
    async def story(world: AdminWorld) -> None:
        wrong = {
            TOPIC: (new(TOPIC), common_pb2.TOPIC_ALREADY_EXISTS),
            "a/b": (new("a/b"), common_pb2.INVALID_TOPIC),
            "": (new(""), common_pb2.INVALID_TOPIC),
            "zero": (new("zero", 0, 1), common_pb2.INVALID_PARTITIONS),
            "negative": (new("negative", -2, 1), common_pb2.INVALID_PARTITIONS),
            "huge": (new("huge", HUGE, 1), common_pb2.INVALID_PARTITIONS),
            "none": (new("none", 1, 0), common_pb2.INVALID_REPLICATION_FACTOR),
            "minus": (new("minus", 1, -2), common_pb2.INVALID_REPLICATION_FACTOR),
            "many": (new("many", 1, 32_767), common_pb2.INVALID_REPLICATION_FACTOR),
            "key": (new("key", configs={"no.such": "1"}), common_pb2.INVALID_CONFIG),
            "value": (new("value", configs={"retention.ms": "x"}), common_pb2.INVALID_CONFIG),
            "null": (new("null", configs={"retention.ms": None}), common_pb2.INVALID_CONFIG),
            "both": (new("both", 1, 1, assigned=[[1]]), common_pb2.INVALID_REQUEST),
            "stranger": (new("stranger", assigned=[[9]]), common_pb2.INVALID_REPLICA_ASSIGNMENT),
            "twice": (new("twice", assigned=[[1, 1]]), common_pb2.INVALID_REPLICA_ASSIGNMENT),
        }
        gap = new("gap", assigned=[[1]])
        gap.assignments[0].partition_index = 1
        wrong["gap"] = gap, common_pb2.INVALID_REPLICA_ASSIGNMENT
        results = await created(world, *(one for one, _ in wrong.values()), new("good"))
        assert {one.name: one.error_code for one in results} == {
            **{name: code for name, (_, code) in wrong.items()},
            "good": 0,
        }
        assert all(one.error_message for one in results if one.error_code)
        assert await world.topics() == {TOPIC, "good"}

    play(story)


def test_a_topic_named_twice_is_refused_once_and_not_created() -> None:
    async def story(world: AdminWorld) -> None:
        results = await created(world, new("x"), new("y"), new("x", 1))
        codes = {one.name: one.error_code for one in results}
        assert codes == {"x": common_pb2.INVALID_REQUEST, "y": 0}
        assert "x" not in await world.topics()
        assert await created(world) == []

    play(story)


def test_a_command_that_no_controller_takes_is_answered_within_its_time() -> None:
    async def story(world: AdminWorld) -> None:
        for node_id in {1, 2, 3} - {world.leader_id}:
            world.cluster.crash(node_id)
        for timeout_ms in (2_000, 0, -1):
            began_s = asyncio.get_running_loop().time()
            request = CreateTopicsRequest(topics=[new("late")], timeout_ms=timeout_ms)
            (result,) = (await world.ask(request, 7)).topics
            assert result.error_code in {common_pb2.NOT_CONTROLLER, common_pb2.REQUEST_TIMED_OUT}
            assert asyncio.get_running_loop().time() - began_s < 6

    play(story)


@pytest.mark.parametrize("version", range(1, 7))
def test_topics_are_deleted_by_name_in_every_version(version: int) -> None:
    async def story(world: AdminWorld) -> None:
        names = [TOPIC, "unknown", "unknown2"]
        request = DeleteTopicsRequest(topic_names=names, timeout_ms=10_000)
        if version >= 6:
            states = [DeleteTopicState(name=name) for name in names]
            request = DeleteTopicsRequest(topics=states, timeout_ms=10_000)
        results = (await world.ask(request, version)).responses
        unknown = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        assert [(one.name, one.error_code) for one in results] == [
            *((TOPIC, 0), ("unknown", unknown), ("unknown2", unknown)),
        ]
        assert bool(results[1].error_message) == (version >= 5)
        assert results[0].topic_id == (world.topic_id if version >= 6 else NO_UUID)
        assert TOPIC not in await world.topics()

    play(story)


def test_a_topic_is_deleted_by_its_id_and_in_no_other_incarnation() -> None:
    async def story(world: AdminWorld) -> None:
        await created(world, new("kept"))
        states = [
            DeleteTopicState(name=None, topic_id=world.topic_id),
            DeleteTopicState(name=None, topic_id=OTHER_ID),
            DeleteTopicState(name="kept", topic_id=OTHER_ID),
            DeleteTopicState(name=None),
        ]
        request = DeleteTopicsRequest(topics=states, timeout_ms=10_000)
        results = (await world.ask(request, 6)).responses
        assert [(one.name, one.topic_id, one.error_code) for one in results] == [
            (TOPIC, world.topic_id, 0),
            (None, OTHER_ID, common_pb2.UNKNOWN_TOPIC_ID),
            ("kept", OTHER_ID, common_pb2.INVALID_REQUEST),
            (None, NO_UUID, common_pb2.INVALID_REQUEST),
        ]
        assert await world.topics() == {"kept"}

    play(story)


def test_a_topic_named_twice_is_not_deleted() -> None:
    async def story(world: AdminWorld) -> None:
        for states in (
            [DeleteTopicState(name=TOPIC), DeleteTopicState(name=TOPIC)],
            [DeleteTopicState(name=TOPIC), DeleteTopicState(name=None, topic_id=world.topic_id)],
        ):
            request = DeleteTopicsRequest(topics=states, timeout_ms=10_000)
            results = (await world.ask(request, 6)).responses
            assert {one.error_code for one in results} == {common_pb2.INVALID_REQUEST}
        assert await world.topics() == {TOPIC}

    play(story)


def more(
    name: str, count: int, assigned: Sequence[Sequence[int]] | None = None
) -> CreatePartitionsTopic:
    assignments = None
    if assigned is not None:
        assignments = [CreatePartitionsAssignment(list(one)) for one in assigned]
    return CreatePartitionsTopic(name=name, count=count, assignments=assignments)


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_in_every_version(version: int) -> None:
    async def story(world: AdminWorld) -> None:
        for validate_only, count in ((True, 2), (False, 4)):
            request = CreatePartitionsRequest(
                topics=[more(TOPIC, 4, [[1, 2, 3], [3, 2, 1]])],
                timeout_ms=10_000,
                validate_only=validate_only,
            )
            (result,) = (await world.ask(request, version)).results
            assert (result.name, result.error_code, result.error_message) == (TOPIC, 0, None)
            assert await partitions_of(world, TOPIC) == count
        _, topic, _ = await led_topic(world.cluster, TOPIC)
        added = {one.partition_index: one.replica_nodes for one in topic.partitions[2:]}
        assert added == {2: [1, 2, 3], 3: [3, 2, 1]}

    play(story)


def test_wrong_additions_are_refused_one_by_one() -> None:
    async def story(world: AdminWorld) -> None:
        names = ["a", "b", "c", "d", "e", "f", "twice", "good"]
        await created(world, *(new(name, 2, 1) for name in names))
        wrong = {
            "unknown": (more("unknown", 3), common_pb2.UNKNOWN_TOPIC_OR_PARTITION),
            "a": (more("a", 2), common_pb2.INVALID_PARTITIONS),
            "b": (more("b", -1), common_pb2.INVALID_PARTITIONS),
            "c": (more("c", HUGE), common_pb2.INVALID_PARTITIONS),
            "d": (more("d", 4, [[1]]), common_pb2.INVALID_REPLICA_ASSIGNMENT),
            "e": (more("e", 3, [[9]]), common_pb2.INVALID_REPLICA_ASSIGNMENT),
            "f": (
                CreatePartitionsTopic(name="f", count=3, assignments=[]),
                common_pb2.INVALID_REPLICA_ASSIGNMENT,
            ),
            "twice": (more("twice", 3), common_pb2.INVALID_REQUEST),
        }
        request = CreatePartitionsRequest(
            topics=[*(one for one, _ in wrong.values()), more("twice", 4), more("good", 3)],
            timeout_ms=10_000,
        )
        results = (await world.ask(request, 3)).results
        assert {one.name: one.error_code for one in results} == {
            **{name: code for name, (_, code) in wrong.items()},
            "good": 0,
        }
        assert all(one.error_message for one in results if one.error_code)
        assert [await partitions_of(world, name) for name in names] == [2] * 7 + [3]

    play(story)


@pytest.mark.parametrize("count", [-1, HUGE], ids=["null", "huge"])
def test_topics_that_are_null_or_more_than_the_frame_holds_close_the_connection(count: int) -> None:
    async def story(world: AdminWorld) -> None:
        for version, request in (
            (2, CreateTopicsRequest(timeout_ms=7)),
            (1, CreatePartitionsRequest(timeout_ms=7)),
        ):
            client = await WireClient.connect(world.cluster, "node-1:9092")
            frame = b"".join(write_request(request, version=version, correlation_id=1))
            # Number of topics, time-out, whether to validate only.
            client.send(frame[:-9] + count.to_bytes(4, "big", signed=True) + frame[-5:])
            await client.end
            assert client.answered == []
        assert await world.topics() == {TOPIC}

    play(story)
