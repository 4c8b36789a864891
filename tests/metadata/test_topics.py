"""Creating and deleting topics."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewTopic,
)
from tidelog.v1.metadata_records_pb2 import ConfigRecord, MetadataRecord

if TYPE_CHECKING:
    from tests.metadata.conftest import World


@pytest.fixture
def started(world: World) -> World:
    world.start(1, 2, 3)
    return world


def test_a_topic_is_created_with_all_replicas_in_the_isr(started: World) -> None:
    result = started.create(
        "flights", partitions=6, replication_factor=3, configs={"min.insync.replicas": "2"}
    )
    assert not result.error.code
    assert (result.partitions, result.replication_factor) == (6, 3)
    topic = started.image.topics["flights"]
    assert topic.topic_id == result.topic_id
    assert len(topic.topic_id) == 16
    assert topic.configs == {"min.insync.replicas": "2"}
    assert started.image.topic_by_id(topic.topic_id) is topic
    for number, partition in enumerate(topic.partitions):
        assert partition.partition == number
        assert sorted(partition.replicas) == [1, 2, 3]
        assert partition.isr == partition.replicas
        assert partition.leader_id == partition.replicas[0]
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)
    assert Counter(p.leader_id for p in topic.partitions) == {1: 2, 2: 2, 3: 2}


def test_counts_left_out_are_the_clusters_defaults(started: World) -> None:
    result = started.create("t", partitions=0, replication_factor=0)
    assert (result.partitions, result.replication_factor) == (1, 1)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "../a",
        "a b",
        "a\0",
        "a\n",
        "é",
        "t" * 250,
        "a:b",
        "__cluster_metadata",
    ],
)
def test_a_name_that_could_not_be_a_folder_is_refused(started: World, name: str) -> None:
    assert started.create(name).error.code == common_pb2.INVALID_TOPIC
    assert not started.image.topics


@pytest.mark.parametrize("name", ["a", "...", "A-1._", "t" * 249, "-"])
def test_every_allowed_name_is_accepted(started: World, name: str) -> None:
    assert not started.create(name).error.code


def test_a_taken_name_is_refused(started: World) -> None:
    first = started.create("t").topic_id
    assert started.create("t").error.code == common_pb2.TOPIC_ALREADY_EXISTS
    assert started.image.topics["t"].topic_id == first


def test_names_that_differ_only_in_dot_and_underscore_collide(started: World) -> None:
    started.create("a.b")
    refused = started.create("a_b")
    assert refused.error.code == common_pb2.INVALID_TOPIC
    assert "'a.b'" in refused.error.message


@pytest.mark.parametrize("partitions", [-1, 201])
def test_partition_counts_out_of_range_are_refused(started: World, partitions: int) -> None:
    refused = started.create("t", partitions=partitions)
    assert refused.error.code == common_pb2.INVALID_PARTITIONS


def test_the_clusters_limit_of_partitions_counts_all_topics(started: World) -> None:
    started.create("a", partitions=150)
    assert started.create("b", partitions=51).error.code == common_pb2.INVALID_PARTITIONS
    assert not started.create("b", partitions=50).error.code


@pytest.mark.parametrize("factor", [-1, 4])
def test_a_replication_factor_above_the_registered_brokers_names_their_number(
    started: World, factor: int
) -> None:
    refused = started.create("t", replication_factor=factor)
    assert refused.error.code == common_pb2.INVALID_REPLICATION_FACTOR
    assert "registered brokers, which is 3" in refused.error.message


def test_fenced_brokers_get_replicas_only_where_the_live_ones_are_too_few(started: World) -> None:
    started.pass_session_but(1, 3)
    started.create("t", replication_factor=2, partitions=4)
    assert all(2 not in partition.replicas for _, partition in started.image.partitions())
    assert not started.create("u", replication_factor=3, partitions=4).error.code
    for partition in started.image.topics["u"].partitions:
        assert partition.replicas[2] == 2
        assert partition.isr == partition.replicas[:2]
        assert partition.leader_id == partition.replicas[0]


def test_nothing_is_created_while_every_broker_is_fenced(started: World) -> None:
    started.pass_session_but()
    refused = started.create("t", replication_factor=1)
    assert refused.error.code == common_pb2.INVALID_REPLICATION_FACTOR


def test_a_bad_config_names_key_and_value(started: World) -> None:
    refused = started.create("t", configs={"min.insync.replicas": "none"})
    assert refused.error.code == common_pb2.INVALID_CONFIG
    assert "min.insync.replicas" in refused.error.message
    assert "none" in refused.error.message
    assert not started.image.topics


def test_configs_that_do_not_go_with_the_clusters_defaults_are_refused(started: World) -> None:
    default = ConfigRecord(
        resource_type=ConfigRecord.CLUSTER, key="max.compaction.lag.ms", value="9"
    )
    started.commit([MetadataRecord(config=default)])
    refused = started.create("t", configs={"min.compaction.lag.ms": "10"})
    assert refused.error.code == common_pb2.INVALID_CONFIG
    assert not started.image.topics
    both = {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "11"}
    assert not started.create("t", configs=both).error.code


def test_each_topic_of_a_request_has_its_own_result_in_order(started: World) -> None:
    names = ["a", "", "b", "a"]
    topics = [NewTopic(name=name, partitions=2, replication_factor=1) for name in names]
    reply = started.do(CreateTopicsRequest(topics=topics))
    assert isinstance(reply, CreateTopicsResponse)
    assert [(topic.name, topic.error.code) for topic in reply.topics] == [
        ("a", 0),
        ("", common_pb2.INVALID_TOPIC),
        ("b", 0),
        ("a", common_pb2.TOPIC_ALREADY_EXISTS),
    ]
    assert list(started.image.topics) == ["a", "b"]


def test_validate_only_checks_and_creates_nothing(started: World) -> None:
    before = started.image
    fine = started.create("t", validate_only=True)
    assert not fine.error.code
    assert not fine.topic_id
    assert started.create("t", partitions=-1, validate_only=True).error.code
    assert started.image is before


def test_too_many_topics_in_one_request_are_refused_as_a_whole(started: World) -> None:
    reply = started.do(DeleteTopicsRequest(names=["t"] * 1_001))
    assert isinstance(reply, DeleteTopicsResponse)
    assert reply.error.code == common_pb2.INVALID_REQUEST
    assert not reply.topics


def test_a_topic_made_again_has_another_id(started: World) -> None:
    first = started.create("t").topic_id
    reply = started.do(DeleteTopicsRequest(names=["t", "t", "u"]))
    assert isinstance(reply, DeleteTopicsResponse)
    missing = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
    assert [topic.error.code for topic in reply.topics] == [0, missing, missing]
    assert not started.image.topics
    assert not started.image.topics_by_id
    assert started.create("t").topic_id != first


def test_a_topic_of_another_id_is_not_deleted(started: World) -> None:
    first, other = started.create("t").topic_id, started.create("u").topic_id
    reply = started.do(DeleteTopicsRequest(names=["t", "u"], topic_ids=[other, other]))
    assert isinstance(reply, DeleteTopicsResponse)
    assert [topic.error.code for topic in reply.topics] == [common_pb2.UNKNOWN_TOPIC_ID, 0]
    assert list(started.image.topics) == ["t"]
    few = started.do(DeleteTopicsRequest(names=["t", "v"], topic_ids=[first]))
    assert isinstance(few, DeleteTopicsResponse)
    assert few.error.code == common_pb2.INVALID_REQUEST
    again = started.do(DeleteTopicsRequest(names=["t", "v"], topic_ids=[first, b""]))
    assert isinstance(again, DeleteTopicsResponse)
    unknown = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
    assert [topic.error.code for topic in again.topics] == [0, unknown]
