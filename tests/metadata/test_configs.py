"""Altering configs of topics and of the cluster, and saying where each value comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from tidelog.core.errors import KafkaError
from tidelog.log.config import TOPIC_CONFIGS
from tidelog.metadata.configs import describe_configs
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    CLUSTER,
    TOPIC,
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigResourceType,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)

if TYPE_CHECKING:
    from tests.metadata.conftest import World

MIN_LAG, MAX_LAG = "min.compaction.lag.ms", "max.compaction.lag.ms"
OF_TOPIC = DescribeConfigsResponse.DYNAMIC_TOPIC_CONFIG
OF_CLUSTER = DescribeConfigsResponse.DYNAMIC_DEFAULT_BROKER_CONFIG
BUILT_IN = DescribeConfigsResponse.DEFAULT_CONFIG


def of(topic: str | None, changes: Mapping[str, str | None]) -> AlterConfigsRequest.Resource:
    """A resource's changes; None for a topic is the cluster, for a value a deletion."""
    return AlterConfigsRequest.Resource(
        type=CLUSTER if topic is None else TOPIC,
        name=topic or "",
        changes=[AlterConfigsRequest.Change(key=key, value=changes[key]) for key in changes],
    )


def alter(
    world: World, *resources: AlterConfigsRequest.Resource, validate_only: bool = False
) -> AlterConfigsResponse:
    reply = world.do(AlterConfigsRequest(resources=resources, validate_only=validate_only))
    assert isinstance(reply, AlterConfigsResponse)
    return reply


def codes(reply: AlterConfigsResponse) -> list[int]:
    assert not reply.error.code, reply.error
    return [resource.error.code for resource in reply.resources]


def described(world: World, topic: str | None) -> dict[str, tuple[str, int]]:
    """Value and source of every config."""
    resource = DescribeConfigsRequest.Resource(
        type=CLUSTER if topic is None else TOPIC, name=topic or ""
    )
    request = DescribeConfigsRequest(resources=[resource])
    (result,) = describe_configs(request, world.image, config=world.config).resources
    assert not result.error.code
    return {config.name: (config.value, config.source) for config in result.configs}


@pytest.fixture
def started(world: World) -> World:
    """Topics a and b; a sets two configs of its own."""
    world.start(1, 2, 3)
    world.create("a", configs={"segment.bytes": "1000", "flush.messages": "5"})
    world.create("b")
    return world


def test_keys_are_set_and_deleted_and_all_others_stay(started: World) -> None:
    reply = alter(started, of("a", {"segment.bytes": "2000", "flush.messages": None}))
    assert codes(reply) == [0]
    assert started.image.topics["a"].configs == {"segment.bytes": "2000"}
    assert started.image.topics["b"].configs == {}
    assert codes(alter(started, of("a", {"retention.ms": "7"}))) == [0]
    assert started.image.topics["a"].configs == {"segment.bytes": "2000", "retention.ms": "7"}


def test_the_clusters_defaults_are_set_and_deleted(started: World) -> None:
    assert codes(alter(started, of(None, {"segment.bytes": "3000"}))) == [0]
    assert started.image.cluster_configs == {"segment.bytes": "3000"}
    assert codes(alter(started, of(None, {"segment.bytes": None}))) == [0]
    assert started.image.cluster_configs == {}


def test_a_value_comes_from_the_topic_or_the_cluster_or_nowhere(started: World) -> None:
    alter(started, of(None, {"segment.bytes": "3000", "cleanup.policy": "compact"}))
    assert described(started, "a").keys() == TOPIC_CONFIGS.keys()
    assert described(started, "a")["segment.bytes"] == ("1000", OF_TOPIC)
    assert described(started, "b")["segment.bytes"] == ("3000", OF_CLUSTER)
    assert described(started, None)["segment.bytes"] == ("3000", OF_CLUSTER)
    assert described(started, "a")["cleanup.policy"] == ("compact", OF_CLUSTER)
    assert described(started, None)["flush.messages"] == (str(2**63 - 1), BUILT_IN)
    assert described(started, "b")["cleanup.policy"] == ("compact", OF_CLUSTER)


def test_a_description_says_default_type_and_meaning(started: World) -> None:
    resource = DescribeConfigsRequest.Resource(type=TOPIC, name="a")
    request = DescribeConfigsRequest(resources=[resource])
    (result,) = describe_configs(request, started.image, config=started.config).resources
    (config,) = [one for one in result.configs if one.name == "segment.bytes"]
    assert (config.value, config.default_value, config.type) == ("1000", "1073741824", "INT")
    assert config.doc == TOPIC_CONFIGS["segment.bytes"].doc


