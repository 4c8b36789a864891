"""A consumer without partitions says so, whichever way it is read, instead of waiting for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer, filled, take, turns
from tests.client.real_cluster import BOOTSTRAP, RealCluster, encoded, started
from tests.client.topic_changes import add_partitions

from tidelog.client import Consumer, errors, sync

READS: dict[str, Callable[[Consumer], Awaitable[object]]] = {
    "getmany": lambda c: c.getmany(timeout_ms=WAIT_MS),
    "getmany, at once": lambda c: c.getmany(),
    "getbatches": lambda c: c.getbatches(timeout_ms=WAIT_MS),
    "iteration": lambda c: anext(aiter(c)),
}


@pytest.mark.parametrize("how", READS)
async def test_reading_without_an_assignment_is_refused(how: str) -> None:
    async with consumer(RealCluster()) as c:
        with pytest.raises(errors.NothingAssignedError, match="call assign first"):
            await READS[how](c)


@pytest.mark.parametrize("how", READS)
async def test_reading_goes_on_after_an_assignment_and_not_after_an_empty_one(how: str) -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        with pytest.raises(errors.NothingAssignedError):
            await READS[how](c)
        c.assign([("t", 0)])
        assert len(await c.getmany(timeout_ms=WAIT_MS)) > 0
        c.assign([])
        with pytest.raises(errors.NothingAssignedError):
            await READS[how](c)


async def test_a_read_that_waits_learns_that_its_partitions_were_taken_back() -> None:
    cluster = await started()
    await cluster.create("t")
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        reading = asyncio.create_task(c.getmany(timeout_ms=WAIT_MS))
        await turns(50)
        assert not reading.done()
        c.assign([])
        await turns(50)
        assert reading.done()
        with pytest.raises(errors.NothingAssignedError):
            await reading


async def test_paused_partitions_are_assigned() -> None:
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        c.pause(("t", 0))
        assert await c.getmany() == []


def test_synchronous_consumer_is_refused_the_same_way() -> None:
    with sync.Consumer(BOOTSTRAP, transport=RealCluster()) as consumer:
        with pytest.raises(errors.NothingAssignedError):
            next(iter(consumer))
        with pytest.raises(errors.NothingAssignedError):
            consumer.getmany(timeout_ms=WAIT_MS)


async def test_a_partition_that_is_newer_than_the_metadata_is_read() -> None:
    """Metadata ages for five minutes; who was told of a new partition may read it before."""
    cluster = await started()
    await filled(cluster)
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        await take(c, 20)
        await add_partitions(cluster, "t", 1)
        await cluster.topics["t"].partitions[1].append(encoded([b"new"]))
        c.assign([("t", 1)])
        assert [one.value for one in await take(c, 1)] == [b"new"]
