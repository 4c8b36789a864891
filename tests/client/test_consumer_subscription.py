"""Subscriptions: all partitions of topics by name or by pattern, and those added later."""

from __future__ import annotations

import asyncio
import re

import pytest
from tests.client.consumer_cases import consumer, take
from tests.client.fake_cases import fake_filled
from tests.client.fake_cluster import FakeCluster, encoded
from tests.client.fake_partition import FakePartition

from tidelog.client import TopicPartition, UnknownTopicOrPartitionError

INTERVAL_MS = 1_000


async def intervals(count: int = 1) -> None:
    """Virtual time in which a subscription looks so often."""
    await asyncio.sleep(count * INTERVAL_MS / 1000 + 0.5)


async def test_a_subscription_reads_all_partitions_of_its_topics() -> None:
    cluster = FakeCluster()
    fake_filled(cluster, partitions=2, batches=1)
    cluster.create("u").partitions[0].append(encoded([b"u"]))
    cluster.create("v").partitions[0].append(encoded([b"v"]))
    async with consumer(cluster) as c:
        await c.subscribe(["t", "u"])
        records = await take(c, 11)
        assert {r.topic for r in records} == {"t", "u"}
        assert await c.getmany(timeout_ms=100) == []


async def test_partitions_added_later_are_read_from_their_first_record() -> None:
    cluster = FakeCluster()
    topic = cluster.create("t")
    topic.partitions[0].append(encoded([b"old"]))
    async with consumer(cluster, auto_offset_reset="latest", metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(["t"])
        assert await c.getmany(timeout_ms=100) == []
        topic.partitions.append(FakePartition(2))
        topic.partitions[1].append(encoded([b"new"]))
        await intervals()
        assert [(r.partition, r.value) for r in await take(c, 1)] == [(1, b"new")]


async def test_known_partitions_keep_their_positions_when_others_are_added() -> None:
    cluster = FakeCluster()
    topic = fake_filled(cluster, batches=1)
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(["t"])
        await take(c, 5)
        topic.partitions.append(FakePartition(2))
        await intervals()
        assert c.assignment() == {TopicPartition("t", 0), TopicPartition("t", 1)}
        assert await c.position(("t", 0)) == 5
        assert await c.getmany(timeout_ms=100) == []


async def test_a_pattern_takes_topics_when_they_appear_and_leaves_them_when_they_go() -> None:
    cluster = FakeCluster()
    cluster.create("other").partitions[0].append(encoded([b"no"]))
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(pattern=r"orders\.")
        assert await c.getmany(timeout_ms=100) == []
        cluster.create("orders.eu").partitions[0].append(encoded([b"eu"]))
        cluster.create("my-orders.eu").partitions[0].append(encoded([b"no"]))
        await intervals()
        assert [r.value for r in await take(c, 1)] == [b"eu"]
        del cluster.topics["orders.eu"]
        await intervals(2)
        assert c.assignment() == set()


async def test_a_broker_that_lags_behind_takes_no_partition_away() -> None:
    cluster = FakeCluster()
    cluster.create("t1")
    cluster.metadata_offset = 7
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(pattern=re.compile("t"))
        gone = cluster.topics.pop("t1")
        cluster.metadata_offset = 6
        await intervals(3)
        assert c.assignment() == {TopicPartition("t1", 0)}
        cluster.topics["t1"] = gone


async def test_a_silent_cluster_ends_no_subscription() -> None:
    cluster = FakeCluster()
    topic = cluster.create("t")
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(["t"])
        cluster.alive = dict.fromkeys(cluster.alive, False)
        await intervals(2)
        cluster.alive = dict.fromkeys(cluster.alive, True)
        topic.partitions.append(FakePartition(2))
        await intervals()
        assert TopicPartition("t", 1) in c.assignment()


async def test_an_assignment_ends_the_subscription() -> None:
    cluster = FakeCluster()
    topic = cluster.create("t", partitions=2)
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(["t"])
        c.assign([("t", 0)])
        topic.partitions.append(FakePartition(2))
        await intervals(3)
        assert c.assignment() == {TopicPartition("t", 0)}


async def test_a_named_topic_must_exist_and_names_exclude_a_pattern() -> None:
    async with consumer(FakeCluster()) as c:
        with pytest.raises(UnknownTopicOrPartitionError):
            await c.subscribe(["nosuch"])
        with pytest.raises(ValueError, match="one of the two"):
            await c.subscribe()
        with pytest.raises(ValueError, match="one of the two"):
            await c.subscribe(["t"], pattern="t")
