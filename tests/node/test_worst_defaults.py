"""Groups of both protocols and transactions, where the cluster's defaults are at their worst.

The defaults come from the table of configs: each key at each edge of what is legal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.client.group_consumers import consumer, read
from tests.client.patience import until
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started
from tests.node.group_calls import GroupCalls
from tests.node.test_classic_groups import settled

from tidelog.client import Admin, Producer, TopicPartition
from tidelog.core.errors import KafkaError
from tidelog.core.internal_topics import INTERNAL_TOPICS
from tidelog.log.config import TOPIC_CONFIGS, log_config

WORLDS = range(max(len(key.type.extremes) for key in TOPIC_CONFIGS.values()))
DEFAULTS = {name: key.default_text for name, key in TOPIC_CONFIGS.items()}
"""The topic of the test states them all: its records are not what is tried."""


def worst(world: int) -> Mapping[str, str]:
    """Every key at an edge, but for the few that contradict another one there."""
    found: dict[str, str] = {}
    for name, key in TOPIC_CONFIGS.items():
        tried = {**found, name: key.type.extremes[world % len(key.type.extremes)]}
        try:
            log_config(tried)
        except KafkaError:
            continue
        found = tried
    return found


async def at_worst(world: int) -> RealCluster:
    cluster = await started()
    async with Admin(BOOTSTRAP, transport=cluster) as admin:
        await admin.alter_configs(None, worst(world))
    await cluster.settle()
    await cluster.create("orders", partitions=4, **dict[str, Any](DEFAULTS))
    return cluster


def producer(cluster: RealCluster) -> Producer:
    return Producer(BOOTSTRAP, transport=cluster, transactional_id="id", retry_backoff_ms=5)


async def pay(sender: Producer, text: bytes) -> None:
    """Send a record to each partition, in one transaction."""
    async with sender.transaction():
        for partition in range(4):
            await sender.send("orders", text, partition=partition)


async def fail(sender: Producer) -> None:
    async with sender.transaction():
        await sender.send("orders", b"void", partition=0)
        raise KeyError


def test_the_worlds_have_every_key_at_every_edge() -> None:
    seen = {one for world in WORLDS for one in worst(world).items()}
    edges = {(name, one) for name, key in TOPIC_CONFIGS.items() for one in key.type.extremes}
    assert edges - seen <= {("max.compaction.lag.ms", "1")}, "contradicts the longest least lag"


@pytest.mark.parametrize("world", WORLDS)
async def test_groups_and_transactions_work(world: int) -> None:
    cluster = await at_worst(world)
    async with producer(cluster) as sender:
        await pay(sender, b"one")
        with pytest.raises(KeyError):
            await fail(sender)
        await pay(sender, b"two")
    options = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    async with consumer(cluster, "new", **options) as reader:
        await reader.subscribe(["orders"])
        found = await read(reader, 8)
        assert sorted(one.value for one in found) == [b"one"] * 4 + [b"two"] * 4
        await reader.commit()
    calls = GroupCalls(cluster)
    members = await settled(calls, 2)
    own: dict[str, Any] = {"member_id": members[0].member_id, "epoch": members[0].generation}
    assert await calls.commit({("orders", 0): 2}, **own) == ["NONE"]
    for node_id in ADDRESSES:  # what was committed is still there when every coordinator has moved
        cluster.kill(node_id)
        await cluster.failed_over()
        await cluster.start(node_id)
    await cluster.settle()
    assert await calls.committed() == {("orders", 0): 2}
    assert len((await calls.describe()).members) == 2
    committed = await GroupCalls(cluster, "new").committed()
    assert len(committed) == 4
    async with producer(cluster) as sender:
        await pay(sender, b"three")


async def test_an_acknowledged_commit_is_whole_though_unclean_elections_are_the_default() -> None:
    """The third replica of the coordinator lags while both others acknowledge, and end."""
    world = next(one for one in WORLDS if worst(one)["unclean.leader.election.enable"] == "true")
    cluster = await at_worst(world)
    await cluster.configure("orders", min_insync_replicas=2, unclean_leader_election_enable=False)
    async with producer(cluster) as sender:
        await pay(sender, b"first")
        lagging = 3
        cluster.isolate(lagging)
        await cluster.fenced(lagging)
        await pay(sender, b"paid")
        for node_id in (1, 2):
            cluster.kill(node_id)
        await cluster.fenced(1, 2)
        cluster.rejoin(lagging)
        await until(lambda: not cluster.image.brokers[lagging].is_fenced)
        for name in INTERNAL_TOPICS & cluster.image.topics.keys():
            for partition in cluster.image.topics[name].partitions:
                assert partition.leader_id is None, "it lacks what was acknowledged"
        for node_id in (1, 2):
            await cluster.start(node_id)
        await cluster.failed_over()
        await pay(sender, b"last")
    options = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    async with consumer(cluster, **options) as reader:
        reader.assign([TopicPartition("orders", number) for number in range(4)])
        found = await read(reader, 12)
    assert sorted(one.value for one in found) == [b"first"] * 4 + [b"last"] * 4 + [b"paid"] * 4
