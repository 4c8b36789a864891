"""Figures of a running cluster, one JSON line each: `python tests/benchmarks/run.py [NAME …]`.

    start      second `tidelog cluster start` (all nodes stopped, data kept) to ready, seconds
    memory     resident memory of each node, MiB
    produce    MB/s and records/s of `Producer.submit_many`, acks=all, 1 KiB and 100 B values
    latency    one `Producer.send` after the other, acks=all, milliseconds
    failover   how long writes stand still when a broker ends: failover_bench.py, on its own nodes
    spark      rows/s of a batch read that touches every value (needs Java)
    log        the storage engine alone, without the cluster: log_bench.py runs parts of it
    partitions 1,000 partitions RF 3 in a cluster of its own: created to a record on each, memory
    quorum     three controllers alone, without the cluster: quorum_bench.py runs parts of it

`--peer COMMAND` runs another system's measurement after ours, in the same sitting. Machines are
shared and noisy: compare ratios of one sitting, not figures of two.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from failover_bench import failover_figures
from log_bench import log_figures
from partitions_bench import partition_figures
from quorum_bench import quorum_figures

from tidelog.client import Admin, Producer

BOOTSTRAP = "127.0.0.1:9192,127.0.0.1:9193,127.0.0.1:9194"
TIDELOG = str(Path(sys.executable).with_name("tidelog"))
PARTITIONS = 6
CHUNK_RECORDS = 10_000
PRODUCE_MEGABYTES = {1024: 400, 100: 100}
LATENCY_SENDS = 2_000
SPARK_ROWS = {1024: 1_000_000, 100: 5_000_000}


def main() -> None:
    """Run the figures named on the command line, or all."""
    figures: Mapping[str, Callable[[int], Iterable[dict[str, Any]]]] = {
        "start": start,
        "memory": memory,
        "produce": produce,
        "latency": latency,
        "failover": failover_figures,
        "spark": spark,
        "log": log_figures,
        "quorum": quorum_figures,
        "partitions": partition_figures,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *figures], metavar="NAME")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peer", help="a command that measures another system")
    options = parser.parse_args()
    for name in options.names or figures:
        for figure in figures[name](options.runs):
            sys.stdout.write(json.dumps({"figure": name, **figure}) + "\n")
            sys.stdout.flush()
    if options.peer:
        subprocess.run(shlex.split(options.peer), check=True)


def start(runs: int) -> Iterable[dict[str, Any]]:
    """Stop, then time the start of all three."""
    seconds = []
    for _ in range(runs):
        _tidelog("cluster", "stop")
        began = time.monotonic()
        _tidelog("cluster", "start")
        seconds.append(time.monotonic() - began)
    yield _spread("seconds", seconds)


def memory(runs: int) -> Iterable[dict[str, Any]]:
    """Resident memory as the kernel counts it."""
    del runs
    for node in _nodes():
        status = Path(f"/proc/{node['pid']}/status").read_text(encoding="ascii")
        kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        yield {"node_id": node["node_id"], "mib": round(kib / 1024, 1)}


def produce(runs: int) -> Iterable[dict[str, Any]]:
    """Random bytes, spread over the partitions by the sticky partitioner."""
    for size_bytes, megabytes in PRODUCE_MEGABYTES.items():
        rates = [asyncio.run(_produce(size_bytes, megabytes)) for _ in range(runs + 1)][1:]
        yield {
            "value_bytes": size_bytes,
            **_spread("mb_per_s", rates),
            "records_per_s": round(statistics.median(rates) * 1e6 / size_bytes),
        }


async def _produce(size_bytes: int, megabytes: int) -> float:
    topic = await _new_topic(f"bench-produce-{size_bytes}")
    values = _values(size_bytes)
    count = megabytes * 1_000_000 // size_bytes
    async with Producer(BOOTSTRAP) as producer:
        await producer.send(topic, value=b"warm")
        began = time.monotonic()
        outcomes = [
            await producer.submit_many(topic, values) for _ in range(count // CHUNK_RECORDS)
        ]
        failed = sum([(await outcome).failed for outcome in outcomes])
        took = time.monotonic() - began
    await _delete(topic)
    if failed:
        raise SystemExit(f"{failed} records failed")
    return count * size_bytes / took / 1e6


def latency(runs: int) -> Iterable[dict[str, Any]]:
    """One at a time: the next is sent when the last is acknowledged."""
    del runs
    took = sorted(asyncio.run(_latency()))
    yield {
        "p50_ms": round(took[len(took) // 2] * 1000, 2),
        "p99_ms": round(took[len(took) * 99 // 100] * 1000, 2),
    }


async def _latency() -> list[float]:
    topic = await _new_topic("bench-latency")
    took = []
    async with Producer(BOOTSTRAP) as producer:
        for _ in range(LATENCY_SENDS):
            began = time.monotonic()
            await producer.send(topic, value=b"v" * 100)
            took.append(time.monotonic() - began)
    await _delete(topic)
    return took[LATENCY_SENDS // 10 :]


def spark(runs: int) -> Iterable[dict[str, Any]]:
    """Every value's length is summed, so that Spark cannot skip the column."""
    from pyspark.sql import SparkSession, functions

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark_session = session.getOrCreate()
    spark_session.sparkContext.setLogLevel("ERROR")
    for size_bytes, rows in SPARK_ROWS.items():
        topic = asyncio.run(_filled_topic(size_bytes, rows))
        rates = []
        for _ in range(runs + 1):
            began = time.monotonic()
            frame = (
                spark_session.read.format("tidelog")
                .option("bootstrap.servers", BOOTSTRAP)
                .option("subscribe", topic)
                .load()
            )
            (total,) = frame.agg(functions.sum(functions.length("value"))).collect()[0]
            rates.append(rows / (time.monotonic() - began))
            if total != rows * size_bytes:
                raise SystemExit(f"read {total} bytes of {rows * size_bytes}")
        asyncio.run(_delete(topic))
        rate = statistics.median(rates[1:])
        yield {
            "value_bytes": size_bytes,
            **_spread("rows_per_s", rates[1:]),
            "mb_per_s": round(rate * size_bytes / 1e6),
        }
    spark_session.stop()


async def _filled_topic(size_bytes: int, rows: int) -> str:
    topic = await _new_topic(f"bench-spark-{size_bytes}")
    values = _values(size_bytes)
    async with Producer(BOOTSTRAP) as producer:
        for _ in range(rows // CHUNK_RECORDS):
            await producer.send_many(topic, values)
    return topic


async def _new_topic(prefix: str) -> str:
    name = f"{prefix}-{time.time_ns()}"
    async with Admin(BOOTSTRAP) as admin:
        await admin.create_topic(
            name,
            partitions=PARTITIONS,
            replication_factor=3,
            configs={"min.insync.replicas": "2"},
        )
    return name


async def _delete(topic: str) -> None:
    async with Admin(BOOTSTRAP) as admin:
        await admin.delete_topics([topic])


def _values(size_bytes: int) -> list[bytes]:
    source = random.Random(1)
    return [source.randbytes(size_bytes) for _ in range(CHUNK_RECORDS)]


def _nodes() -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = json.loads(_tidelog("cluster", "status", "--json"))["nodes"]
    return [node for node in nodes if node["alive"]]


def _tidelog(*arguments: str) -> str:
    return subprocess.run(
        [TIDELOG, *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def _spread(name: str, values: Sequence[float]) -> dict[str, Any]:
    return {
        name: round(statistics.median(values), 2),
        "min": round(min(values), 2),
        "max": round(max(values), 2),
        "runs": len(values),
    }


if __name__ == "__main__":
    main()