def test_a_topic_that_does_not_exist_is_unknown_to_both(started: World) -> None:
    missing = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(alter(started, of("c", {"retention.ms": "7"}))) == [missing]
    request = DescribeConfigsRequest(resources=[DescribeConfigsRequest.Resource(name="c")])
    (result,) = describe_configs(request, started.image, config=started.config).resources
    assert result.error.code == missing
    assert not result.configs


@pytest.mark.parametrize(
    "bad",
    [
        {"segment.bytes": "13"},
        {"cleanup.policy": "compact,shred"},
        {"segmnt.bytes": "1000"},
        {"segmnt.bytes": None},
        {"compression.type": "x" * 1_001},
    ],
)
@pytest.mark.parametrize("topic", ["a", None])
def test_one_bad_change_and_none_of_its_resource_happens(
    started: World, topic: str | None, bad: dict[str, str | None]
) -> None:
    before = started.image
    reply = alter(started, of(topic, {"retention.ms": "7"} | bad))
    assert codes(reply) == [common_pb2.INVALID_CONFIG]
    assert next(iter(bad)) in reply.resources[0].error.message
    assert started.image is before


def test_a_refused_resource_does_not_stop_the_others(started: World) -> None:
    reply = alter(
        started,
        of("a", {"retention.ms": "7"}),
        of("c", {"retention.ms": "7"}),
        of(None, {"retention.ms": "8"}),
        of("b", {"retention.ms": "x"}),
    )
    assert codes(reply) == [0, common_pb2.UNKNOWN_TOPIC_OR_PARTITION, 0, common_pb2.INVALID_CONFIG]
    assert [resource.name for resource in reply.resources] == ["a", "c", "", "b"]
    assert described(started, "a")["retention.ms"] == ("7", OF_TOPIC)
    assert described(started, "b")["retention.ms"] == ("8", OF_CLUSTER)


def test_what_would_be_in_effect_is_checked_not_only_what_is_sent(started: World) -> None:
    assert codes(alter(started, of("a", {MIN_LAG: "10"}))) == [0]
    reply = alter(started, of("a", {MAX_LAG: "9"}))
    assert codes(reply) == [common_pb2.INVALID_CONFIG]
    assert MIN_LAG in reply.resources[0].error.message
    assert codes(alter(started, of("a", {MAX_LAG: "9", MIN_LAG: "9"}))) == [0]
    assert codes(alter(started, of("b", {MAX_LAG: "9"}))) == [0]


def test_a_topic_is_checked_with_the_clusters_defaults_beneath(started: World) -> None:
    alter(started, of(None, {MAX_LAG: "9"}))
    assert codes(alter(started, of("b", {MIN_LAG: "10"}))) == [common_pb2.INVALID_CONFIG]
    assert codes(alter(started, of("b", {MIN_LAG: "10", MAX_LAG: "10"}))) == [0]
    assert codes(alter(started, of("b", {MAX_LAG: None}))) == [common_pb2.INVALID_CONFIG]


def test_a_default_that_some_topic_cannot_live_with_is_refused_and_names_it(
    started: World,
) -> None:
    alter(started, of("b", {MIN_LAG: "10"}))
    reply = alter(started, of(None, {MAX_LAG: "9"}))
    assert codes(reply) == [common_pb2.INVALID_CONFIG]
    assert "topic b would have min.compaction.lag.ms=10" in reply.resources[0].error.message
    assert started.image.cluster_configs == {}
    alter(started, of("b", {MIN_LAG: None}))
    assert codes(alter(started, of(None, {MAX_LAG: "9"}))) == [0]
    assert codes(alter(started, of(None, {MIN_LAG: "10"}))) == [common_pb2.INVALID_CONFIG]


def test_a_default_is_checked_also_where_no_topic_takes_it(started: World) -> None:
    for topic in ("a", "b"):
        alter(started, of(topic, {"retention.ms": "7"}))
    reply = alter(started, of(None, {"retention.ms": "x"}))
    assert codes(reply) == [common_pb2.INVALID_CONFIG]


def test_each_resource_is_decided_on_what_those_before_it_leave(started: World) -> None:
    lags = of(None, {MAX_LAG: "9"}), of("a", {MIN_LAG: "10"})
    assert codes(alter(started, *lags)) == [0, common_pb2.INVALID_CONFIG]
    alter(started, of(None, {MAX_LAG: None}))
    assert codes(alter(started, *reversed(lags))) == [0, common_pb2.INVALID_CONFIG]


def test_validate_only_checks_and_changes_nothing(started: World) -> None:
    before = started.image
    lags = of(None, {MAX_LAG: "9"}), of("a", {MIN_LAG: "10"})
    reply = alter(started, *lags, validate_only=True)
    assert codes(reply) == [0, common_pb2.INVALID_CONFIG]
    assert started.image is before


