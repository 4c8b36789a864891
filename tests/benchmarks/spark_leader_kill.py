"""A leader killed under a large read: `python -m tests.benchmarks.spark_leader_kill [--rows N]`.

Starts three nodes of its own, on free ports and in a folder that goes away, writes N rows of 100 B
(10,000,000 unless told) to six partitions with replication factor 3, and reads them with Spark on
two threads. When half of the tasks are done, the leader of the partition that is then read gets
kill -9. What Spark read is held against what was written, partition by partition: rows, different
offsets, the first and the last of them, and the sum of all values' CRC32.

One JSON line; the exit code is 1 when one row is missing, repeated or not what was written.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin
from tidelog.client.arrow.table_writer import TableWriter
from tidelog.spark.session import local_session

TOPIC = "rows"
PARTITIONS, TASKS = 6, 48
VALUE_BYTES, PIECE_ROWS = 100, 60_000
POLL_S = 0.05


class Held(NamedTuple):
    """What a partition holds; `crc_sum` is of all values' CRC32."""

    rows: int
    offsets: int
    first: int
    last: int
    crc_sum: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000, help="a multiple of 60,000 is best")
    rows = parser.parse_args().rows
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        cluster = LocalCluster(Path(folder))
        # Before there are threads of gRPC: PySpark forks to start Java.
        spark = local_session("leader kill")
        try:
            if (started := cluster.start()).returncode:
                raise SystemExit(started.stderr)
            figure = asyncio.run(measure(cluster, spark, rows))
        finally:
            spark.stop()
            cluster.stop()
    sys.stdout.write(json.dumps({"figure": "spark leader kill", **figure}) + "\n")
    raise SystemExit(0 if figure["exact"] else 1)


async def measure(cluster: LocalCluster, spark: SparkSession, rows: int) -> dict[str, object]:
    """Write, read, kill, compare."""
    sent = await written(cluster, rows)
    began = time.monotonic()
    reading = asyncio.create_task(asyncio.to_thread(read, load(spark, cluster)))
    killed = await leader_killed(cluster, spark, reading)
    found = await reading
    seconds = time.monotonic() - began
    return {
        "exact": found == sent,
        "rows": rows,
        "read": sum(held.rows for held in found.values()),
        "seconds": round(seconds, 1),
        "rows_per_s": round(rows / seconds),
        **killed,
        "load": round(os.getloadavg()[0], 1),
        **({} if found == sent else {"sent": sent, "found": found}),
    }


async def written(cluster: LocalCluster, rows: int) -> Mapping[int, Held]:
    """What the partitions of the new topic hold then."""
    async with Admin(cluster.bootstrap) as admin:
        await admin.create_topic(
            TOPIC,
            partitions=PARTITIONS,
            replication_factor=3,
            configs={"min.insync.replicas": "2"},
        )
    counts, crc_sums = [0] * PARTITIONS, [0] * PARTITIONS
    async with TableWriter(cluster.bootstrap) as writer:
        for first in range(0, rows, PIECE_ROWS):
            numbers = range(first, min(first + PIECE_ROWS, rows))
            values = [b"%020d" % number * (VALUE_BYTES // 20) for number in numbers]
            partitions = [number % PARTITIONS for number in numbers]
            for partition, value in zip(partitions, values, strict=True):
                counts[partition] += 1
                crc_sums[partition] += zlib.crc32(value)
            columns = {"value": pa.array(values), "partition": pa.array(partitions, pa.int32())}
            await writer.write(TOPIC, pa.record_batch(columns))
    return {
        number: Held(count, count, 0, count - 1, crc_sum)
        for number, (count, crc_sum) in enumerate(zip(counts, crc_sums, strict=True))
    }


def load(spark: SparkSession, cluster: LocalCluster) -> DataFrame:
    """The topic, read in that many tasks, one partition after the other."""
    given = {"bootstrap.servers": cluster.bootstrap, "subscribe": TOPIC}
    return spark.read.format("tidelog").options(**given, minPartitions=TASKS).load()


def read(frame: DataFrame) -> Mapping[int, Held]:
    """What Spark finds in each partition. Different offsets are counted in bitmaps: exactly."""
    offsets = f.bitmap_construct_agg(f.bitmap_bit_position("offset"))
    parts = frame.groupBy("partition", f.bitmap_bucket_number("offset").alias("bucket")).agg(
        f.count("*").alias("rows"),
        f.bitmap_count(offsets).alias("offsets"),
        f.min("offset").alias("first"),
        f.max("offset").alias("last"),
        f.sum(f.crc32("value")).alias("crc_sum"),
    )
    totals = parts.groupBy("partition").agg(
        f.sum("rows"), f.sum("offsets"), f.min("first"), f.max("last"), f.sum("crc_sum")
    )
    return {row[0]: Held(*row[1:]) for row in totals.collect()}


async def leader_killed(
    cluster: LocalCluster, spark: SparkSession, reading: asyncio.Task[Mapping[int, Held]]
) -> dict[str, object]:
    """Kill who leads what is read once half of the tasks are done; says whom, and when."""
    while (done := _tasks_done(spark)) < TASKS // 2:
        if reading.done():
            raise SystemExit("the read ended before its leader was killed: take more rows")
        await asyncio.sleep(POLL_S)
    async with Admin(cluster.bootstrap) as admin:
        topic = await admin.describe_topic(TOPIC)
    victim = topic.partitions[done * PARTITIONS // TASKS].leader
    if victim is None:
        raise SystemExit(f"nobody leads partition {done * PARTITIONS // TASKS}")
    cluster.kill(victim)
    led = [one.partition for one in topic.partitions if one.leader == victim]
    return {"tasks": TASKS, "tasks_done": done, "killed": victim, "led": led}


def _tasks_done(spark: SparkSession) -> int:
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return max((one.numCompletedTasks for one in stages if one is not None), default=0)


if __name__ == "__main__":
    main()
