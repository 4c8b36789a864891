"""Spark streams topics of a cluster of real processes: limits, restarts, losses."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Producer, require_all
from tidelog.client.admin.descriptions import NewTopic
from tidelog.client.records import TopicPartition
from tidelog.spark.stream_offsets import lag

pytestmark = pytest.mark.spark


async def create(cluster: LocalCluster, topic: str, *, partitions: int) -> None:
    async with Admin(cluster.bootstrap) as admin:
        require_all(await admin.create_topics([NewTopic(topic, partitions, 3)]))


async def send(cluster: LocalCluster, topic: str, partition: int, *numbers: int) -> None:
    async with Producer(cluster.bootstrap) as producer:
        values = [str(number).encode() for number in numbers]
        await producer.send_many(topic, values, partition=partition)


def load(spark: SparkSession, cluster: LocalCluster, **options: str) -> DataFrame:
    reader = spark.readStream.format("tidelog").option("bootstrap.servers", cluster.bootstrap)
    return reader.options(**options).load()


def start(frame: DataFrame, folder: Path) -> StreamingQuery:
    """Write what there is to Parquet files below `folder`, each record once, and end."""
    return (
        frame.selectExpr("topic", "partition", "offset", "CAST(value AS STRING) AS value")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "rows"))
    )


def finish(frame: DataFrame, folder: Path) -> StreamingQuery:
    query = start(frame, folder)
    query.awaitTermination()
    return query


def values(spark: SparkSession, folder: Path) -> list[int]:
    rows = spark.read.parquet(str(folder / "rows")).select("value").collect()
    return sorted(int(row["value"]) for row in rows)


async def test_each_run_reads_on_where_the_last_one_ended_within_its_limits(
    running_cluster: LocalCluster, spark: SparkSession, tmp_path: Path
) -> None:
    await create(running_cluster, "runs", partitions=2)
    await send(running_cluster, "runs", 0, *range(40))
    await send(running_cluster, "runs", 1, *range(40, 60))
    given = {"subscribe": "runs", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "25"}
    frame = load(spark, running_cluster, **given)
    first = finish(frame, tmp_path)
    assert [batch["numInputRows"] for batch in first.recentProgress] == [25, 25, 10]
    behind = [sum(lag(batch["sources"][0]).values()) for batch in first.recentProgress]
    assert behind == [35, 10, 0]
    assert TopicPartition("runs", 1) in lag(first.recentProgress[0]["sources"][0])

    async with Admin(running_cluster.bootstrap) as admin:
        await admin.create_partitions("runs", 3)
    await send(running_cluster, "runs", 2, *range(60, 70))
    second = finish(load(spark, running_cluster, **given), tmp_path)
    assert sum(batch["numInputRows"] for batch in second.recentProgress) == 10
    assert values(spark, tmp_path) == list(range(70))


@pytest.mark.parametrize("limit", ["maxBytesPerTrigger", "minOffsetsPerTrigger"])
async def test_spark_takes_the_other_kinds_of_limit(
    running_cluster: LocalCluster, spark: SparkSession, tmp_path: Path, limit: str
) -> None:
    await create(running_cluster, limit, partitions=1)
    await send(running_cluster, limit, 0, *range(10))
    given = {"subscribe": limit, "startingOffsets": "earliest", limit: "1000000"}
    finish(load(spark, running_cluster, **given, includeHeaders="true"), tmp_path)
    assert values(spark, tmp_path) == list(range(10))


@pytest.mark.turns(3)
async def test_records_that_came_before_the_first_commit_of_a_latest_query_are_read(
    running_cluster: LocalCluster, spark: SparkSession, tmp_path: Path
) -> None:
    await create(running_cluster, "trap", partitions=1)
    await send(running_cluster, "trap", 0, *range(10))
    frame = load(spark, running_cluster, subscribe="trap", queryId="trap-1")

    def fail(batch: DataFrame, batch_id: int) -> None:
        raise RuntimeError("the sink is down")

    checkpoint = str(tmp_path / "checkpoint")
    query = frame.writeStream.foreachBatch(fail).option("checkpointLocation", checkpoint).start()
    with pytest.raises(StreamingQueryException, match="the sink is down"):
        query.awaitTermination()
    await send(running_cluster, "trap", 0, *range(10, 30))
    finish(frame, tmp_path)
    assert values(spark, tmp_path) == list(range(10, 30))


async def test_a_latest_query_without_an_id_is_refused_with_the_reason(
    running_cluster: LocalCluster, spark: SparkSession, tmp_path: Path
) -> None:
    await create(running_cluster, "no-id", partitions=1)
    with pytest.raises(StreamingQueryException, match="needs the option queryId: Spark") as refused:
        finish(load(spark, running_cluster, subscribe="no-id"), tmp_path)
    assert "UnboundLocalError" not in str(refused.value), "PySpark's, which would be its last line"


def test_options_that_no_stream_takes_are_refused_at_load(
    running_cluster: LocalCluster, spark: SparkSession
) -> None:
    with pytest.raises(AnalysisException, match="option maxOffsetsPerTrigger is a whole number"):
        load(spark, running_cluster, subscribe="any", maxOffsetsPerTrigger="0")


@pytest.mark.turns(3)
async def test_a_topic_made_anew_fails_the_next_run_or_is_read_from_its_beginning(
    running_cluster: LocalCluster, spark: SparkSession, tmp_path: Path
) -> None:
    await create(running_cluster, "anew-stream", partitions=1)
    await send(running_cluster, "anew-stream", 0, 1, 2, 3)
    given = {"subscribe": "anew-stream", "startingOffsets": "earliest"}
    finish(load(spark, running_cluster, **given), tmp_path)
    async with Admin(running_cluster.bootstrap) as admin:
        await admin.delete_topic("anew-stream")
    await create(running_cluster, "anew-stream", partitions=1)
    await send(running_cluster, "anew-stream", 0, 4, 5, 6, 7, 8)
    with pytest.raises(StreamingQueryException, match='"anew-stream" was deleted and recreated'):
        finish(load(spark, running_cluster, **given), tmp_path)
    finish(load(spark, running_cluster, **given, failOnDataLoss="false"), tmp_path)
    assert values(spark, tmp_path) == list(range(1, 9))
