"""Producing loads: many records per call, and one call per record.

The clock stops at the last acknowledgement. The first third of the records warms up and does not
count.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Literal

from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.loaded_cluster import (
    CHUNK_RECORDS,
    GIB,
    PROFILES,
    Figures,
    LoadedCluster,
    values,
)
from tidelog.client import Producer
from tidelog.client.records import BulkMetadata, RecordMetadata

MIB = 1 << 20
WARM_SHARE = 3
SINGLES_IN_FLIGHT = 10_000
"""The records in flight before a load with one call per record awaits their outcomes."""
_ACKS: dict[str, Literal["all", 1]] = {"all": "all", "1": 1}


async def produce(
    cluster: LoadedCluster,
    *,
    key: str,
    records: int,
    size_bytes: int,
    codec: str,
    acks: str,
    profile: str,
) -> Figures:
    """Produce by `submit_many`: records/s and MiB/s.

    The brokers' processor seconds per GiB cover all records sent, warm-up included.
    """
    sent = values(size_bytes)
    chunks = max(2, records // CHUNK_RECORDS)
    settings = PROFILES[profile]
    async with cluster.topic() as topic:
        before_s = cluster.cpu_s()
        async with Producer(
            cluster.bootstrap, acks=_ACKS[acks], compression=codec, **settings
        ) as producer:
            warm = max(1, chunks // WARM_SHARE)
            await _send_chunks(producer, topic, sent, warm)
            began_s = time.monotonic()
            await _send_chunks(producer, topic, sent, chunks - warm)
            took_s = time.monotonic() - began_s
        spent_s = cluster.cpu_s() - before_s
    counted = (chunks - warm) * CHUNK_RECORDS
    return {
        **rates(key, counted, size_bytes, took_s),
        f"{key}.cpu_per_gib": spent_s / (chunks * CHUNK_RECORDS * size_bytes / GIB),
    }


async def single(cluster: LoadedCluster, *, key: str, records: int, size_bytes: int) -> Figures:
    """Produce by one `submit` per record, with its outcome awaited later."""
    sent = values(size_bytes)
    async with cluster.topic() as topic, Producer(cluster.bootstrap) as producer:
        warm = records // WARM_SHARE
        await _send_singles(producer, topic, sent, warm)
        began_s = time.monotonic()
        await _send_singles(producer, topic, sent, records - warm)
        took_s = time.monotonic() - began_s
    return rates(key, records - warm, size_bytes, took_s)


def rates(key: str, records: int, size_bytes: int, took_s: float) -> Figures:
    """The rates as records/s and MiB/s."""
    return {
        f"{key}.rec_s": records / took_s,
        f"{key}.mib_s": records * size_bytes / took_s / MIB,
    }


async def _send_chunks(producer: Producer, topic: str, sent: list[bytes], chunks: int) -> None:
    outcomes: list[asyncio.Future[BulkMetadata]] = [
        await producer.submit_many(topic, sent) for _ in range(chunks)
    ]
    for outcome in outcomes:
        done = await outcome
        if done.failed:
            raise RunFailedError(f"{done.failed} records failed: {done.error}")


async def _send_singles(
    producer: Producer, topic: str, sent: Sequence[bytes], records: int
) -> None:
    left = records
    while left > 0:
        outcomes: list[asyncio.Future[RecordMetadata]] = [
            await producer.submit(topic, value=value)
            for value in sent[: min(left, SINGLES_IN_FLIGHT)]
        ]
        left -= len(outcomes)
        if left > 0:
            await outcomes[0]  # a failure raises early; the other records continue
        else:
            await asyncio.gather(*outcomes)
