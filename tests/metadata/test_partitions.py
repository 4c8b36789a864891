"""Adding partitions, and partitions whose replicas are named."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    NewTopic,
    ReplicaAssignment,
)

if TYPE_CHECKING:
    from tests.metadata.conftest import World

COMMAND_ID = bytes(range(16))


@pytest.fixture
def started(world: World) -> World:
    world.start(1, 2, 3)
    return world


def assigned(*replicas: tuple[int, ...], first: int = 0) -> list[ReplicaAssignment]:
    return [
        ReplicaAssignment(partition=number, broker_ids=brokers)
        for number, brokers in enumerate(replicas, start=first)
    ]


def ask(world: World, *topics: CreatePartitionsRequest.Topic, **fields: Any) -> list[int]:
    """The errors, in order."""
    reply = world.do(CreatePartitionsRequest(topics=topics, **fields))
    assert isinstance(reply, CreatePartitionsResponse)
    assert not reply.error.code, reply.error.message
    return [topic.error.code for topic in reply.topics]


def add(world: World, name: str, count: int, *named: ReplicaAssignment, **fields: Any) -> int:
    topic = CreatePartitionsRequest.Topic(name=name, count=count, assignments=named)
    return ask(world, topic, **fields)[0]


def test_those_there_are_stay_and_the_new_ones_are_placed_on_in_turn(started: World) -> None:
    started.create("t", partitions=2, replication_factor=2)
    before = started.image.topics["t"]
    assert add(started, "t", 9) == common_pb2.NONE
    after = started.image.topics["t"]
    assert after.topic_id == before.topic_id
    assert after.partitions[:2] == before.partitions
    assert [one.partition for one in after.partitions] == list(range(9))
    for partition in after.partitions[2:]:
        assert len(partition.replicas) == 2
        assert partition.isr == partition.replicas
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)
    assert set(Counter(one.leader_id for one in after.partitions).values()) == {3}


@pytest.mark.parametrize("count", [-1, 0, 1, 2])
def test_fewer_or_as_many_are_refused(started: World, count: int) -> None:
    started.create("t", partitions=2)
    before = started.image
    assert add(started, "t", count) == common_pb2.INVALID_PARTITIONS
    assert started.image is before


def test_a_topic_that_is_not_there_gets_none(started: World) -> None:
    assert add(started, "t", 2) == common_pb2.UNKNOWN_TOPIC_OR_PARTITION


def test_the_clusters_limit_counts_before_anything_is_placed(started: World) -> None:
    started.create("a", partitions=100)
    started.create("b", partitions=1)
    asked = [CreatePartitionsRequest.Topic(name=name, count=51) for name in ("b", "a")]
    assert add(started, "b", 2**31 - 1) == common_pb2.INVALID_PARTITIONS
    assert add(started, "b", 101) == common_pb2.INVALID_PARTITIONS
    assert ask(started, *asked) == [common_pb2.NONE, common_pb2.INVALID_PARTITIONS]
    assert add(started, "a", 150) == common_pb2.INVALID_PARTITIONS
    assert add(started, "a", 149) == common_pb2.NONE


def test_a_topic_named_twice_is_refused_both_times(started: World) -> None:
    started.create("t")
    twice = [CreatePartitionsRequest.Topic(name="t", count=count) for count in (2, 3)]
    assert ask(started, *twice) == [common_pb2.INVALID_REQUEST] * 2
    reply = started.do(CreatePartitionsRequest(topics=twice * 501))
    assert isinstance(reply, CreatePartitionsResponse)
    assert reply.error.code == common_pb2.INVALID_REQUEST


def test_validate_only_checks_and_adds_nothing(started: World) -> None:
    started.create("t")
    before = started.image
    assert add(started, "t", 3, validate_only=True) == common_pb2.NONE
    assert add(started, "t", 1, validate_only=True) == common_pb2.INVALID_PARTITIONS
    assert started.image is before


def test_the_same_command_again_adds_nothing_and_is_answered_as_before(started: World) -> None:
    started.create("t")
    assert add(started, "t", 3, command_id=COMMAND_ID) == common_pb2.NONE
    after = started.image
    assert add(started, "t", 3, command_id=COMMAND_ID) == common_pb2.NONE
    assert started.image is after
    assert add(started, "t", 3) == common_pb2.INVALID_PARTITIONS
    other = started.do(DeleteTopicsRequest(names=["t"], command_id=COMMAND_ID))
    assert not isinstance(other, CreatePartitionsResponse)


def test_named_replicas_are_taken_as_they_are(started: World) -> None:
    started.create("t", replication_factor=2)
    named = assigned((3, 1), (2, 3), first=1)
    assert add(started, "t", 3, *reversed(named)) == common_pb2.NONE
    placed = [one.replicas for one in started.image.topics["t"].partitions[1:]]
    assert placed == [(3, 1), (2, 3)]


@pytest.mark.parametrize(
    "named",
    [
        assigned((1, 2), first=1),
        assigned((1, 2), (1, 2), (1, 2), first=1),
        assigned((1, 2), (2, 3)),
        assigned((1, 2), (2, 2), first=1),
        assigned((1, 2), (2, 4), first=1),
        assigned((1, 2), (2,), first=1),
        assigned((1, 2), (1, 2, 3), first=1),
        assigned((1, 2), (), first=1),
        [*assigned((1, 2), first=1), *assigned((1, 2), first=1)],
    ],
)
def test_named_replicas_that_cannot_be_are_refused(
    started: World, named: list[ReplicaAssignment]
) -> None:
    started.create("t", replication_factor=2)
    before = started.image
    assert add(started, "t", 3, *named) == common_pb2.INVALID_REPLICA_ASSIGNMENT
    assert started.image is before


def test_of_named_replicas_the_live_ones_are_in_sync_and_one_must_live(started: World) -> None:
    started.create("t", replication_factor=2)
    started.pass_session_but(2, 3)
    assert add(started, "t", 2, *assigned((1, 3), first=1)) == common_pb2.NONE
    added = started.image.topics["t"].partitions[1]
    assert (added.replicas, added.isr, added.leader_id) == ((1, 3), (3,), 3)
    started.pass_session_but(2)
    refused = add(started, "t", 3, *assigned((1, 3), first=2))
    assert refused == common_pb2.INVALID_REPLICA_ASSIGNMENT


def create(world: World, **fields: Any) -> CreateTopicsResponse.Topic:
    reply = world.do(CreateTopicsRequest(topics=[NewTopic(name="t", **fields)]))
    assert isinstance(reply, CreateTopicsResponse)
    return reply.topics[0]


def test_a_topic_is_created_on_the_brokers_named(started: World) -> None:
    result = create(started, assignments=assigned((3, 1), (2, 1)))
    assert (result.error.code, result.partitions, result.replication_factor) == (0, 2, 2)
    assert [one.replicas for one in started.image.topics["t"].partitions] == [(3, 1), (2, 1)]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"assignments": assigned((1, 2), (3,))}, common_pb2.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": assigned((1, 1))}, common_pb2.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": assigned((9,))}, common_pb2.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": assigned((1,), first=1)}, common_pb2.INVALID_REPLICA_ASSIGNMENT),
        ({"assignments": assigned(*[(1,)] * 201)}, common_pb2.INVALID_PARTITIONS),
        ({"assignments": assigned((1,)), "partitions": 1}, common_pb2.INVALID_REQUEST),
        ({"assignments": assigned((1,)), "replication_factor": 1}, common_pb2.INVALID_REQUEST),
    ],
)
def test_a_topic_on_brokers_that_cannot_be_is_refused(
    started: World, fields: dict[str, Any], code: int
) -> None:
    assert create(started, **fields).error.code == code
    assert not started.image.topics
