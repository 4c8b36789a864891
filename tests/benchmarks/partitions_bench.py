"""Figures of a whole cluster with many partitions: three nodes of its own, on ports of its own.

create      1,000 partitions RF 3, min.insync.replicas 2, asked for in one topic, until a record of
            an idempotent producer is acknowledged (acks=all) on each, seconds; `usable_s`: until
            every broker names a leader of each; `cpu_s`: what each node used for it
memory      resident MiB of each whole node then, the active controller included
idle        CPU share of each node with nothing to do, per cent of a core
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.benchmarks.measures import spread
from tests.benchmarks.memory_samples import Memory
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Producer

PARTITIONS = 1_000
TOPIC = "many"
IDLE_S = 10.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def partition_figures(runs: int) -> Iterable[dict[str, Any]]:
    """Each run in a cluster of its own, in a temporary folder of the working directory's disk."""
    found = [_one_run() for _ in range(runs)]
    yield {
        "name": "create",
        "partitions": PARTITIONS,
        "seconds": spread([one["acknowledged_s"] for one in found]),
        "usable_s": spread([one["usable_s"] for one in found]),
        "cpu_s": spread([seconds for one in found for seconds in one["cpu_s"]]),
        "load_average": [one["load_average"] for one in found],
    }
    yield {
        "name": "memory",
        "resident_mib": spread([mib for one in found for mib in one["resident_mib"]]),
        "before_mib": spread([mib for one in found for mib in one["before_mib"]]),
    }
    yield {
        "name": "idle",
        "cpu_percent": spread([share for one in found for share in one["cpu_percent"]]),
    }


def _one_run() -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        cluster = LocalCluster(Path(folder))
        try:
            started = cluster.start()
            if started.returncode:
                raise SystemExit(started.stderr)
            pids = [pid for pid in cluster.pids().values() if pid is not None]
            before = [_resident_mib(pid) for pid in pids]
            load_average = os.getloadavg()[0]
            cpu_before_s = [_cpu_s(pid) for pid in pids]
            usable_s, acknowledged_s = asyncio.run(_create_and_write(cluster.bootstrap))
            used_s = [_cpu_s(pid) - s for pid, s in zip(pids, cpu_before_s, strict=True)]
            return {
                "cpu_s": used_s,
                "usable_s": usable_s,
                "acknowledged_s": acknowledged_s,
                "load_average": round(load_average, 2),
                "before_mib": before,
                "resident_mib": [_resident_mib(pid) for pid in pids],
                "cpu_percent": _idle_percent(pids),
            }
        finally:
            cluster.stop()


async def _create_and_write(bootstrap: str) -> tuple[float, float]:
    """Seconds from the request to the topic's use, and to the last acknowledgement."""
    began_s = time.monotonic()
    async with Admin(bootstrap) as admin:
        await admin.create_topic(
            TOPIC,
            partitions=PARTITIONS,
            replication_factor=3,
            configs={"min.insync.replicas": "2"},
        )
    usable_s = time.monotonic() - began_s
    async with Producer(bootstrap) as producer:
        outcomes = [
            await producer.submit(TOPIC, value=b"v" * 100, partition=number)
            for number in range(PARTITIONS)
        ]
        for outcome in outcomes:
            await outcome
    return usable_s, time.monotonic() - began_s


def _resident_mib(pid: int) -> float:
    memory = Memory.of(pid)
    assert memory is not None, "the node runs"
    return round(memory.resident / (1 << 20), 1)


def _idle_percent(pids: Iterable[int]) -> list[float]:
    time.sleep(2)
    before = {pid: _cpu_s(pid) for pid in pids}
    time.sleep(IDLE_S)
    return [round((_cpu_s(pid) - cpu_s) / IDLE_S * 100, 2) for pid, cpu_s in before.items()]


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


if __name__ == "__main__":
    for figure in partition_figures(int(sys.argv[1]) if sys.argv[1:] else 1):
        sys.stdout.write(json.dumps(figure) + "\n")
