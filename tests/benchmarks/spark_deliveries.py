"""Spark's sink exactly once against at least once: `deliveryGuarantee` is the only difference.

sink         a batch write of rows that Spark makes up, each turn to a topic of its own
micro-batch  streams from one topic to another with the default trigger, fed at a steady pace, by
             Spark's own time of its triggers
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack

from pyspark.sql import DataFrame, functions
from pyspark.sql.streaming.query import StreamingQuery
from tests.benchmarks.measures import Figure
from tests.benchmarks.spark_bench import bench_session
from tests.benchmarks.spark_bench_session import CORES, SparkBenchSession
from tests.benchmarks.spark_records import topic
from tests.benchmarks.spark_triggers import feed, trigger_times_ms
from tests.benchmarks.spark_writes import VALUE_BYTES
from tests.benchmarks.transactions_rows import compared

from tidelog.client.sync import Producer
from tidelog.spark.sink_options import AT_LEAST_ONCE, EXACTLY_ONCE

DELIVERIES = (EXACTLY_ONCE, AT_LEAST_ONCE)
WARM_TRIGGERS, WARM_S_MAX = 3, 120.0
"""Triggers before the timed ones: the first starts Spark's workers, the second has its backlog."""


def delivery_measures(row: str, *, turns: int, rows: int, seconds: float) -> Figure:
    """Measures of `sink`, of so many rows a turn, or of `micro-batch`, of so many seconds."""
    with bench_session(turns, None) as bench:
        return _sink(bench, rows) if row == "sink" else _micro_batch(bench, seconds)


def _sink(bench: SparkBenchSession, rows: int) -> Figure:
    key = functions.col("id").cast("string")
    value = functions.rpad(key, VALUE_BYTES, "x")
    frame = bench.session.range(0, rows, 1, CORES).select(key.alias("key"), value.alias("value"))
    with ExitStack() as topics:
        names = {one: topics.enter_context(topic(bench.bootstrap)) for one in DELIVERIES}
        runs = bench.turns({one: _writing(bench, frame, names[one], one) for one in DELIVERIES})
        for delivery, name in names.items():
            written = rows * (bench.rounds + 1)
            if (stored := bench.table(name).count()) != written:
                raise SystemExit(f"{delivery}: {stored} of {written} rows are read")
    exactly, least = ([rows / run.wall_s for run in runs[one]] for one in DELIVERIES)
    return {"rows": rows, **compared(exactly, least, "rows_per_s")}


def _writing(
    bench: SparkBenchSession, frame: DataFrame, name: str, delivery: str
) -> Callable[[], None]:
    def write() -> None:
        writer = frame.write.format("tidelog").mode("append").option("topic", name)
        writer = writer.option("deliveryGuarantee", delivery)
        writer.option("bootstrap.servers", bench.bootstrap).save()

    return write


def _micro_batch(bench: SparkBenchSession, seconds: float) -> Figure:
    # Else Spark forgets all but the last hundred.
    bench.session.conf.set("spark.sql.streaming.numRecentProgressUpdates", "100000")
    medians: dict[str, list[float]] = {one: [] for one in DELIVERIES}
    for _ in range(bench.rounds):
        for delivery in DELIVERIES:
            medians[delivery].append(_median_ms(bench, delivery, seconds))
    exactly, least = (medians[one] for one in DELIVERIES)
    added = [one - other for one, other in zip(exactly, least, strict=True)]
    return {
        "exactly_once_ms": round(statistics.median(exactly)),
        "at_least_once_ms": round(statistics.median(least)),
        "added_ms": round(statistics.median(added)),
        "turns": bench.rounds,
    }


def _median_ms(bench: SparkBenchSession, delivery: str, seconds: float) -> float:
    """Median time of a stream's triggers with records, but for the first ones."""
    with (
        topic(bench.bootstrap) as source,
        topic(bench.bootstrap) as target,
        tempfile.TemporaryDirectory() as folder,
        Producer[bytes, bytes](bench.bootstrap) as producer,
    ):
        query = _started(bench, source, target, delivery, folder)
        try:
            feed(producer, source, query, seconds=WARM_S_MAX, triggers=WARM_TRIGGERS)
            warm = len(trigger_times_ms(query))
            feed(producer, source, query, seconds=seconds, triggers=None)
            took_ms = trigger_times_ms(query)[warm:]
        finally:
            query.stop()
            time.sleep(1.0)  # its last batch's tasks end before the topics go
    if not took_ms:
        raise SystemExit(f"{delivery}: no trigger ended within {seconds:.0f} s")
    return statistics.median(took_ms)


def _started(
    bench: SparkBenchSession, source: str, target: str, delivery: str, folder: str
) -> StreamingQuery:
    reader = bench.session.readStream.format("tidelog").option("subscribe", source)
    reader = reader.option("bootstrap.servers", bench.bootstrap)
    rows = reader.option("startingOffsets", "earliest").load().select("value")
    writer = rows.writeStream.format("tidelog").option("topic", target)
    writer = writer.option("bootstrap.servers", bench.bootstrap)
    writer = writer.option("deliveryGuarantee", delivery)
    return writer.option("checkpointLocation", folder).start()