def test_a_request_sent_again_writes_no_record(started: World) -> None:
    changes = of("a", {"retention.ms": "7", "flush.messages": None})
    assert codes(alter(started, changes)) == [0]
    after = started.image
    assert codes(alter(started, changes)) == [0]
    assert started.image is after


@pytest.mark.parametrize(
    "resource",
    [
        AlterConfigsRequest.Resource(type=CLUSTER, name="a"),
        AlterConfigsRequest.Resource(type=7, name="a"),  # type: ignore[arg-type]  # none of ours
        AlterConfigsRequest.Resource(
            name="a", changes=[AlterConfigsRequest.Change(key="flush.ms", value=v) for v in "12"]
        ),
        AlterConfigsRequest.Resource(
            name="a", changes=[AlterConfigsRequest.Change(key=str(n)) for n in range(101)]
        ),
    ],
    ids=["a cluster with a name", "another type", "a key twice", "too many keys"],
)
def test_a_malformed_resource_is_refused(
    started: World, resource: AlterConfigsRequest.Resource
) -> None:
    before = started.image
    assert codes(alter(started, resource)) == [common_pb2.INVALID_REQUEST]
    assert started.image is before


@pytest.mark.parametrize(
    "names", [["a", "a"], [str(number) for number in range(1_001)]], ids=["twice", "too many"]
)
def test_resources_named_twice_or_too_many_are_refused_as_a_whole(
    started: World, names: list[str]
) -> None:
    before = started.image
    reply = alter(started, *(of(name, {"retention.ms": "7"}) for name in names))
    assert reply.error.code == common_pb2.INVALID_REQUEST
    assert not reply.resources
    assert started.image is before
    resources = [DescribeConfigsRequest.Resource(name=name) for name in names]
    with pytest.raises(KafkaError) as caught:
        describe_configs(
            DescribeConfigsRequest(resources=resources), started.image, config=started.config
        )
    assert caught.value.code == common_pb2.INVALID_REQUEST


@pytest.mark.parametrize("resource_type", [CLUSTER, 7])
def test_a_malformed_resource_is_not_described(
    started: World, resource_type: ConfigResourceType
) -> None:
    resource = DescribeConfigsRequest.Resource(type=resource_type, name="a")
    request = DescribeConfigsRequest(resources=[resource])
    (result,) = describe_configs(request, started.image, config=started.config).resources
    assert result.error.code == common_pb2.INVALID_REQUEST


def test_a_topic_made_again_has_none_of_its_predecessors_configs(started: World) -> None:
    started.do(DeleteTopicsRequest(names=["a"]))
    started.create("a")
    assert started.image.topics["a"].configs == {}


def changed(world: World, topic: str, key: str, operation: int, value: str | None) -> int:
    """The code of one change by an operation."""
    resource = of(topic, {key: value})
    resource.changes[0].MergeFromString(bytes([3 << 3, operation]))  # also an unknown one
    return codes(alter(world, resource))[0]


def test_lists_are_appended_to_and_subtracted_from_as_they_are_in_effect(started: World) -> None:
    policy, append, subtract = "cleanup.policy", 1, 2
    assert changed(started, "b", policy, append, "delete") == 0
    assert started.image.topics["b"].configs == {}, "the default has it already"
    assert changed(started, "b", policy, append, "compact") == 0
    assert started.image.topics["b"].configs == {policy: "delete,compact"}
    before = started.image
    assert changed(started, "b", policy, append, "compact, delete") == 0
    assert started.image is before, "it has both already"
    assert changed(started, "b", policy, subtract, "delete,compact") == common_pb2.INVALID_CONFIG
    assert changed(started, "b", policy, append, "shred") == common_pb2.INVALID_CONFIG
    assert changed(started, "b", policy, append, None) == common_pb2.INVALID_REQUEST
    assert changed(started, "b", policy, 7, "compact") == common_pb2.INVALID_REQUEST
    assert changed(started, "b", "retention.ms", append, "1") == common_pb2.INVALID_CONFIG
    assert started.image is before
    assert changed(started, "b", policy, subtract, "delete") == 0
    assert started.image.topics["b"].configs == {policy: "compact"}
    alter(started, of(None, {policy: "delete,compact"}))
    assert changed(started, "a", policy, subtract, "compact") == 0
    assert started.image.topics["a"].configs[policy] == "delete"


def test_a_replacement_removes_what_it_does_not_name(started: World) -> None:
    resource = of("a", {"segment.bytes": "1000", "retention.ms": "9"})
    resource.replaces = True
    assert codes(alter(started, resource)) == [0]
    assert started.image.topics["a"].configs == {"segment.bytes": "1000", "retention.ms": "9"}
    assert codes(alter(started, AlterConfigsRequest.Resource(name="a", replaces=True))) == [0]
    assert started.image.topics["a"].configs == {}
