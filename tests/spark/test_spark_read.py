"""Spark reads topics of a cluster of real processes: schema, ranges, nulls, headers, errors."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Producer, require_all
from tidelog.client.admin.descriptions import NewTopic
from tidelog.demo.flights_job import read_flights, summarise
from tidelog.net.quiet_ports import quiet_ports
from tidelog.spark import TidelogDataSource

pytestmark = pytest.mark.spark


def load(spark: SparkSession, cluster: LocalCluster, **options: str) -> DataFrame:
    reader = spark.read.format("tidelog").option("bootstrap.servers", cluster.bootstrap)
    return reader.options(**options).load()


async def create(cluster: LocalCluster, topic: str, *, partitions: int) -> None:
    async with Admin(cluster.bootstrap) as admin:
        require_all(await admin.create_topics([NewTopic(topic, partitions, 3)]))


def failure(frame: DataFrame) -> str:
    with pytest.raises(PySparkException) as caught:
        frame.collect()
    return str(caught.value)


async def test_every_column_comes_back_as_it_was_sent(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    await create(running_cluster, "columns", partitions=2)
    async with Producer(running_cluster.bootstrap) as producer:
        await producer.send("columns", value=b"v", key=b"k", partition=0, timestamp_ms=1500)
        headers = [("h", b"x"), ("h", None), ("\u00e4", b"")]
        await producer.send("columns", value=None, headers=headers, partition=0, timestamp_ms=2500)
        await producer.send("columns", value=b"", key=b"", partition=1, timestamp_ms=3500)
    frame = load(spark, running_cluster, subscribe="columns", includeHeaders="true")
    assert frame.rdd.getNumPartitions() == 2
    rows = frame.withColumn("timestamp", f.unix_millis("timestamp")).orderBy("timestamp").collect()
    assert [tuple(row) for row in rows] == [
        (b"k", b"v", "columns", 0, 0, 1500, 0, None),
        (None, None, "columns", 0, 1, 2500, 0, [("h", b"x"), ("h", None), ("\u00e4", b"")]),
        (b"", b"", "columns", 1, 0, 3500, 0, None),
    ]


async def test_a_range_of_batches_of_every_codec_is_read_exactly(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    await create(running_cluster, "range", partitions=2)
    values = [str(number).encode() for number in range(1000)]
    for place, codec in enumerate(["none", "gzip", "snappy", "lz4", "zstd"]):
        async with Producer(running_cluster.bootstrap, compression=codec) as producer:
            part = values[place * 200 : (place + 1) * 200]
            for partition in (0, 1):
                await producer.send_many("range", part, partition=partition)
    frame = load(
        spark,
        running_cluster,
        subscribe="range",
        startingOffsets='{"range":{"0":100,"1":-2}}',
        endingOffsets='{"range":{"0":900,"1":-1}}',
    )
    assert "headers" not in frame.columns
    read = frame.select("partition", "offset", f.col("value").cast("string").cast("int")).collect()
    expected = [(0, number, number) for number in range(100, 900)]
    expected += [(1, number, number) for number in range(1000)]
    assert sorted(tuple(row) for row in read) == expected


async def test_a_users_schema_is_a_projection(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    await create(running_cluster, "projection", partitions=1)
    async with Producer(running_cluster.bootstrap) as producer:
        await producer.send("projection", value=b"v", key=b"k")
    reader = spark.read.format("tidelog").options(
        **{"bootstrap.servers": running_cluster.bootstrap, "subscribe": "projection"}
    )
    assert [tuple(r) for r in reader.schema("offset long, key binary").load().collect()] == [
        (0, b"k")
    ]
    assert "column offset string is none of" in failure(reader.schema("offset string").load())


def test_a_missing_topic_says_so(running_cluster: LocalCluster, spark: SparkSession) -> None:
    message = failure(load(spark, running_cluster, subscribe="nowhere"))
    assert (
        f'topic "nowhere" does not exist in the cluster at {running_cluster.bootstrap}' in message
    )


def test_an_unreachable_cluster_says_so(spark: SparkSession) -> None:
    (port,) = quiet_ports(1)
    options = {"bootstrap.servers": f"127.0.0.1:{port}", "subscribe": "t"}
    message = failure(spark.read.format("tidelog").options(**options).load())
    assert f"no broker answers at 127.0.0.1:{port}: nobody listens there; start" in message


def test_an_unknown_option_says_so(running_cluster: LocalCluster, spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match='the nearest known one is "startingOffsets"'):
        load(spark, running_cluster, subscribe="t", startOffsets="earliest")


async def test_a_topic_made_anew_fails_the_planned_read(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    await create(running_cluster, "anew", partitions=1)
    async with Producer(running_cluster.bootstrap) as producer:
        await producer.send("anew", value=b"old")
    planned = load(spark, running_cluster, subscribe="anew").rdd
    async with Admin(running_cluster.bootstrap) as admin:
        await admin.delete_topic("anew")
    await create(running_cluster, "anew", partitions=1)
    async with Producer(running_cluster.bootstrap) as producer:
        await producer.send("anew", value=b"new")
    with pytest.raises(Exception, match="it was recreated"):
        planned.collect()


async def test_the_source_can_be_registered_by_hand_and_used_in_sql(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    await create(running_cluster, "sql", partitions=1)
    async with Producer(running_cluster.bootstrap) as producer:
        await producer.send("sql", value=b"v")
    own = spark.newSession()
    own.dataSource.register(TidelogDataSource)
    own.sql(
        "CREATE TEMPORARY VIEW sql_topic USING tidelog OPTIONS "
        f"(`bootstrap.servers` '{running_cluster.bootstrap}', subscribe 'sql')"
    )
    assert own.sql("SELECT CAST(value AS STRING) AS v FROM sql_topic").collect() == [("v",)]


async def test_the_flights_job_counts_every_row_once(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    await create(running_cluster, "flights", partitions=2)
    flights = [
        b'{"row":0,"carrier":"AA","month":1,"dep_time":10.0,"dep_delay":4.0}',
        b'{"row":1,"carrier":"AA","month":1,"dep_time":null,"dep_delay":null}',
        b'{"row":2,"carrier":"UA","month":2,"dep_time":11.0,"dep_delay":-2.0}',
    ]
    async with Producer(running_cluster.bootstrap) as producer:
        await producer.send_many("flights", [*flights, flights[0]])
    frame = read_flights(spark, bootstrap=running_cluster.bootstrap, topic="flights")
    assert frame.count() == 4
    summary: list[Any] = summarise(frame.dropDuplicates(["row"])).collect()
    assert [tuple(row) for row in summary] == [("AA", 1, 2, 4.0, 0.5), ("UA", 2, 1, -2.0, 0.0)]
