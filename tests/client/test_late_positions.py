"""Positions that become fetchable beside a long poll of their leader do not wait it out."""

from __future__ import annotations

import asyncio

from tests.client.consumer_cases import consumer, turns
from tests.client.real_cluster import RealCluster, encoded, started

from tidelog.client import Consumer, TopicPartition
from tidelog.client.consuming.long_polls import LONG_POLL_MS_MIN

LONG_POLL_MS = 60_000
LED_BY_ONE = [TopicPartition(topic, 0) for topic in ("a", "b")]


def now_ms() -> float:
    return 1000 * asyncio.get_running_loop().time()


async def polling(c: Consumer, cluster: RealCluster) -> None:
    """Let the consumer's polls reach their leaders, and find nothing."""
    asked = -1
    while asked != len(cluster.requests("Fetch")):
        asked = len(cluster.requests("Fetch"))
        assert await c.getmany(timeout_ms=5) == []
        await turns(20)


async def test_a_position_that_becomes_fetchable_beside_a_long_poll_does_not_wait_it_out() -> None:
    cluster = await started()
    topic = await cluster.create("t", partitions=1)
    late = await cluster.create("late", partitions=1)
    assert topic.partitions[0].leader_id == late.partitions[0].leader_id
    async with consumer(cluster, fetch_max_wait_ms=LONG_POLL_MS) as c:
        c.assign([("t", 0)])
        await polling(c, cluster)
        began_ms = now_ms()
        c.assign([("t", 0), ("late", 0)])
        await late.partitions[0].append(encoded([b"x"]))
        assert [record.value for record in await c.getmany(timeout_ms=LONG_POLL_MS)] == [b"x"]
        assert now_ms() - began_ms < LONG_POLL_MS / 10


async def test_positions_that_come_one_by_one_send_few_polls_again() -> None:
    cluster = await started()
    count = 40
    topics = [f"t{number}" for number in range(count)]
    for name in topics:
        await cluster.create(name, partitions=1)
    async with consumer(cluster, fetch_max_wait_ms=LONG_POLL_MS) as c:
        for number in range(count):
            c.assign([(name, 0) for name in topics[: number + 1]])
            await asyncio.sleep(0.001)
        await polling(c, cluster)
        polls = len(cluster.requests("Fetch"))
        assert polls <= 3 * (2 + count // LONG_POLL_MS_MIN), "each leader's, at its least age"
