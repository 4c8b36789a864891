"""Topics assigned by name: all partitions, those added later too, beside partitions by number."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer, filled, take
from tests.client.patience import PATIENCE_MS
from tests.client.real_cluster import (
    ADDRESSES,
    BOOTSTRAP,
    RealCluster,
    encoded,
    started,
)

from tidelog.client import Admin, TopicPartition, UnknownTopicOrPartitionError, errors, sync

INTERVAL_MS = 1_000


async def grow(cluster: RealCluster, name: str, total_count: int) -> None:
    async with Admin(BOOTSTRAP, transport=cluster.direct) as admin:
        await admin.create_partitions(name, total_count)
    await cluster.settle()


async def intervals(count: int = 1) -> None:
    await asyncio.sleep(count * INTERVAL_MS / 1000 + 0.5)


@pytest.mark.parametrize("given", ["t", ["t"], ("t",), ["t", "t"]])
async def test_a_topics_name_stands_for_all_its_partitions(given: Any) -> None:
    cluster = await started()
    await filled(cluster, partitions=3, batches=1)
    async with consumer(cluster) as c:
        c.assign(given)
        records = await take(c, 15)
        assert {record.partition for record in records} == {0, 1, 2}
        assert c.assignment() == {TopicPartition("t", number) for number in range(3)}
        assert await c.getmany(timeout_ms=100) == []


async def test_names_and_partitions_stand_beside_each_other() -> None:
    cluster = await started()
    await filled(cluster, partitions=2, batches=1)
    for name in ("u", "v"):
        topic = await cluster.create(name, partitions=2)
        for partition in topic.partitions:
            await partition.append(encoded([name.encode()]))
    async with consumer(cluster) as c:
        c.assign(["u", ("t", 1), ("v", 0)])
        assert c.assignment() == {TopicPartition("t", 1), TopicPartition("v", 0)}
        c.seek(("t", 1), 3)
        records = await take(c, 5)
        assert sorted((r.topic, r.partition, r.offset) for r in records) == [
            ("t", 1, 3),
            ("t", 1, 4),
            ("u", 0, 0),
            ("u", 1, 0),
            ("v", 0, 0),
        ]


async def test_partitions_added_later_are_read_from_their_first_record() -> None:
    cluster = await started()
    await filled(cluster, batches=1)
    async with consumer(cluster, auto_offset_reset="latest", metadata_max_age_ms=INTERVAL_MS) as c:
        c.assign(["t"])
        await c.position(("t", 0))
        assert await c.getmany(timeout_ms=100) == []
        await grow(cluster, "t", 3)
        await cluster.topics["t"].partitions[2].append(encoded([b"new"]))
        await intervals()
        assert [(r.partition, r.value) for r in await take(c, 1)] == [(2, b"new")]
        await cluster.topics["t"].partitions[0].append(encoded([b"old one's"]))
        assert [(r.partition, r.offset) for r in await take(c, 1)] == [(0, 5)]


async def test_partitions_by_number_are_not_added_to() -> None:
    cluster = await started()
    await filled(cluster, partitions=1, batches=1)
    await cluster.create("u")
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        c.assign([("t", 0), "u"])
        await take(c, 5)
        await grow(cluster, "t", 2)
        await intervals(2)
        assert c.assignment() == {TopicPartition("t", 0), TopicPartition("u", 0)}


async def test_methods_that_wait_find_the_partitions_of_a_name() -> None:
    cluster = await started()
    await filled(cluster, partitions=2, batches=1)
    async with consumer(cluster) as c:
        c.assign("t")
        assert await c.position(("t", 1)) == 0
        c.assign("t")
        assert await c.lag() == {TopicPartition("t", 0): 5, TopicPartition("t", 1): 5}
        c.assign("t")
        await c.tail([("t", 0)], 2)
        assert await c.position(("t", 0)) == 3
        c.assign("t")
        await c.seek_to_time({("t", 1): 1 << 50})
        assert await c.position(("t", 1)) == 5


async def test_a_seek_before_the_partitions_are_found_says_what_to_do() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign("t")
        with pytest.raises(ValueError, match=r"await position\(\)"):
            c.seek(("t", 0), 3)
        await c.position(("t", 0))
        c.seek(("t", 0), 3)
        assert [record.offset for record in await take(c, 1)] == [3]


async def test_a_topic_that_does_not_exist_is_an_error_of_each_read_until_it_is_created() -> None:
    cluster = await started()
    async with consumer(cluster) as c:
        c.assign("t")
        for _ in range(2):
            with pytest.raises(UnknownTopicOrPartitionError, match="'t' does not exist"):
                await c.getmany(timeout_ms=WAIT_MS)
        with pytest.raises(UnknownTopicOrPartitionError):
            await c.position(("t", 0))
        with pytest.raises(UnknownTopicOrPartitionError):
            await anext(aiter(c))
        await filled(cluster, batches=1)
        assert len(await take(c, 5)) == 5


async def test_an_error_of_a_name_comes_through_records_of_other_partitions() -> None:
    cluster = await started()
    await filled(cluster, batches=200)
    async with consumer(cluster) as c:
        c.assign(["nosuch", ("t", 0)])

        async def read_on() -> None:
            async for _ in c:
                await asyncio.sleep(0.01)

        with pytest.raises(UnknownTopicOrPartitionError):
            await read_on()


async def test_the_next_assignment_ends_the_look_up() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster, metadata_max_age_ms=INTERVAL_MS) as c:
        c.assign("t")
        c.assign([])
        await intervals(2)
        assert c.assignment() == set()
        with pytest.raises(errors.NothingAssignedError):
            await c.getmany()
        c.assign("t")
        await c.subscribe(pattern="nothing")
        await intervals(2)
        assert c.assignment() == set()


async def test_a_close_during_the_look_up_leaves_nothing_behind() -> None:
    cluster = await started()
    await filled(cluster)
    for address in ADDRESSES.values():
        cluster.gates[address] = asyncio.Event()
    c = consumer(cluster)
    c.assign("t")
    reading = asyncio.create_task(c.getmany(timeout_ms=PATIENCE_MS))
    positioning = asyncio.create_task(c.position(("t", 0)))
    await asyncio.sleep(0.1)
    await c.close()
    assert await reading == []
    with pytest.raises(errors.ClientClosedError):
        await positioning
    assert not cluster.tasks_of_clients()


@pytest.mark.parametrize("given", [("t", None), [0], [("t",)], [("t", 0, 1)], [None]])
async def test_what_is_neither_a_name_nor_a_partition_is_refused(given: Any) -> None:
    c = consumer(RealCluster())
    with pytest.raises(TypeError, match=r"^assign\(\) takes topics' names and partitions"):
        c.assign(given)
    await c.close()


def test_the_synchronous_consumer_takes_names_too() -> None:
    with sync.Consumer(BOOTSTRAP, transport=RealCluster()) as c:
        c.assign("t")
        with pytest.raises(errors.BootstrapRefusedError):
            c.getmany(timeout_ms=WAIT_MS)
