"""Configs over frames: described, replaced, changed one by one, listed; every version."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.sim.kafka_admin import TOPIC, AdminWorld, play

from tidelog.kafka.messages import alter_configs_request as full
from tidelog.kafka.messages import incremental_alter_configs_request as incremental
from tidelog.kafka.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tidelog.kafka.messages.describe_configs_response import DescribeConfigsResult
from tidelog.kafka.messages.list_config_resources_request import ListConfigResourcesRequest
from tidelog.node.config import NODE_KEYS
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

OF_TOPIC, OF_BROKER, OF_CLUSTER = 2, 4, (4, "")
LOGGER, METRICS, GROUP = 8, 16, 32
ON_TOPIC, ON_CLUSTER, STATIC, BUILT_IN = 1, 3, 4, 5
SET, DELETE, APPEND, SUBTRACT = range(4)
RETENTION, POLICY = "retention.ms", "cleanup.policy"
Change = tuple[str, int, str | None]
Changes = list[Change]


async def described(
    world: AdminWorld,
    *resources: tuple[int, str],
    keys: list[str] | None = None,
    version: int = 4,
    node_id: int | None = None,
) -> list[DescribeConfigsResult]:
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(*one, keys) for one in resources],
        include_synonyms=True,
        include_documentation=True,
    )
    asked = world.leader_id if node_id is None else node_id
    results: list[DescribeConfigsResult] = (await world.ask_node(asked, request, version)).results
    return results


async def value(world: AdminWorld, key: str, resource: tuple[int, str] = (OF_TOPIC, TOPIC)) -> Any:
    """Value and source of one config."""
    (result,) = await described(world, resource, keys=[key])
    (config,) = result.configs
    return config.value, config.config_source


async def changed(
    world: AdminWorld,
    *resources: tuple[int, str, Changes],
    version: int = 1,
    validate_only: bool = False,
) -> dict[tuple[int, str], int]:
    asked = [
        incremental.AlterConfigsResource(
            kind, name, [incremental.AlterableConfig(*one) for one in changes]
        )
        for kind, name, changes in resources
    ]
    request = incremental.IncrementalAlterConfigsRequest(asked, validate_only)
    responses = (await world.ask(request, version)).responses
    assert all(bool(one.error_code) == bool(one.error_message) for one in responses)
    return {(one.resource_type, one.resource_name): one.error_code for one in responses}


async def replaced(
    world: AdminWorld, name: str, configs: dict[str, str | None], version: int = 2
) -> int:
    values = [full.AlterableConfig(*one) for one in configs.items()]
    request = full.AlterConfigsRequest([full.AlterConfigsResource(OF_TOPIC, name, values)])
    (result,) = (await world.ask(request, version)).responses
    code: int = result.error_code
    return code


def test_a_topics_configs_are_described_with_sources_in_every_version() -> None:
    async def story(world: AdminWorld) -> None:
        await changed(world, (OF_TOPIC, TOPIC, [(RETENTION, SET, "5")]))
        await changed(world, (*OF_CLUSTER, [(RETENTION, SET, "7"), (POLICY, SET, "compact")]))
        for version in range(1, 5):
            (result,) = await described(world, (OF_TOPIC, TOPIC), version=version)
            assert (result.error_code, result.error_message) == (0, None)
            of = {one.name: one for one in result.configs}
            assert (of[RETENTION].value, of[RETENTION].config_source) == ("5", ON_TOPIC)
            assert [(one.value, one.source) for one in of[RETENTION].synonyms] == [
                *(("5", ON_TOPIC), ("7", ON_CLUSTER), (str(7 * 86_400_000), BUILT_IN)),
            ]
            assert (of[POLICY].value, of[POLICY].config_source) == ("compact", ON_CLUSTER)
            assert of["segment.bytes"].config_source == BUILT_IN
            assert not any(one.read_only or one.is_sensitive for one in result.configs)
            if version >= 3:
                kinds = [of[key].config_type for key in (RETENTION, POLICY, "segment.bytes")]
                assert kinds == [5, 7, 3]
                assert of[RETENTION].documentation

    play(story)


def test_the_asked_keys_alone_are_described_and_null_and_none_are_all() -> None:
    async def story(world: AdminWorld) -> None:
        (few,) = await described(world, (OF_TOPIC, TOPIC), keys=[POLICY, "no.such"])
        assert [one.name for one in few.configs] == [POLICY]
        (null,) = await described(world, (OF_TOPIC, TOPIC), keys=None)
        (empty,) = await described(world, (OF_TOPIC, TOPIC), keys=[])
        assert null.configs == empty.configs
        assert len(null.configs) > 10
        request = DescribeConfigsRequest(resources=[DescribeConfigsResource(OF_TOPIC, TOPIC, None)])
        (plain,) = (await world.ask(request, 4)).results
        assert all(not one.synonyms and one.documentation is None for one in plain.configs)

    play(story)


def test_a_broker_tells_its_own_configs_which_are_read_only() -> None:
    async def story(world: AdminWorld) -> None:
        await changed(world, (*OF_CLUSTER, [(RETENTION, SET, "7")]))
        await asyncio.sleep(1)  # until each broker knows
        (result,) = await described(world, (OF_BROKER, "2"), node_id=2)
        of = {one.name: one for one in result.configs}
        assert {*NODE_KEYS, RETENTION} <= of.keys()
        assert "segment.bytes" not in of, "it is not set on the cluster"
        assert (of["node.id"].value, of["node.id"].config_source) == ("2", STATIC)
        assert (of["num.partitions"].value, of["num.partitions"].config_source) == ("2", STATIC)
        assert [(one.value, one.source) for one in of["num.partitions"].synonyms] == [
            *(("2", STATIC), ("1", BUILT_IN)),
        ]
        assert all(of[name].read_only for name in NODE_KEYS)
        assert (of[RETENTION].config_source, of[RETENTION].read_only) == (ON_CLUSTER, False)
        refused = await changed(world, (OF_BROKER, "2", [("num.partitions", SET, "9")]))
        assert refused == {(OF_BROKER, "2"): common_pb2.INVALID_REQUEST}

    play(story)


def test_resources_that_have_no_configs_are_refused_one_by_one() -> None:
    async def story(world: AdminWorld) -> None:
        wrong = [(OF_BROKER, "9"), (OF_BROKER, "x"), (LOGGER, "1"), (METRICS, "m"), (GROUP, "g")]
        wrong.append((0, ""))
        asked = [*wrong, (OF_TOPIC, "unknown"), (OF_TOPIC, "a/b"), (OF_TOPIC, TOPIC)]
        results = await described(world, *asked)
        codes = [one.error_code for one in results]
        unknown = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        assert codes == [common_pb2.INVALID_REQUEST] * 6 + [unknown, common_pb2.INVALID_TOPIC, 0]
        assert all(one.error_message and not one.configs for one in results[:-1])
        many = [(OF_TOPIC, f"t{n}") for n in range(1_001)]
        results = await described(world, *many)
        assert [one.error_code for one in results[-2:]] == [unknown, common_pb2.INVALID_REQUEST]

    play(story)


def test_a_replacement_leaves_nothing_else_in_every_version() -> None:
    async def story(world: AdminWorld) -> None:
        for version in range(3):
            await changed(world, (OF_TOPIC, TOPIC, [("segment.bytes", SET, "1000")]))
            assert await replaced(world, TOPIC, {RETENTION: str(version)}, version) == 0
            assert await value(world, RETENTION) == (str(version), ON_TOPIC)
            assert (await value(world, "segment.bytes"))[1] == BUILT_IN
        assert await replaced(world, TOPIC, {RETENTION: None}) == common_pb2.INVALID_REQUEST
        assert await replaced(world, TOPIC, {"no.such": "1"}) == common_pb2.INVALID_CONFIG
        unknown = common_pb2.UNKNOWN_TOPIC_OR_PARTITION
        assert await replaced(world, "unknown", {RETENTION: "1"}) == unknown
        assert await value(world, RETENTION) == ("2", ON_TOPIC)
        assert await replaced(world, TOPIC, {}) == 0
        assert (await value(world, RETENTION))[1] == BUILT_IN

    play(story)


@pytest.mark.parametrize("version", [0, 1])
def test_configs_are_set_deleted_appended_and_subtracted(version: int) -> None:
    async def story(world: AdminWorld) -> None:
        key = (OF_TOPIC, TOPIC)
        steps: list[tuple[Changes, str]] = [
            ([(RETENTION, SET, "5"), (POLICY, APPEND, "compact")], "delete,compact"),
            ([(RETENTION, DELETE, None), (POLICY, SUBTRACT, "delete")], "compact"),
        ]
        for changes, expected in steps:
            assert await changed(world, (*key, changes), version=version) == {key: 0}
            assert await value(world, POLICY) == (expected, ON_TOPIC)
        assert (await value(world, RETENTION))[1] == BUILT_IN
        checked = await changed(
            world, (*key, [(RETENTION, SET, "9")]), version=version, validate_only=True
        )
        assert checked == {key: 0}
        assert (await value(world, RETENTION))[1] == BUILT_IN

    play(story)


def test_what_is_no_config_is_deleted_as_if_it_had_been_one() -> None:
    async def story(world: AdminWorld) -> None:
        key, gone = (OF_TOPIC, TOPIC), ("gone.in.this.version", DELETE, None)
        assert await changed(world, (*key, [gone])) == {key: 0}
        assert await changed(world, (*key, [gone, (RETENTION, SET, "5")])) == {key: 0}
        assert (await value(world, RETENTION))[0] == "5"
        unknown = (OF_TOPIC, "unknown")
        found = await changed(world, (*unknown, [gone]))
        assert found == {unknown: common_pb2.UNKNOWN_TOPIC_OR_PARTITION}

    play(story)


def test_wrong_changes_change_nothing_of_their_resource_and_the_others_happen() -> None:
    async def story(world: AdminWorld) -> None:
        key = (OF_TOPIC, TOPIC)
        good: Change = (RETENTION, SET, "5")
        steps: list[tuple[Change, int]] = [
            (("no.such", SET, "1"), common_pb2.INVALID_CONFIG),
            (("segment.bytes", SET, "x"), common_pb2.INVALID_CONFIG),
            (("segment.bytes", APPEND, "1"), common_pb2.INVALID_CONFIG),
            ((POLICY, SUBTRACT, "delete"), common_pb2.INVALID_CONFIG),
            ((POLICY, SET, None), common_pb2.INVALID_REQUEST),
            ((POLICY, 4, "compact"), common_pb2.INVALID_REQUEST),
            ((RETENTION, DELETE, None), common_pb2.INVALID_REQUEST),
        ]
        more: Changes = [("flush.ms", SET, "77")]
        for wrong, code in steps:
            found = await changed(world, (*key, [good, wrong]), (*OF_CLUSTER, more))
            assert found == {key: code, OF_CLUSTER: 0}
            assert (await value(world, RETENTION))[1] == BUILT_IN
        assert await value(world, "flush.ms") == ("77", ON_CLUSTER)
        twice = await changed(world, (*key, [good]), (*key, [good]), (METRICS, "m", [good]))
        invalid = common_pb2.INVALID_REQUEST
        assert twice == {key: invalid, (METRICS, "m"): invalid}

    play(story)


def test_resources_are_listed_by_type() -> None:
    async def story(world: AdminWorld) -> None:
        async def listed(version: int, *kinds: int) -> Any:
            answer = await world.ask(ListConfigResourcesRequest(list(kinds)), version)
            found = [(one.resource_type, one.resource_name) for one in answer.config_resources]
            return answer.error_code, found

        brokers = [(OF_BROKER, str(node_id)) for node_id in (1, 2, 3)]
        assert await listed(0) == (0, [])
        assert await listed(1) == (0, [(OF_TOPIC, TOPIC), *brokers])
        assert await listed(1, OF_BROKER) == (0, brokers)
        assert await listed(1, GROUP, METRICS, LOGGER) == (0, [])
        assert await listed(1, OF_TOPIC, 3) == (35, [])

    play(story)
