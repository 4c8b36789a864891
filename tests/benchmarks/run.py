"""What `tidelog bench run` does not measure: `python tests/benchmarks/run.py [NAME …]`.

One JSON line a figure. `spark` reads from the nodes of `make cluster`, others start their own.

    failover   how long writes stand still when a broker ends: failover_bench.py, on its own nodes
    spark      rows/s of a batch read that touches every value (needs Java)
    log        the storage engine alone, without the cluster: log_bench.py runs parts of it
    partitions 1,000 partitions RF 3 in a cluster of its own: created to a record on each, memory
    quorum     three controllers alone, without the cluster: quorum_bench.py runs parts of it
    check      `tidelog check` on histories of growing size: check_bench.py takes other sizes
    arrow      records to Arrow columns and back, without the cluster: arrow_bench.py

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
from typing import Any

from arrow_bench import arrow_figures
from check_bench import check_figures
from failover_bench import failover_figures
from log_bench import log_figures
from partitions_bench import partition_figures
from quorum_bench import quorum_figures

from tidelog.client import Admin, Producer

BOOTSTRAP = "127.0.0.1:9192,127.0.0.1:9193,127.0.0.1:9194"
PARTITIONS = 6
CHUNK_RECORDS = 10_000
SPARK_ROWS = {1024: 1_000_000, 100: 5_000_000}


def main() -> None:
    """Run the figures named on the command line, or all."""
    figures: Mapping[str, Callable[[int], Iterable[dict[str, Any]]]] = {
        "failover": failover_figures,
        "spark": spark,
        "log": log_figures,
        "quorum": quorum_figures,
        "partitions": partition_figures,
        "check": check_figures,
        "arrow": arrow_figures,
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


def _spread(name: str, values: Sequence[float]) -> dict[str, Any]:
    return {
        name: round(statistics.median(values), 2),
        "min": round(min(values), 2),
        "max": round(max(values), 2),
        "runs": len(values),
    }


if __name__ == "__main__":
    main()
