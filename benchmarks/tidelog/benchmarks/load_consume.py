"""Consuming loads: whole batches whose records are then iterated, and one record at a time.

Every value is touched. The clock runs from the first records to the last, as on the peer's side,
where the time to join a group is not counted.
"""

from __future__ import annotations

import time

from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.load_produce import rates
from tidelog.benchmarks.loaded_cluster import (
    CHUNK_RECORDS,
    PARTITIONS,
    PROFILES,
    Figures,
    LoadedCluster,
    values,
)
from tidelog.client import Consumer, Producer

WAIT_MS = 20_000


async def consume(cluster: LoadedCluster, *, key: str, records: int, size_bytes: int) -> Figures:
    """Fill a topic and read it twice: by batches and record by record."""
    chunks = max(1, records // CHUNK_RECORDS)
    async with cluster.topic() as topic:
        await _fill(cluster.bootstrap, topic, size_bytes, chunks)
        expected = chunks * CHUNK_RECORDS
        await _batches(cluster.bootstrap, topic, expected // 3)  # warms both sides up
        batches_s = await _batches(cluster.bootstrap, topic, expected)
        single_s = await _single(cluster.bootstrap, topic, expected)
    return {
        **rates(f"{key}.batches", expected, size_bytes, batches_s),
        **rates(f"{key}.single", expected, size_bytes, single_s),
    }


async def _fill(bootstrap: str, topic: str, size_bytes: int, chunks: int) -> None:
    sent = values(size_bytes)
    async with Producer(bootstrap, **PROFILES["tuned"]) as producer:
        for _ in range(chunks):
            done = await producer.send_many(topic, sent)
            if done.failed:
                raise RunFailedError(f"{done.failed} records failed: {done.error}")


async def _batches(bootstrap: str, topic: str, expected: int) -> float:
    """The seconds to read `expected` records by `getbatches`."""
    async with Consumer(bootstrap) as consumer:
        consumer.assign([(topic, partition) for partition in range(PARTITIONS)])
        taken = await consumer.getbatches(timeout_ms=WAIT_MS)
        began_s, got, total_bytes = time.monotonic(), 0, 0
        while got < expected:
            if not taken:
                raise RunFailedError(f"only {got} of {expected} records arrived")
            for batch in taken:
                got += len(batch)
                total_bytes += sum([len(record.value or b"") for record in batch])
            taken = [] if got >= expected else await consumer.getbatches(timeout_ms=WAIT_MS)
        took_s = time.monotonic() - began_s
    if not total_bytes:
        raise RunFailedError("all records were empty")
    return took_s


async def _single(bootstrap: str, topic: str, expected: int) -> float:
    """The seconds to read `expected` records by `async for`."""
    async with Consumer(bootstrap) as consumer:
        consumer.assign([(topic, partition) for partition in range(PARTITIONS)])
        began_s, got, total_bytes = 0.0, 0, 0
        async for record in consumer:
            if not got:
                began_s = time.monotonic()
            got += 1
            total_bytes += len(record.value or b"")
            if got >= expected:
                break
        return time.monotonic() - began_s
