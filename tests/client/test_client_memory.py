"""Producers and consumers keep nothing of a record that is done with: counted, not timed.

The fake cluster forgets after each round what it stored and what it was asked, so that what is left
was left by the client. `tests/benchmarks/memory_bench.py` measures real processes.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer
from tests.client.fake_cluster import BOOTSTRAP, FakeCluster, encoded

from tidelog.client import Consumer, Producer, ProducerRecord

PARTITIONS = 3
WARM_RECORDS, RECORDS = 1_000, 3_000
BYTES_A_RECORD = 4.0
"""Less than any object: what a leak of one reference a record takes is eight."""

Round = Callable[[], Awaitable[int]]
"""Handles so many records."""


def cluster_of_topic() -> FakeCluster:
    cluster = FakeCluster()
    cluster.create("t", partitions=PARTITIONS)
    return cluster


def forget(cluster: FakeCluster) -> None:
    """What was stored is below the log start now; what was asked was not."""
    cluster.calls.clear()
    for state in cluster.topics["t"].partitions:
        state.start_offset = state.end_offset
        state.batches.clear()


@contextmanager
def traced() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


async def growth(cluster: FakeCluster, one_round: Round) -> float:
    """Bytes that stay allocated for each record, once everything is warm."""

    async def handle(count: int) -> tuple[int, int]:
        records = 0
        while records < count:
            records += await one_round()
            forget(cluster)
        gc.collect()
        return records, tracemalloc.get_traced_memory()[0]

    with traced():
        _, before = await handle(WARM_RECORDS)
        records, after = await handle(RECORDS)
    return (after - before) / records


def many(producer: Producer) -> Round:
    async def send() -> int:
        sent = await producer.send_many("t", [b"v" * 100] * 500, keys=[b"k%d" % 7] * 500)
        return sent.acknowledged

    return send


def one_by_one(producer: Producer) -> Round:
    async def send() -> int:
        headers = [("h", b"x")]
        sends = (producer.send("t", value=b"v" * 100, headers=headers) for _ in range(200))
        return len(await asyncio.gather(*sends))

    return send


@pytest.mark.parametrize(
    ("way", "compression", "is_idempotent"),
    [
        (many, "none", True),
        (many, "lz4", False),
        (one_by_one, "lz4", True),
    ],
)
async def test_a_producer_keeps_nothing_of_a_record(
    way: Callable[[Producer], Round], compression: str, is_idempotent: bool
) -> None:
    cluster = cluster_of_topic()
    async with Producer(
        BOOTSTRAP,
        transport=cluster,
        compression=compression,
        enable_idempotence=is_idempotent,
        batch_size=16 << 10,
    ) as producer:
        stays = await growth(cluster, way(producer))
    assert stays < BYTES_A_RECORD


BATCH = encoded([b"v" * 100] * 200)
PRODUCED = PARTITIONS * 2 * 200


def produce(cluster: FakeCluster) -> None:
    for state in cluster.topics["t"].partitions:
        for _ in range(2):
            state.append(BATCH)


def lists(cluster: FakeCluster, c: Consumer) -> Round:
    async def read() -> int:
        produce(cluster)
        left = PRODUCED
        while left:
            left -= len(await c.getmany(timeout_ms=WAIT_MS))
        return PRODUCED

    return read


def batches(cluster: FakeCluster, c: Consumer) -> Round:
    async def read() -> int:
        produce(cluster)
        left = PRODUCED
        while left:
            left -= sum(len(list(one)) for one in await c.getbatches(timeout_ms=WAIT_MS))
        return PRODUCED

    return read


def iteration(cluster: FakeCluster, c: Consumer) -> Round:
    records = aiter(c)

    async def read() -> int:
        produce(cluster)
        for _ in range(PRODUCED):
            await anext(records)
        return PRODUCED

    return read


@pytest.mark.parametrize("way", [lists, batches, iteration])
async def test_a_consumer_keeps_nothing_of_a_record(
    way: Callable[[FakeCluster, Consumer], Round],
) -> None:
    cluster = cluster_of_topic()
    async with consumer(cluster) as c:
        c.assign([("t", partition) for partition in range(PARTITIONS)])
        stays = await growth(cluster, way(cluster, c))
    assert stays < BYTES_A_RECORD


async def test_one_reference_a_record_is_seen() -> None:
    kept: list[object] = []

    class Hoarder:
        def on_send(self, record: ProducerRecord, /) -> ProducerRecord:
            kept.append(None)
            return record

        def on_acknowledgement(self, metadata: object, error: object, /) -> None: ...

    cluster = cluster_of_topic()
    async with Producer(BOOTSTRAP, transport=cluster, interceptors=[Hoarder()]) as producer:
        stays = await growth(cluster, many(producer))
    assert stays > BYTES_A_RECORD
