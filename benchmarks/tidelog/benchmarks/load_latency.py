"""Latency loads: records at a fixed rate, one after the other, and through to the consumer."""

from __future__ import annotations

import asyncio
import time

from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.loaded_cluster import Figures, LoadedCluster, percentiles, values
from tidelog.client import Consumer, Producer
from tidelog.client.records import RecordMetadata

RATE_PER_S = 1_000
SIZE_BYTES = 1 << 10
WARM_S = 3.0
WARM_SHARE = 10
WAIT_MS = 10_000


async def latency(cluster: LoadedCluster, *, key: str, seconds: float, sends: int) -> Figures:
    """The three latencies in milliseconds, with values of 1 KiB; the first records warm up."""
    del key
    return {
        **percentiles("rate", await _at_a_rate(cluster, WARM_S + seconds)),
        **percentiles("alone", await _alone(cluster, sends)),
        **percentiles("there", await _to_the_consumer(cluster, sends)),
    }


async def _at_a_rate(cluster: LoadedCluster, seconds: float) -> list[float]:
    """Send to acknowledgement, at a fixed rate whether or not earlier records are acknowledged."""
    took_s: list[float] = []
    failed: list[BaseException] = []
    (value,) = values(SIZE_BYTES, 1)

    async with cluster.topic() as topic, Producer(cluster.bootstrap) as producer:

        async def send_one() -> None:
            sent_s = time.perf_counter()
            outcome = await producer.submit(topic, value=value)

            def note(done: asyncio.Future[RecordMetadata]) -> None:
                took_s.append(time.perf_counter() - sent_s)
                error = done.exception()
                if error is not None:
                    failed.append(error)

            outcome.add_done_callback(note)

        await send_one()
        began_s = time.perf_counter()
        for count in range(int(RATE_PER_S * seconds)):
            left_s = began_s + count / RATE_PER_S - time.perf_counter()
            if left_s > 0:
                await asyncio.sleep(left_s)
            await send_one()
        await producer.flush()
        await asyncio.sleep(0)
    if failed:
        raise RunFailedError(f"{len(failed)} records failed: {failed[0]}")
    return took_s[int(RATE_PER_S * WARM_S) :]


async def _alone(cluster: LoadedCluster, sends: int) -> list[float]:
    """Send to acknowledgement, one record after the other."""
    took_s: list[float] = []
    (value,) = values(SIZE_BYTES, 1)
    async with cluster.topic() as topic, Producer(cluster.bootstrap) as producer:
        for _ in range(sends):
            sent_s = time.perf_counter()
            await producer.send(topic, value=value)
            took_s.append(time.perf_counter() - sent_s)
    return took_s[sends // WARM_SHARE :]


async def _to_the_consumer(cluster: LoadedCluster, sends: int) -> list[float]:
    """Send to receipt by the consumer, one record at a time, as Kafka's EndToEndLatency does."""
    took_s: list[float] = []
    (value,) = values(SIZE_BYTES, 1)
    async with (
        cluster.topic(partitions=1) as topic,
        Producer(cluster.bootstrap) as producer,
        Consumer(cluster.bootstrap) as consumer,
    ):
        consumer.assign([(topic, 0)])
        for _ in range(sends):
            sent_s = time.perf_counter()
            await producer.send(topic, value=value)
            if not await consumer.getmany(timeout_ms=WAIT_MS, max_records=1):
                raise RunFailedError("a record did not reach the consumer")
            took_s.append(time.perf_counter() - sent_s)
    return took_s[sends // WARM_SHARE :]
