"""A soak of Kafka's protocol: confluent-kafka's clients while nodes get kill -9, by a seed.

    python -m tests.benchmarks.kafka_soak --minutes 10 --seed 1

Three nodes of its own on free ports, in a folder that goes away. Idempotent producers and a
consumer that reads along are one other process (`kafka_soak_clients.py`), on the listeners of
Kafka's protocol. Every minute a node gets SIGKILL and is started again some seconds later; before
the next kill all replicas are in sync.

In the end everything is read back by our consumer. The last line is one JSON object. Exit code 1
when an acknowledged record is missing, not where it was acknowledged, there twice or out of its
producer's order; when anything is there that nobody sent; when the consumer along the way read
anything else; when a producer met an error, or was not told what became of a record;
when replicas did not get in sync; or when a node's memory is not bounded.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.soak import (
    FINISH_S,
    TOPICS,
    Sampler,
    Striker,
    read_back,
    run_soak,
)
from tests.benchmarks.soak_ledger import VIOLATIONS, Digest, Ledger
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, NewTopic, require_all

KILL_EVERY_S = 60.0


class Killer(Striker):
    """Kills a node a minute, by a seed, and starts it again."""

    async def run(self, until_s: float) -> None:
        """Until that time of the monotonic clock; ends with all replicas in sync."""
        await self.heal()
        next_s = time.monotonic() + KILL_EVERY_S / 2
        while not self.unhealed and next_s < until_s:
            await asyncio.sleep(max(0.0, next_s - time.monotonic()))
            node_id = self.random.randrange(1, 4)
            sys.stderr.write(f"{until_s - time.monotonic():.0f} s left: kill node {node_id}\n")
            await self.strike("kill", node_id)
            await self.heal()
            next_s += KILL_EVERY_S
        await asyncio.sleep(max(0.0, until_s - time.monotonic()))


async def soak(
    cluster: LocalCluster, folder: Path, *, minutes: float, seed: int, rate: float
) -> dict[str, Any]:
    """Return the result of one run."""
    sampler = Sampler()
    async with Admin(cluster.bootstrap) as admin:
        configs = {"min.insync.replicas": "2"}
        topics = [NewTopic(name, count, 3, configs) for name, count in TOPICS.items()]
        require_all(await admin.create_topics(topics))
        killer = Killer(cluster, admin, sampler, seed)
        named = [f"{name}:{count}" for name, count in TOPICS.items()]
        clients = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.benchmarks.kafka_soak_clients"),
            *(cluster.kafka_bootstrap, str(folder), str(seed), str(rate), *named),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        sampling = asyncio.create_task(sampler.run(clients.pid))
        try:
            await killer.run(time.monotonic() + minutes * 60)
            async with asyncio.timeout(FINISH_S):
                printed, _ = await clients.communicate(b"")
        finally:
            sampling.cancel()
            if clients.returncode is None:
                clients.kill()
    ledger, digests = await read_back(cluster, folder)
    told: dict[str, Any] = json.loads(printed.splitlines()[-1]) if printed else {}
    return verdict(killer, sampler, ledger, digests, told)


def verdict(
    killer: Killer,
    sampler: Sampler,
    ledger: Ledger,
    digests: Sequence[Digest],
    told: dict[str, Any],
) -> dict[str, Any]:
    """Return one object of all figures; `violations` counts what must never be."""
    counts = ledger.counts()
    final = [[one.records, one.crc] for one in digests]
    readers = told.get("digests", [])
    differs = sum(a != b for one in readers for a, b in zip(one, final, strict=True))
    errors = sum(told.get("producer_errors", {}).values())
    violations = sum(counts[kind] for kind in VIOLATIONS) + differs + killer.unhealed + errors
    violations += counts["unknown"] + counts["not_told"]
    violations += (not sampler.is_bounded) + (not readers) + (not counts["acknowledged"])
    return {
        "figure": "kafka_soak",
        **counts,
        "read_along_differs": differs,
        "kills": killer.strikes["kill"],
        "unhealed": killer.unhealed,
        "longest_heal_ms": round(killer.longest_heal_s * 1000),
        **sampler.figures(),
        "memory_bounded": int(sampler.is_bounded),
        "producer_errors": told.get("producer_errors"),
        "consumer_errors": told.get("consumer_errors"),
        "examples": ledger.examples,
        "violations": violations,
    }


def main() -> None:
    """Soak, print, judge."""
    run_soak(soak, __doc__, minutes=10, rate=1_000, has_kafka=True)


if __name__ == "__main__":
    main()
