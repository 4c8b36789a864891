"""Producers and consumers keep nothing of a record that is done with: counted, not timed.

The brokers are in the same process and may keep what they like: only what functions of the client
allocate counts, or what those call. `tests/benchmarks/memory_bench.py` measures real processes.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer
from tests.client.real_cluster import BOOTSTRAP, RealCluster, encoded, started

import tidelog.client
from tidelog.client import Consumer, Producer, ProducerRecord

PARTITIONS = 3
WARM_RECORDS, RECORDS = 1_000, 3_000
BYTES_A_RECORD = 4.0
"""Less than any object: what a leak of one reference a record takes is eight."""

CALM_S = 0.1
"""Longer than a fetch without records takes: until then an answer is held."""
FRAMES = 6
"""Callers that are kept of each allocation: enough to find the client among them."""
COUNTED = [
    tracemalloc.Filter(
        inclusive=True,
        filename_pattern=f"{Path(tidelog.client.__file__).parent}/*",
        all_frames=True,
    ),
    # The loop keeps a timer until its time, though it was cancelled.
    *(
        tracemalloc.Filter(inclusive=False, filename_pattern=f"*/asyncio/{name}")
        for name in ("base_events.py", "events.py")
    ),
]

Round = Callable[[], Awaitable[int]]
"""Handles so many records."""


async def cluster_of_topic() -> RealCluster:
    cluster = await started()
    await cluster.create("t", partitions=PARTITIONS, replicas=1)
    return cluster


@contextmanager
def traced() -> Iterator[None]:
    tracemalloc.start(FRAMES)
    try:
        yield
    finally:
        tracemalloc.stop()


async def clients_bytes() -> int:
    """Bytes allocated by the client, and not freed when its calls are over."""
    await asyncio.sleep(CALM_S)
    gc.collect()
    found = tracemalloc.take_snapshot().filter_traces(COUNTED)
    return sum(trace.size for trace in found.traces)


async def growth(cluster: RealCluster, one_round: Round) -> float:
    """Bytes that stay allocated for each record, once everything is warm."""

    async def handle(count: int) -> tuple[int, int]:
        records = 0
        while records < count:
            records += await one_round()
            cluster.calls.clear()
        return records, await clients_bytes()

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
    cluster = await cluster_of_topic()
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


async def produce(cluster: RealCluster) -> None:
    for state in cluster.topics["t"].partitions:
        await state.append(BATCH * 2)


def lists(cluster: RealCluster, c: Consumer) -> Round:
    async def read() -> int:
        await produce(cluster)
        left = PRODUCED
        while left:
            left -= len(await c.getmany(timeout_ms=WAIT_MS))
        return PRODUCED

    return read


def batches(cluster: RealCluster, c: Consumer) -> Round:
    async def read() -> int:
        await produce(cluster)
        left = PRODUCED
        while left:
            left -= sum(len(list(one)) for one in await c.getbatches(timeout_ms=WAIT_MS))
        return PRODUCED

    return read


def iteration(cluster: RealCluster, c: Consumer) -> Round:
    records = aiter(c)

    async def read() -> int:
        await produce(cluster)
        for _ in range(PRODUCED):
            await anext(records)
        return PRODUCED

    return read


@pytest.mark.parametrize("way", [lists, batches, iteration])
async def test_a_consumer_keeps_nothing_of_a_record(
    way: Callable[[RealCluster, Consumer], Round],
) -> None:
    cluster = await cluster_of_topic()
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

    cluster = await cluster_of_topic()
    async with Producer(BOOTSTRAP, transport=cluster, interceptors=[Hoarder()]) as producer:
        stays = await growth(cluster, many(producer))
    assert stays > BYTES_A_RECORD
    assert len(kept) >= WARM_RECORDS + RECORDS
