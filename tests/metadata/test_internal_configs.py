"""What coordinators rest on is their topics' own: defaults of the cluster, whole elections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.metadata.test_configs import alter, codes, described, of

from tidelog.core.internal_topics import INTERNAL_TOPICS, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from tidelog.log.config import TOPIC_CONFIGS, LogConfig
from tidelog.log.internal_configs import FOLLOWED, STATED, internal_configs
from tidelog.metadata.topic_rules import effective_config, topic_rules
from tidelog.v1 import admin_pb2, common_pb2
from tidelog.v1.admin_pb2 import DescribeConfigsResponse, ElectLeadersRequest, ElectLeadersResponse

if TYPE_CHECKING:
    from tests.metadata.conftest import World

EXTREMES = [(key.name, text) for key in TOPIC_CONFIGS.values() for text in key.type.extremes]
OF_OLDER_VERSION = {"cleanup.policy": "compact", "min.insync.replicas": "2"}
"""An internal topic made before it stated more."""


def config_of(world: World, topic: str) -> LogConfig:
    return effective_config(world.image.topics[topic], world.image)


def test_every_key_has_extremes_and_they_are_legal() -> None:
    for key in TOPIC_CONFIGS.values():
        assert key.type.extremes
        for text in key.type.extremes:
            key.parse(text)


def test_no_default_of_the_cluster_but_of_flushes_reaches_an_internal_topic(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    world.create(OFFSETS_TOPIC, configs=OF_OLDER_VERSION, internal=True)
    world.create(
        TRANSACTIONS_TOPIC,
        configs=internal_configs(segment_bytes=1 << 20, min_isr=2),
        internal=True,
    )
    before = {name: config_of(world, name) for name in INTERNAL_TOPICS}
    rules = {name: topic_rules(world.image.topics[name], world.image) for name in INTERNAL_TOPICS}
    reached = set()
    for key, text in EXTREMES:
        if codes(alter(world, of(None, {key: text}))) != [0]:
            continue  # it contradicts another default
        for name in INTERNAL_TOPICS:
            topic = world.image.topics[name]
            is_same = config_of(world, name) == before[name]
            is_same &= topic_rules(topic, world.image) == rules[name]
            assert is_same or key in FOLLOWED, (name, key, text)
            value, source = described(world, name)[key]
            assert TOPIC_CONFIGS[key].parse(value) == getattr(
                config_of(world, name), key.replace(".", "_")
            )
            if source == DescribeConfigsResponse.DYNAMIC_DEFAULT_BROKER_CONFIG:
                reached.add(key)
        assert described(world, "t")[key][0] == text
        alter(world, of(None, {key: None}))
    assert reached == FOLLOWED


def test_what_operators_set_on_an_internal_topic_itself_has_effect(world: World) -> None:
    """As in Kafka 4.3.1: every key of both topics may be altered."""
    world.start(1, 2, 3)
    stated = internal_configs(segment_bytes=1 << 20, min_isr=2)
    assert STATED.items() < stated.items()
    world.create(TRANSACTIONS_TOPIC, configs=stated, internal=True)
    change = of(TRANSACTIONS_TOPIC, {"max.message.bytes": "600", "retention.ms": None})
    assert codes(alter(world, change)) == [0]
    assert config_of(world, TRANSACTIONS_TOPIC).max_message_bytes == 600
    assert config_of(world, TRANSACTIONS_TOPIC).retention_ms == -1


@pytest.mark.parametrize("name", sorted(INTERNAL_TOPICS))
def test_an_unclean_election_of_all_topics_leaves_internal_ones_out_and_says_so(
    world: World, name: str
) -> None:
    world.start(1, 2, 3)
    for topic in (name, "t"):
        world.create(topic, internal=topic == name)
        leader, *_others = world.partition(topic).replicas
        world.alter(topic, [leader])
        world.report_damage(leader, topic)
        assert world.partition(topic).leader_id is None

    def elect(*topics: str) -> dict[str, int]:
        request = ElectLeadersRequest(election_type=admin_pb2.UNCLEAN)
        request.topics.extend(ElectLeadersRequest.Topic(name=topic) for topic in topics)
        reply = world.do(request)
        assert isinstance(reply, ElectLeadersResponse)
        return {one.topic: one.error.code for one in reply.partitions}

    assert elect() == {name: common_pb2.INVALID_REQUEST, "t": common_pb2.NONE}
    assert world.partition(name).leader_id is None
    assert elect(name) == {name: common_pb2.NONE}
    assert world.partition(name).leader_id is not None
    assert elect() == {}
