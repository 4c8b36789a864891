"""Subscriptions: all partitions of topics by name or by pattern, and those added later."""

from __future__ import annotations

import asyncio
import re

import pytest
from tests.client.consumer_cases import consumer, filled, take
from tests.client.real_cluster import ADDRESSES, RealCluster, encoded, started
from tests.client.topic_changes import add_partitions

from tidelog.client import TopicPartition, UnknownTopicOrPartitionError

INTERVAL_MS = 1_000


async def intervals(count: int = 1) -> None:
    """Virtual time in which a subscription looks so often."""
    await asyncio.sleep(count * INTERVAL_MS / 1000 + 0.5)


async def create(cluster: RealCluster, name: str, value: bytes) -> None:
    """A topic of one partition that holds a record."""
    topic = await cluster.create(name)
    await topic.partitions[0].append(encoded([value]))


async def test_a_subscription_reads_all_partitions_of_its_topics() -> None:
    cluster = await started()
    await filled(cluster, partitions=2, batches=1)
    await create(cluster, "u", b"u")
    await create(cluster, "v", b"v")
    async with consumer(cluster) as c:
        await c.subscribe(["t", "u"])
        records = await take(c, 11)
        assert {r.topic for r in records} == {"t", "u"}
        assert await c.getmany(timeout_ms=100) == []


async def test_partitions_added_later_are_read_from_their_first_record() -> None:
    cluster = await started()
    await create(cluster, "t", b"old")
    async with consumer(cluster, auto_offset_reset="latest", metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(["t"])
        assert await c.getmany(timeout_ms=100) == []
        await add_partitions(cluster, "t", 2)
        await cluster.topics["t"].partitions[1].append(encoded([b"new"]))
        await intervals()
        assert [(r.partition, r.value) for r in await take(c, 1)] == [(1, b"new")]


async def test_known_partitions_keep_their_positions_when_others_are_added() -> None:
    cluster = await started()
    await filled(cluster, batches=1)
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(["t"])
        await take(c, 5)
        await add_partitions(cluster, "t", 2)
        await intervals()
        assert c.assignment() == {TopicPartition("t", 0), TopicPartition("t", 1)}
        assert await c.position(("t", 0)) == 5
        assert await c.getmany(timeout_ms=100) == []


async def test_a_pattern_takes_topics_when_they_appear_and_leaves_them_when_they_go() -> None:
    cluster = await started()
    await create(cluster, "other", b"no")
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(pattern=r"orders\.")
        assert await c.getmany(timeout_ms=100) == []
        await create(cluster, "orders.eu", b"eu")
        await create(cluster, "my-orders.eu", b"no")
        await intervals()
        assert [r.value for r in await take(c, 1)] == [b"eu"]
        await cluster.delete("orders.eu")
        await intervals(2)
        assert c.assignment() == set()


async def test_a_broker_that_lags_behind_takes_no_partition_away() -> None:
    cluster = await started()
    cluster.lag(2)
    await cluster.create("t1")
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        cluster.cut_off.add(ADDRESSES[2])
        await c.subscribe(pattern=re.compile("t"))
        assert c.assignment() == {TopicPartition("t1", 0)}
        cluster.cut_off = {ADDRESSES[1], ADDRESSES[3]}
        cluster.calls.clear()
        await intervals(3)
        assert cluster.requests("Metadata"), "it was asked"
        assert c.assignment() == {TopicPartition("t1", 0)}


async def test_a_silent_cluster_ends_no_subscription() -> None:
    cluster = await started()
    await cluster.create("t")
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(["t"])
        cluster.cut_off.update(ADDRESSES.values())
        await intervals(2)
        cluster.cut_off.clear()
        await add_partitions(cluster, "t", 2)
        await intervals()
        assert TopicPartition("t", 1) in c.assignment()


async def test_an_assignment_ends_the_subscription() -> None:
    cluster = await started()
    await cluster.create("t", partitions=2)
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        await c.subscribe(["t"])
        c.assign([("t", 0)])
        await add_partitions(cluster, "t", 2)
        await intervals(3)
        assert c.assignment() == {TopicPartition("t", 0)}


async def test_a_named_topic_must_exist_and_names_exclude_a_pattern() -> None:
    cluster = await started()
    async with consumer(cluster) as c:
        with pytest.raises(UnknownTopicOrPartitionError):
            await c.subscribe(["nosuch"])
        with pytest.raises(ValueError, match="one of the two"):
            await c.subscribe()
        with pytest.raises(ValueError, match="one of the two"):
            await c.subscribe(["t"], pattern="t")
