"""Describing and altering configs with the admin client, against real brokers."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from tests.client.meddler import Mishap
from tests.client.patience import until
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started

from tidelog.client import Admin, errors
from tidelog.client.admin.descriptions import ConfigDescription
from tidelog.log.config import TOPIC_CONFIGS
from tidelog.v1 import common_pb2


def admin(cluster: RealCluster, *, api_timeout_ms: int = 5_000) -> Admin:
    return Admin(BOOTSTRAP, transport=cluster, api_timeout_ms=api_timeout_ms)


@pytest.fixture
async def cluster() -> RealCluster:
    """It has a topic t."""
    cluster = await started()
    await cluster.create("t")
    return cluster


def configs(cluster: RealCluster) -> dict[str, dict[str, str]]:
    """Committed configs by topic; the cluster's under the empty name."""
    image = cluster.image
    return {"t": dict(image.topics["t"].configs), "": dict(image.cluster_configs)}


async def test_a_config_is_described_with_value_source_default_type_and_meaning(
    cluster: RealCluster,
) -> None:
    async with admin(cluster) as a:
        await a.alter_configs("t", {"segment.bytes": "1000"})
        await a.alter_configs(None, {"flush.ms": "5"})
        of_topic, of_cluster = await a.describe_configs("t"), await a.describe_configs(None)
    assert list(of_topic) == list(of_cluster) == list(TOPIC_CONFIGS)
    assert of_topic["segment.bytes"] == ConfigDescription(
        name="segment.bytes",
        value="1000",
        source="DYNAMIC_TOPIC_CONFIG",
        default="1073741824",
        type="INT",
        doc=TOPIC_CONFIGS["segment.bytes"].doc,
    )
    assert of_topic["flush.ms"] == of_cluster["flush.ms"]
    assert of_cluster["flush.ms"].source == "DYNAMIC_DEFAULT_BROKER_CONFIG"
    assert [name for name, one in of_topic.items() if not one.is_default] == [
        "segment.bytes",
        "flush.ms",
    ]
    assert of_cluster["segment.bytes"].is_default


async def test_configs_are_set_and_taken_back(cluster: RealCluster) -> None:
    async with admin(cluster) as a:
        await a.alter_configs("t", {"segment.bytes": "1000", "flush.ms": "5"})
        await a.alter_configs("t", {"segment.bytes": None})
        await a.alter_configs(None, {"retention.ms": "7"})
    assert configs(cluster) == {"t": {"flush.ms": "5"}, "": {"retention.ms": "7"}}


async def test_validate_only_changes_nothing(cluster: RealCluster) -> None:
    async with admin(cluster) as a:
        await a.alter_configs("t", {"segment.bytes": "1000"}, validate_only=True)
        with pytest.raises(errors.KafkaError, match="must be a whole number"):
            await a.alter_configs("t", {"segment.bytes": "1"}, validate_only=True)
    assert configs(cluster) == {"t": {}, "": {}}


def has_asked(cluster: RealCluster, count: int) -> bool:
    """Whether more than `count` brokers were asked for what they know."""
    return len(cluster.requests("DescribeCluster")) > count


async def test_altering_returns_when_every_live_broker_knows_of_it(cluster: RealCluster) -> None:
    for node_id in ADDRESSES:
        cluster.lag(node_id)
    async with admin(cluster) as a:
        altering = asyncio.create_task(a.alter_configs("t", {"segment.bytes": "1000"}))
        for node_id in ADDRESSES:
            asked = len(cluster.requests("DescribeCluster"))
            await until(partial(has_asked, cluster, asked + 4))
            assert not altering.done()
            cluster.lag(node_id, is_behind=False)
        await altering


async def test_altering_waits_for_no_broker_that_is_dead_or_fenced(cluster: RealCluster) -> None:
    cluster.kill(2)
    cluster.isolate(3)
    await cluster.fenced(2, 3)
    async with admin(cluster) as a:
        await a.alter_configs("t", {"segment.bytes": "1000"})


async def test_a_broker_that_does_not_hear_of_it_in_time_is_said(cluster: RealCluster) -> None:
    cluster.lag(3)
    async with admin(cluster, api_timeout_ms=30) as a:
        with pytest.raises(errors.KafkaError, match="not every broker knows") as caught:
            await a.alter_configs("t", {"segment.bytes": "1000"})
    assert caught.value.code == common_pb2.REQUEST_TIMED_OUT


async def test_refusals_are_raised_with_their_code(cluster: RealCluster) -> None:
    async with admin(cluster) as a:
        with pytest.raises(errors.KafkaError, match="did you mean") as caught:
            await a.alter_configs("t", {"segmnt.bytes": "1"})
        assert caught.value.code == common_pb2.INVALID_CONFIG
        for work in (a.alter_configs("no", {"flush.ms": "1"}), a.describe_configs("no")):
            with pytest.raises(errors.KafkaError, match="'no' does not exist") as caught:
                await work
            assert caught.value.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION
    assert configs(cluster) == {"t": {}, "": {}}


@pytest.mark.parametrize(
    "mishap",
    [
        Mishap("AlterConfigs", code=common_pb2.NOT_CONTROLLER, times=2),
        Mishap("AlterConfigs", error=errors.CallFailedError("broke"), times=2),
        Mishap("AlterConfigs", error=errors.CallFailedError("broke"), is_after_work=True),
    ],
    ids=["no controller leads", "no answer", "a lost answer"],
)
async def test_altering_is_tried_again(cluster: RealCluster, mishap: Mishap) -> None:
    cluster.mishaps.append(mishap)
    async with admin(cluster) as a:
        await a.alter_configs("t", {"flush.ms": "5"})
        await a.alter_configs("t", {"flush.ms": "5"})
    assert configs(cluster) == {"t": {"flush.ms": "5"}, "": {}}
    *ids, of_another = [request.command_id for request in cluster.requests("AlterConfigs")]
    assert len(ids) > 1
    assert len({*ids}) == 1, "asked again, it is the same command"
    assert len(ids[0]) == 16
    assert of_another not in ids
