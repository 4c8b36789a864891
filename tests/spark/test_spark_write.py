"""Spark writes to topics of a cluster of real processes: columns, rows, errors."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.integration.local_cluster import LocalCluster
from tests.spark.spark_rows import EXACT, account, stored

from tidelog.client import Admin

pytestmark = pytest.mark.spark


def write(frame: DataFrame, cluster: LocalCluster, *, mode: str = "append", **options: str) -> None:
    writer = frame.write.format("tidelog").mode(mode)
    writer.option("bootstrap.servers", cluster.bootstrap).options(**options).save()


async def create(cluster: LocalCluster, topic: str, *, partitions: int = 1) -> None:
    async with Admin(cluster.bootstrap) as admin:
        await admin.create_topic(topic, partitions=partitions, replication_factor=3)


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
    left = [tuple(record) for record in await stored(running_cluster.bootstrap, "left")]
    assert [(r[1], *r[4:]) for r in left] == [
        (1, None, None, ()),
        (2, b"k", b"v", (("h", b"x"), ("h", None))),
    ]
    (right,) = await stored(running_cluster.bootstrap, "right")
    assert (right.key, right.value, right.headers) == (b"k", b"w", ())


async def test_a_hundred_thousand_rows_are_there_once_each(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    await create(running_cluster, "many", partitions=4)
    rows = spark.range(100_000).select(f.col("id").cast("string").alias("value"))
    write(rows, running_cluster, topic="many", **{"kafka.compression.type": "lz4"})
    records = await stored(running_cluster.bootstrap, "many")
    assert account((int(one.value or b"") for one in records), range(100_000)) == EXACT


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
