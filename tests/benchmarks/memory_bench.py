"""Whether memory stays flat over 10,000,000 records: `python -m tests.benchmarks.memory_bench`.

Starts three nodes of its own, on free ports and in a folder that goes away (about 4 GB). 10^7
records of 100 B go through `send_many`, then through `getmany` and `getbatches`; 10^6 through
single `send`s and through iteration. Each client is a process of its own.

A JSON line at every 10 % tells the resident memory of the client and of each node, in KiB. After
each task a line tells of each, from half-way on, by how many bytes a record it grew, by how many
KiB in all and how much of that may be noise, and whether it is flat: less than 2 MiB beyond the
noise. That is of the memory that is no file's: a node's index files are mapped, 20 bytes of them
for 4 KiB of log. Exit code 1 unless all were flat, and done.

Clients run with a malloc that gives every buffer of 64 KiB or more back when it is freed. glibc's
own keeps such buffers once some were freed (`--glibc`): a consumer has twice as much then, and
wavers by 5 MiB around it, which is no leak but would hide one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.memory_clients import PARTITIONS, TASKS, TOPICS
from tests.benchmarks.memory_samples import Growth, Memory
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, NewTopic, require_all

FLAT_BYTES = 2 << 20
LINES = 10
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(64 << 10), "MALLOC_ARENA_MAX": "2"}
SINGLE = ("send", "iterate")

Samples = dict[str, list[tuple[int, Memory]]]
"""Records done and memory of each process, by its name."""


def measure(
    task: str, cluster: LocalCluster, records: int, malloc: Mapping[str, str]
) -> dict[str, Any]:
    """Run one client to its end; its result."""
    samples: Samples = {}
    nodes = {f"node_{number}": pid for number, pid in cluster.pids().items()}
    began_s = time.monotonic()
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.benchmarks.memory_clients",
            task,
            cluster.bootstrap,
            str(records),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **malloc},
    ) as client:
        try:
            assert client.stdout is not None
            line = 0
            for done in map(int, client.stdout):
                _sample(samples, {"client": client.pid, **nodes}, done)
                if done * LINES // records > line:
                    line = done * LINES // records
                    _print(task, done, _kib(samples))
        finally:
            client.kill()
    return _result(task, samples, time.monotonic() - began_s)


def _sample(samples: Samples, pids: Mapping[str, int | None], done: int) -> None:
    for name, pid in pids.items():
        memory = None if pid is None else Memory.of(pid)
        if memory is not None:
            samples.setdefault(name, []).append((done, memory))


def _kib(samples: Samples) -> dict[str, int]:
    return {f"{name}_kib": points[-1][1].resident >> 10 for name, points in samples.items()}


def _result(task: str, samples: Samples, took_s: float) -> dict[str, Any]:
    result: dict[str, Any] = {"figure": "memory", "task": task}
    for name, points in samples.items():
        grew = Growth.of_last_half([(done, one.anonymous) for done, one in points])
        result[name] = {
            "end_kib": points[-1][1].resident >> 10,
            "bytes_per_record": round(grew.per_x, 3),
            "grew_kib": round(grew.size / 1024),
            "noise_kib": round(grew.noise / 1024),
            "flat": grew.is_below(FLAT_BYTES),
        }
    done = next(iter(samples.values()))[-1][0] if samples else 0
    return {**result, "records": done, "seconds": round(took_s, 1)}


def _print(task: str, done: int, sizes: Mapping[str, int]) -> None:
    sys.stdout.write(json.dumps({"task": task, "records": done, **sizes}) + "\n")
    sys.stdout.flush()


async def create(bootstrap: str) -> None:
    """The topics; what is written stays for the readers."""
    async with Admin(bootstrap) as admin:
        configs = {"min.insync.replicas": "2"}
        topics = [NewTopic(name, PARTITIONS, 3, configs) for name in TOPICS.values()]
        require_all(await admin.create_topics(topics))


def main() -> None:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--single-records", type=int, default=1_000_000)
    parser.add_argument("--glibc", action="store_true", help="leave malloc's thresholds alone")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it cleans up then, too
    good = []
    with tempfile.TemporaryDirectory(prefix="memory-") as folder:
        cluster = LocalCluster(Path(folder, "data"))
        try:
            started = cluster.start()
            if started.returncode:
                raise SystemExit(started.stderr)
            asyncio.run(create(cluster.bootstrap))
            for task in TASKS:
                records = options.single_records if task in SINGLE else options.records
                result = measure(task, cluster, records, {} if options.glibc else MALLOC)
                sys.stdout.write(json.dumps(result) + "\n")
                good.append(result["records"] == records and _is_flat(result))
        finally:
            cluster.stop()
    sys.exit(0 if all(good) else 1)


def _is_flat(result: Mapping[str, Any]) -> bool:
    return all(one["flat"] for one in result.values() if isinstance(one, dict))


if __name__ == "__main__":
    main()
