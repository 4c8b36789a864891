"""Writes for the figures of Spark, acknowledged by all in-sync replicas; partitions by key.

sink     a batch write of rows that Spark makes up, by two tasks, at least once as the client's;
         what exactly once costs: `spark_deliveries`
client   as many rows by the table writer alone, in one process, from columns in memory
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions
from tests.benchmarks.measures import Figure
from tests.benchmarks.spark_bench_session import CORES, SparkBenchSession, rates
from tests.benchmarks.spark_records import PARTITIONS, REPLICAS, topic

from tidelog.client.arrow import write_table
from tidelog.spark.sink_options import AT_LEAST_ONCE

VALUE_BYTES = 100
_BATCH_ROWS = 10_000
"""As Spark hands them over by default."""


def write_figures(bench: SparkBenchSession, *, rows: int) -> Iterator[Figure]:
    """Both take turns, each to a topic of its own."""
    with topic(bench.bootstrap) as by_sink, topic(bench.bootstrap) as by_client:
        runs = bench.turns(
            {
                "sink": lambda: _sink(bench, by_sink, rows),
                "client": lambda: _client(bench, by_client, rows),
            }
        )
        written = rows * (bench.rounds + 1)
        for name in (by_sink, by_client):
            if (stored := bench.table(name).count()) != written:
                raise SystemExit(f"{stored} of {written} rows are stored")
    for way, done in runs.items():
        yield {
            "way": way,
            "value_bytes": VALUE_BYTES,
            "rows": rows,
            "partitions": PARTITIONS,
            "replicas": REPLICAS,
            "min_insync_replicas": 2,
            "cores": CORES if way == "sink" else 1,
            **rates(done, rows=rows, value_bytes=rows * VALUE_BYTES),
        }


def _sink(bench: SparkBenchSession, name: str, rows: int) -> None:
    key = functions.col("id").cast("string")
    value = functions.rpad(key, VALUE_BYTES, "x")
    frame = bench.session.range(0, rows, 1, CORES).select(key.alias("key"), value.alias("value"))
    writer = frame.write.format("tidelog").mode("append").option("topic", name)
    writer = writer.option("deliveryGuarantee", AT_LEAST_ONCE)
    writer.option("bootstrap.servers", bench.bootstrap).save()


def _client(bench: SparkBenchSession, name: str, rows: int) -> None:
    keys = pa.array(np.arange(_BATCH_ROWS)).cast(pa.string())
    batch = pa.record_batch({"key": keys, "value": pc.utf8_rpad(keys, VALUE_BYTES, "x")})
    whole, rest = divmod(rows, _BATCH_ROWS)
    batches = [*[batch] * whole, batch.slice(0, rest)]
    write_table(batches, name, bootstrap=bench.bootstrap)
