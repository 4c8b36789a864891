"""Spark writes to topics of a cluster of real processes: columns, errors, batches run again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import killed_stream
import pytest
from local_cluster import LocalCluster
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidelog.client import Admin, Consumer, Record
from tidelog.spark.commit_markers import MARKERS, Marker
from tidelog.spark.session import local_session

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

DRIVER_TIMEOUT_S = 120


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = local_session("tidelog write tests")
    yield session
    session.stop()


def write(frame: DataFrame, cluster: LocalCluster, *, mode: str = "append", **options: str) -> None:
    writer = frame.write.format("tidelog").mode(mode)
    writer.option("bootstrap.servers", cluster.bootstrap).options(**options).save()


async def create(cluster: LocalCluster, topic: str, *, partitions: int = 1) -> None:
    async with Admin(cluster.bootstrap) as admin:
        await admin.create_topic(topic, partitions=partitions, replication_factor=3)


async def read(cluster: LocalCluster, topic: str) -> list[Record]:
    """Every record of the topic, by partition and offset."""
    async with Consumer(cluster.bootstrap) as consumer:
        partitions = [(topic, number) for number in await consumer.partitions_for(topic)]
        consumer.assign(partitions)
        left = sum((await consumer.end_offsets(partitions)).values())
        records: list[Record] = []
        while len(records) < left:
            records += await consumer.getmany(timeout_ms=10_000)
        return sorted(records, key=lambda record: (record.partition, record.offset))


async def test_every_column_is_written_as_kafkas_connector_does(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    await create(running_cluster, "left", partitions=3)
    await create(running_cluster, "right")
    rows = spark.createDataFrame(
        [
            ("left", "k", "v", [("h", b"x"), ("h", None)], 2, 1),
            ("left", None, None, None, 1, 2),
            ("right", "k", "w", [], None, 3),
        ],
        "topic string, key string, value string, headers array<struct<key:string,value:binary>>, "
        "partition int, offset long",
    )
    write(rows, running_cluster)
    left = [tuple(record) for record in await read(running_cluster, "left")]
    assert [(r[1], *r[4:]) for r in left] == [
        (1, None, None, ()),
        (2, b"k", b"v", (("h", b"x"), ("h", None))),
    ]
    (right,) = await read(running_cluster, "right")
    assert (right.key, right.value, right.headers) == (b"k", b"w", ())


async def test_a_hundred_thousand_rows_are_there_once_each(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    await create(running_cluster, "many", partitions=4)
    rows = spark.range(100_000).select(f.col("id").cast("string").alias("value"))
    write(rows, running_cluster, topic="many", **{"kafka.compression.type": "lz4"})
    values = [int(record.value or b"") for record in await read(running_cluster, "many")]
    assert sorted(values) == list(range(100_000))


def test_no_rows_are_written_without_an_error(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    write(spark.range(0).selectExpr("'v' AS value"), running_cluster, topic="nothing")


@pytest.mark.parametrize(
    ("columns", "given", "message"),
    [
        ("'v' AS value", {}, 'rows have no column "topic"'),
        ("1 AS value", {"topic": "t"}, 'column "value" is int, and must be binary or string'),
        ("'v' AS value", {"topic": "t", "mode": "overwrite"}, 'mode "overwrite" has no meaning'),
        ("'v' AS value", {"topic": "t", "startingOffsets": "latest"}, "has no place in a write"),
        ("'v' AS value, CAST(NULL AS STRING) AS topic", {}, "1 of 1 rows have no topic"),
        ("'v' AS value, 9 AS partition", {"topic": "left"}, "9"),
    ],
)
def test_what_cannot_be_written_says_why(
    running_cluster: LocalCluster,
    spark: SparkSession,
    columns: str,
    given: dict[str, str],
    message: str,
) -> None:
    with pytest.raises(PySparkException) as caught:
        write(spark.range(1).selectExpr(*columns.split(", ")), running_cluster, **given)
    assert message in str(caught.value)


def run_driver(cluster: LocalCluster, folder: Path, *killed_at: str) -> None:
    """Run `killed_stream` until it is killed there, or to its end."""
    ended = subprocess.run(
        [sys.executable, killed_stream.__file__, cluster.bootstrap, str(folder), *killed_at],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=DRIVER_TIMEOUT_S,
        check=False,
    )
    if killed_at:
        assert (folder / "killed").read_text() == " ".join(killed_at), ended.stderr
    else:
        assert ended.returncode == 0, ended.stderr


async def test_a_driver_killed_around_its_marker_writes_again_what_has_none(
    running_cluster: LocalCluster, tmp_path: Path
) -> None:
    await create(running_cluster, "counts", partitions=2)
    (tmp_path / "words").mkdir()
    for number in range(3):
        (tmp_path / "words" / f"{number}.txt").write_text("a\nb\n")
    run_driver(running_cluster, tmp_path, "before", "0")
    run_driver(running_cluster, tmp_path, "after", "1")
    run_driver(running_cluster, tmp_path)
    values = Counter(record.value for record in await read(running_cluster, "counts"))
    # The third counts are right only if the skipped batch kept its state.
    assert values == {b"a:1": 2, b"b:1": 2, b"a:2": 1, b"b:2": 1, b"a:3": 1, b"b:3": 1}
    markers = [Marker.decode(r.value or b"") for r in await read(running_cluster, MARKERS)]
    assert markers == [Marker(0, 2), Marker(1, 2), Marker(2, 2)]
