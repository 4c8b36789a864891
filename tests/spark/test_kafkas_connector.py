"""Spark's own connector for Kafka, unmodified, against KAFKA listeners: the same rows as with ours.

It needs `TIDELOG_SPARK_KAFKA_JARS=DIR`: spark-sql-kafka-0-10 for PySpark's Scala, with
spark-token-provider-kafka-0-10, kafka-clients and commons-pool2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from tests.doc_blocks import ROOT, blocks_of
from tests.integration.local_cluster import LocalCluster
from tests.spark.spark_rows import stored
from tests.spark.spark_sessions import KAFKA_VARIABLE, kafka_jars

from tidelog.client import Admin, Producer, require_all
from tidelog.client.admin.descriptions import NewTopic


def _missing() -> str | None:
    if any(jar.name.startswith("spark-sql-kafka-") for jar in kafka_jars()):
        return None
    return f"no spark-sql-kafka jar: {KAFKA_VARIABLE} names a folder with it and what it needs"


pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(_missing() is not None, reason=f"Spark's Kafka connector: {_missing()}"),
]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PER_CODEC = 40
PARTITIONS = 3
KINDS = ("kafka", "tidelog")
BEGAN_MS = 1_767_225_600_000


async def create(brokers: LocalCluster, topic: str) -> None:
    async with Admin(brokers.bootstrap) as admin:
        require_all(await admin.create_topics([NewTopic(topic, PARTITIONS, 3)]))


async def fill(brokers: LocalCluster, topic: str, begin: int = 0) -> None:
    """Batches of every codec: values and keys that are null or empty, and headers."""
    for place, codec in enumerate(CODECS):
        async with Producer(brokers.bootstrap, compression=codec) as producer:
            for number in range(begin + place * PER_CODEC, begin + (place + 1) * PER_CODEC):
                await producer.send(
                    topic,
                    value=None if number % 7 == 0 else b"%d" % number * (number % 50),
                    key=[None, b"", b"k%d" % number][number % 3],
                    headers=[("h", b"%d" % number), ("h", None), ("\u00e4", b"")][: number % 4],
                    partition=number % PARTITIONS,
                    timestamp_ms=BEGAN_MS + number,
                )


def options_of(kind: str, brokers: LocalCluster, given: dict[str, str]) -> dict[str, str]:
    at = brokers.kafka_bootstrap if kind == "kafka" else brokers.bootstrap
    return {"kafka.bootstrap.servers": at, "includeHeaders": "true", **given}


def read(spark: SparkSession, brokers: LocalCluster, kind: str, **given: str) -> DataFrame:
    return spark.read.format(kind).options(**options_of(kind, brokers, given)).load()


def rows(frame: DataFrame) -> list[Row]:
    return frame.orderBy("partition", "offset").collect()


RANGES = {
    "all": {},
    "from-offsets": {"startingOffsets": '{"TOPIC":{"0":5,"1":-2,"2":7}}', "minPartitions": "7"},
    "to-offsets": {"endingOffsets": '{"TOPIC":{"0":5,"1":-1,"2":33}}'},
    "by-time": {"startingTimestamp": f"{BEGAN_MS + 50}", "endingTimestamp": f"{BEGAN_MS + 150}"},
}
COUNTS = {"all": 200, "from-offsets": 188, "to-offsets": 105, "by-time": 100}


@pytest.mark.parametrize("name", RANGES)
async def test_a_batch_is_that_of_our_connector_row_for_row(
    brokers: LocalCluster, spark: SparkSession, name: str
) -> None:
    topic = f"batch-{name}"
    await create(brokers, topic)
    await fill(brokers, topic)
    ranges = {option: value.replace("TOPIC", topic) for option, value in RANGES[name].items()}
    theirs, ours = (read(spark, brokers, kind, subscribe=topic, **ranges) for kind in KINDS)
    assert theirs.schema == ours.schema
    found = rows(theirs)
    assert found == rows(ours)
    assert len(found) == COUNTS[name]


def finish(frame: DataFrame, folder: Path) -> list[dict[str, Any]]:
    """Write what there is to Parquet files below `folder`, and end."""
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start(f"{folder}/rows")
    )
    query.awaitTermination()
    return [dict(batch) for batch in query.recentProgress]


async def test_a_stream_is_that_of_our_connector_also_after_a_restart(
    brokers: LocalCluster, spark: SparkSession, tmp_path: Path
) -> None:
    topic = "streamed"
    await create(brokers, topic)
    given = {"subscribePattern": "stream.*", "startingOffsets": "earliest"}
    total = PER_CODEC * len(CODECS)
    for run in range(2):
        await fill(brokers, topic, begin=run * total)
        for kind in KINDS:
            options = options_of(kind, brokers, {**given, "maxOffsetsPerTrigger": "60"})
            frame = spark.readStream.format(kind).options(**options).load()
            batches = [batch["numInputRows"] for batch in finish(frame, tmp_path / kind)]
            assert sum(batches) == total
            assert max(batches) <= 60
        theirs, ours = (rows(spark.read.parquet(f"{tmp_path}/{kind}/rows")) for kind in KINDS)
        assert theirs == ours
        assert len(theirs) == total * (run + 1)


@pytest.mark.parametrize("codec", CODECS)
async def test_what_it_writes_is_read_by_ours(
    brokers: LocalCluster, spark: SparkSession, codec: str
) -> None:
    topic = f"written-{codec}"
    await create(brokers, topic)
    frame = spark.range(100).select(
        f.col("id").cast("string").alias("key"),
        f.when(f.col("id") % 5 != 0, f.repeat(f.col("id").cast("string"), 20)).alias("value"),
        (f.col("id") % PARTITIONS).cast("int").alias("partition"),
        f.array(f.struct(f.lit("h").alias("key"), f.lit(b"x").alias("value"))).alias("headers"),
    )
    options = {"topic": topic, "kafka.compression.type": codec}
    frame.write.format("kafka").options(**options_of("kafka", brokers, options)).save()
    records = await stored(brokers.bootstrap, topic)
    found = {
        (record.partition, record.key, record.value, tuple(record.headers)) for record in records
    }
    assert len(records) == 100
    assert found == {
        (n % PARTITIONS, b"%d" % n, b"%d" % n * 20 if n % 5 else None, (("h", b"x"),))
        for n in range(100)
    }


async def test_what_its_stream_writes_is_read_by_ours(
    brokers: LocalCluster, spark: SparkSession, tmp_path: Path
) -> None:
    for topic in ("copied", "copy"):
        await create(brokers, topic)
    await fill(brokers, "copied")
    given = {"subscribe": "copied", "startingOffsets": "earliest"}
    source = spark.readStream.format("kafka").options(**options_of("kafka", brokers, given)).load()
    (
        source.select("key", "value", "partition", "headers")
        .writeStream.format("kafka")
        .options(**options_of("kafka", brokers, {"topic": "copy"}))
        .option("checkpointLocation", f"{tmp_path}/checkpoint")
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )
    copied, copy = [await stored(brokers.bootstrap, topic) for topic in ("copied", "copy")]
    assert [(one.partition, one.offset, one.key, one.value) for one in copy] == [
        (one.partition, one.offset, one.key, one.value) for one in copied
    ]
    assert [one.headers for one in copy] == [one.headers for one in copied]


async def test_the_snippet_of_the_page_reads(brokers: LocalCluster, spark: SparkSession) -> None:
    (text,) = [one.text for one in blocks_of(ROOT / "docs/KAFKA.md") if "spark." in one.text]
    await create(brokers, "page-spark")
    await fill(brokers, "page-spark")
    names: dict[str, Any] = {"spark": spark}
    exec(text.replace("127.0.0.1:9092", brokers.kafka_bootstrap), names)
    assert rows(names["orders"]) == rows(read(spark, brokers, "tidelog", subscribe="page-spark"))
