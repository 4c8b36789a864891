"""The cluster under a load: its addresses, temporary topics, and its processor time."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tidelog.benchmarks import nodes
from tidelog.client import Admin

PARTITIONS = 6
REPLICAS = 3
GIB = 1 << 30
TUNED: dict[str, Any] = {
    # The tuning of Kafka's side: linger 10 ms, batches of 1 MiB (here a little less, to stay
    # within the default max.message.bytes), 128 MiB of memory.
    "linger_ms": 10,
    "batch_size": 1_000_000,
    "max_request_size": 4 << 20,
    "buffer_memory": 128 << 20,
}
PROFILES: dict[str, dict[str, Any]] = {"default": {}, "tuned": TUNED}
CHUNK_RECORDS = 10_000
_TO_LETTERS = bytes(ord("A") + byte % 26 for byte in range(256))
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class LoadedCluster:
    """The cluster under a load."""

    bootstrap: str
    pids: list[int]

    @asynccontextmanager
    async def topic(self, partitions: int = PARTITIONS) -> AsyncIterator[str]:
        """Create a topic, replication factor 3, min.insync.replicas 2; delete it at the end."""
        name = f"bench-{time.time_ns()}"
        async with Admin(self.bootstrap) as admin:
            await admin.create_topic(
                name,
                partitions=partitions,
                replication_factor=REPLICAS,
                configs={"min.insync.replicas": "2", "file.delete.delay.ms": "1000"},
            )
            try:
                yield name
            finally:
                await admin.delete_topic(name)

    def cpu_s(self) -> float:
        """The processor seconds of the brokers so far."""
        return nodes.cpu_s(self.pids)


def values(size_bytes: int, count: int = CHUNK_RECORDS) -> list[bytes]:
    """Random capital letters, as Kafka's ProducerPerformance sends: lz4 cannot compress them."""
    letters = random.Random(1).randbytes(size_bytes * count).translate(_TO_LETTERS)
    return [letters[at : at + size_bytes] for at in range(0, len(letters), size_bytes)]


def percentiles(key: str, seconds: list[float]) -> Figures:
    """The figures p50 and p99 in milliseconds."""
    ordered = sorted(seconds)
    return {
        f"{key}.{name}": ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e3
        for name, share in (("p50", 0.5), ("p99", 0.99))
    }
