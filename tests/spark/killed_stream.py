"""A driver for tests, to be killed: four streams at once, three of which wait at a step.

    python -m tests.spark.killed_stream BOOTSTRAP FOLDER

    first     reads topic `first` from its latest offset; held in its first batch
    later     reads topic `later` from its beginning, in batches of 1,000, into Parquet
    before    counts words into topic `before`; held before the marker of its first batch
    after     counts words into topic `after`; held after the marker of its second one

Each has FOLDER/<name>/checkpoint. `resumed` runs one of them to its end, in another process.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from tests.spark.spark_steps import Steps, stepped_source

from tidelog.spark.session import session

HELD = ("first.batch", "before.commit-0", "after.committed-1")
WORDS = ("before", "after")
STARTS = {"first": {"queryId": "first"}, "later": {"startingOffsets": "earliest"}}


def reading(spark: SparkSession, bootstrap: str, name: str) -> DataFrame:
    """The numbers in topic `name`."""
    given = {**STARTS[name], "subscribe": name, "maxOffsetsPerTrigger": "1000"}
    stream = spark.readStream.format("tidelog").option("bootstrap.servers", bootstrap)
    return stream.options(**given).load().selectExpr("CAST(CAST(value AS STRING) AS long) AS id")


def counting(spark: SparkSession, bootstrap: str, folder: Path, name: str) -> DataStreamWriter:
    """Each word's count so far as "word:count" into topic `name`, a file of words a batch."""
    words = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "words"))
    counts = words.groupBy("value").count()
    writer = counts.select(f.concat_ws(":", "value", "count").alias("value")).writeStream
    writer = writer.format("tidelog").outputMode("complete").option("topic", name)
    return writer.option("bootstrap.servers", bootstrap)


def resumed(spark: SparkSession, bootstrap: str, folder: Path, name: str) -> None:
    """Run the stream of this name until all is done."""
    if name in WORDS:
        writer = counting(spark, bootstrap, folder, name)
    else:
        writer = reading(spark, bootstrap, name).writeStream.format("parquet")
        writer = writer.option("path", str(folder / name / "rows"))
    started(writer.trigger(availableNow=True), folder, name).awaitTermination()


def started(writer: DataStreamWriter, folder: Path, name: str) -> StreamingQuery:
    """With the checkpoint of this name."""
    return writer.option("checkpointLocation", str(folder / name / "checkpoint")).start()


def main() -> None:
    bootstrap, folder = sys.argv[1], Path(sys.argv[2])
    steps = Steps(str(folder))
    steps.hold(*HELD)
    # A thread for each: one that is held keeps its own.
    spark = session("killed", master="local[4]")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.dataSource.register(stepped_source(steps))

    def hold(_batch: DataFrame, _batch_id: int) -> None:
        steps.reached("first.batch")

    started(reading(spark, bootstrap, "first").writeStream.foreachBatch(hold), folder, "first")
    later = reading(spark, bootstrap, "later").writeStream.format("parquet")
    started(later.option("path", str(folder / "later" / "rows")), folder, "later")
    for name in WORDS:
        started(counting(spark, bootstrap, folder, name), folder, name)
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
