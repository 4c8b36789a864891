"""Micro-batches for the figures of Spark: a stream with the default trigger, fed at a steady pace.

A trigger's time is Spark's own, `triggerExecution` in the query's progress: planning, reading,
writing to a sink that keeps nothing, and Spark's logs of offsets and commits.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator

from pyspark.sql.streaming.query import StreamingQuery
from tests.benchmarks.measures import Figure
from tests.benchmarks.spark_bench_session import CORES, SparkBenchSession
from tests.benchmarks.spark_records import PARTITIONS, REPLICAS, topic

from tidelog.client.sync import Producer

RECORDS_PER_S, VALUE_BYTES = 1_000, 100
WARM_TRIGGERS = 10
_TICKS_PER_S = 50
_WARM_S_MAX = 120.0


def trigger_figures(bench: SparkBenchSession, *, seconds: float) -> Iterator[Figure]:
    """How long triggers with records take, of so many seconds after the first ones."""
    # Else Spark forgets all but the last hundred.
    bench.session.conf.set("spark.sql.streaming.numRecentProgressUpdates", "100000")
    with (
        topic(bench.bootstrap) as name,
        tempfile.TemporaryDirectory() as folder,
        Producer[bytes, bytes](bench.bootstrap) as producer,
    ):
        query = _started(bench, name, folder)
        try:
            feed(producer, name, query, seconds=_WARM_S_MAX, triggers=WARM_TRIGGERS)
            warm = len(trigger_times_ms(query))
            feed(producer, name, query, seconds=seconds, triggers=None)
            took_ms = sorted(trigger_times_ms(query)[warm:])
        finally:
            query.stop()
    ranks = statistics.quantiles(took_ms, n=100, method="inclusive")
    yield {
        "records_per_s": RECORDS_PER_S,
        "value_bytes": VALUE_BYTES,
        "partitions": PARTITIONS,
        "replicas": REPLICAS,
        "cores": CORES,
        "triggers": len(took_ms),
        "trigger_ms": {"p50": ranks[49], "p99": ranks[98]},
    }


def _started(bench: SparkBenchSession, name: str, folder: str) -> StreamingQuery:
    reader = bench.session.readStream.format("tidelog").option("subscribe", name)
    reader = reader.option("bootstrap.servers", bench.bootstrap)
    writer = reader.option("startingOffsets", "earliest").load().writeStream.format("noop")
    return writer.option("checkpointLocation", folder).start()


def feed(
    producer: Producer[bytes, bytes],
    name: str,
    query: StreamingQuery,
    *,
    seconds: float,
    triggers: int | None,
) -> None:
    """Send at a steady pace for so long, or until so many triggers had records."""
    values = [b"x" * VALUE_BYTES] * (RECORDS_PER_S // _TICKS_PER_S)
    next_s = time.monotonic()
    end_s = next_s + seconds
    while next_s < end_s and (triggers is None or len(trigger_times_ms(query)) < triggers):
        producer.submit_many(name, values)
        next_s += 1 / _TICKS_PER_S
        time.sleep(max(0.0, next_s - time.monotonic()))


def trigger_times_ms(query: StreamingQuery) -> list[int]:
    """Milliseconds of those with records."""
    if (error := query.exception()) is not None:
        raise SystemExit(str(error))
    progress = query.recentProgress
    return [one.durationMs["triggerExecution"] for one in progress if one.numInputRows > 0]
