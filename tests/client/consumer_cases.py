"""What tests of the consumer share: a consumer of a cluster, topics to read, ways to read."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.client.real_cluster import BOOTSTRAP, RealCluster, encoded
from tests.client.real_topics import RealTopic

from tidelog.client import Consumer, Record
from tidelog.net.transport import Transport

WAIT_MS = 5_000


def consumer(cluster: Transport, **options: Any) -> Consumer:  # options of Consumer
    options = {
        "retry_backoff_ms": 1,
        "retry_backoff_max_ms": 5,
        "fetch_max_wait_ms": 20,
        **options,
    }
    return Consumer(BOOTSTRAP, transport=cluster, **options)


async def filled(
    cluster: RealCluster, *, partitions: int = 1, batches: int = 4, replicas: int = 3
) -> RealTopic:
    """Topic t with batches of five records whose values are their offsets."""
    topic = await cluster.create("t", partitions=partitions, replicas=replicas)
    whole = [encoded([b"%d" % (5 * number + n) for n in range(5)]) for number in range(batches)]
    for state in topic.partitions:
        await state.append(b"".join(whole))
    return topic


async def take(c: Consumer, count: int) -> list[Record]:
    """The next `count` records."""
    records: list[Record] = []
    async with asyncio.timeout(WAIT_MS / 1000):
        while len(records) < count:
            records += await c.getmany(timeout_ms=WAIT_MS, max_records=count - len(records))
    return records


async def turns(count: int) -> None:
    """Let everything that is ready run, so often."""
    for _ in range(count):
        await asyncio.sleep(0)
