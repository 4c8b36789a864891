# pyright: strict
"""Logs and metrics of several hosts, collected by topics.

    python docs/examples/log_collection.py [127.0.0.1:9192]

An agent on each host sends lines and measurements. It must never hold up the program it reports on,
so its buffer is small, waits for nobody and counts what it drops; full batches are compressed. The
host is the key, so that a host's lines stay in order. Two readers use the same records
independently: one counts errors, one averages. Logs may go after a day (`retention.ms`),
measurements after an hour.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter, defaultdict
from statistics import fmean
from uuid import uuid4

from tidelog.client import (
    Admin,
    Consumer,
    NewTopic,
    Producer,
    Record,
    TopicPartition,
    errors,
    require_all,
)

DAY_MS, HOUR_MS = 86_400_000, 3_600_000


class Agent:
    """The sender of a host; `dropped` counts what found no room."""

    def __init__(self, host: str, producer: Producer[bytes, bytes]) -> None:
        self.host, self.producer, self.dropped = host, producer, 0

    async def report(self, topic: str, **fields: str | float) -> None:
        """Hand one report to the producer; do not wait until it is stored."""
        try:
            await self.producer.submit(topic, json.dumps(fields).encode(), self.host.encode())
        except errors.BufferExhaustedError:
            self.dropped += 1


async def send(bootstrap: str, logs: str, metrics: str) -> int:
    """Some seconds of two hosts; return the number of reports that were dropped."""
    async with Producer(
        bootstrap, linger_ms=50, compression="zstd", buffer_memory=4 << 20, max_block_ms=0
    ) as producer:
        await producer.partitions_for(logs)  # max_block_ms=0 waits for no metadata either
        await producer.partitions_for(metrics)
        agents = [Agent("web-1", producer), Agent("web-2", producer)]
        for second in range(100):
            for agent in agents:
                level = "ERROR" if second % 10 == 0 and agent.host == "web-2" else "INFO"
                await agent.report(logs, level=level, line=f"GET /boats/{second}")
                await agent.report(metrics, cpu=50.0 if agent.host == "web-1" else second % 2)
        return sum(agent.dropped for agent in agents)


async def read_all(bootstrap: str, topic: str) -> list[Record[bytes | None, bytes | None]]:
    """Every record that the topic holds now."""
    found: list[Record[bytes | None, bytes | None]] = []
    async with Consumer[bytes | None, bytes | None](bootstrap) as consumer:
        partitions = await consumer.partitions_for(topic)
        consumer.assign([TopicPartition(topic, number) for number in partitions])
        while any((await consumer.lag()).values()):
            found += await consumer.getmany(timeout_ms=1_000)
    return found


async def count_errors(bootstrap: str, topic: str) -> Counter[str]:
    """Lines with level ERROR by host."""
    counts: Counter[str] = Counter()
    for record in await read_all(bootstrap, topic):
        if json.loads(record.value or b"{}").get("level") == "ERROR":
            counts[(record.key or b"").decode()] += 1
    return counts


async def average(bootstrap: str, topic: str) -> dict[str, float]:
    """Mean load by host."""
    loads: dict[str, list[float]] = defaultdict(list)
    for record in await read_all(bootstrap, topic):
        loads[(record.key or b"").decode()].append(json.loads(record.value or b"{}")["cpu"])
    return {host: fmean(of_host) for host, of_host in sorted(loads.items())}


async def main(bootstrap: str) -> None:
    """Make both topics, send, evaluate, and delete them again."""
    logs, metrics = (f"{kind}-{uuid4().hex[:8]}" for kind in ("logs", "metrics"))
    async with Admin(bootstrap) as admin:
        require_all(
            await admin.create_topics(
                [
                    NewTopic(logs, partitions=2, configs={"retention.ms": str(DAY_MS)}),
                    NewTopic(metrics, partitions=2, configs={"retention.ms": str(HOUR_MS)}),
                ]
            )
        )
        try:
            dropped = await send(bootstrap, logs, metrics)
            found, loads = await asyncio.gather(
                count_errors(bootstrap, logs), average(bootstrap, metrics)
            )
        finally:
            await admin.delete_topics([logs, metrics])
    print(f"dropped: {dropped}; errors by host: {dict(found)}; load by host: {loads}")
    assert dropped == 0
    assert found == {"web-2": 10}
    assert loads == {"web-1": 50.0, "web-2": 0.5}


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
