"""Reads for the figures of Spark: whole topics, by Spark and by the client alone; tiny ones.

The ways to read a whole topic take turns, each with two partitions at a time: Spark on two cores,
the client in two processes.

    spark    one query that touches every value and offset
    fetch    the bytes of all batches are brought, and not looked at
    decode   and turned into the columns that Spark gets
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from pyspark.sql import functions
from tests.benchmarks.measures import Figure, be_quiet, spread
from tests.benchmarks.spark_bench_session import CORES, SparkBenchSession, rates
from tests.benchmarks.spark_records import PARTITIONS, REPLICAS, Records, filled

from tidelog.client.arrow import iter_batches
from tidelog.client.arrow.table_reader import Chunk, plan, read_chunks
from tidelog.client.consuming.range_reader import RangeReader
from tidelog.client.sync import LoopThread

SMALL_ROWS, SMALL_TIMES = 10, 20

Read = Callable[[str, str, Sequence[int]], int]
"""Reads partitions of a topic, and says how many rows that was."""


def read_figures(bench: SparkBenchSession, records: Records) -> Iterator[Figure]:
    """Each way's rates, and those of the peer, which reads records of its own that are equal."""
    value_bytes, _ = records.totals()
    spawn = multiprocessing.get_context("spawn")
    with (
        filled(bench.bootstrap, records) as topic,
        ProcessPoolExecutor(CORES, mp_context=spawn, initializer=be_quiet) as pool,
    ):
        runs = bench.turns(
            {
                "spark": lambda: _query(bench, topic, records),
                "fetch": lambda: _alone(pool, fetched, bench.bootstrap, topic, records),
                "decode": lambda: _alone(pool, decoded, bench.bootstrap, topic, records),
            }
        )
    for way, done in runs.items():
        found = rates(done, rows=records.rows, value_bytes=value_bytes)
        yield {"way": way, **_setting(records), **found}
    if bench.peer is not None:
        ours = [records.rows / run.wall_s for run in runs["spark"]]
        yield {"way": "peer", **_setting(records), **_peer_rates(bench, records, ours)}


def small_figures(bench: SparkBenchSession) -> Iterator[Figure]:
    """What a query costs whatever it reads."""
    with filled(bench.bootstrap, Records(100, SMALL_ROWS)) as topic:
        took_s = []
        for _ in range(SMALL_TIMES + bench.rounds):
            began_s = time.perf_counter()
            count = bench.table(topic).count()
            took_s.append(time.perf_counter() - began_s)
            if count != SMALL_ROWS:
                raise SystemExit(f"counted {count} of {SMALL_ROWS} rows")
    yield {
        "rows": SMALL_ROWS,
        "partitions": PARTITIONS,
        "cores": CORES,
        "count_ms": spread([seconds * 1e3 for seconds in took_s[bench.rounds :]]),
    }


def fetched(bootstrap: str, topic: str, partitions: Sequence[int]) -> int:
    """See `Read`; by their offsets."""

    async def chunks() -> AsyncGenerator[Chunk, None]:
        async with RangeReader(bootstrap) as reader:
            planned = await plan(
                reader, topic, partitions=partitions, start="earliest", end="latest"
            )
            rows.append(sum(one.end_offset - one.start_offset for one in planned))
            async for chunk in read_chunks(reader, planned, fail_on_data_loss=True):
                yield chunk

    rows: list[int] = []
    with LoopThread() as loop:
        for _ in loop.iterate(chunks()):
            pass
    return sum(rows)


def decoded(bootstrap: str, topic: str, partitions: Sequence[int]) -> int:
    """See `Read`."""
    batches = iter_batches(topic, bootstrap=bootstrap, partitions=partitions)
    return sum(batch.num_rows for batch in batches)


def _query(bench: SparkBenchSession, topic: str, records: Records) -> None:
    """The same as the peer's, by the same functions."""
    value = functions.col("value")
    row = (
        bench.table(topic)
        .agg(
            functions.count("*"),
            functions.sum("offset"),
            functions.max(functions.length(value)),
            functions.max("timestamp"),
            functions.sum(functions.crc32(value)),
            functions.sum(functions.length(value)),
        )
        .collect()[0]
    )
    if (row[0], row[5], row[4]) != (records.rows, *records.totals()):
        raise SystemExit(f"{row} was read of {records.rows} rows, {records.totals()}")


def _alone(
    pool: ProcessPoolExecutor, read: Read, bootstrap: str, topic: str, records: Records
) -> None:
    shares = [range(first, PARTITIONS, CORES) for first in range(CORES)]
    done = [pool.submit(read, bootstrap, topic, share) for share in shares]
    rows = sum(one.result() for one in done)
    if rows != records.rows:
        raise SystemExit(f"{read.__name__} {rows} of {records.rows} rows")


def _peer_rates(bench: SparkBenchSession, records: Records, ours: Sequence[float]) -> Figure:
    assert bench.peer is not None
    size = records.value_bytes
    arguments = ("--value-bytes", str(size), "--rows", str(records.rows))
    found = bench.peer.run("spark-read", *arguments, "--runs", str(bench.rounds))
    theirs = found[f"spark.read.{size}B.rows_s"]
    ratio = spread(ours)[0] / spread(theirs)[0]
    return {"rows_per_s": spread(theirs), "ours_to_theirs": round(ratio, 2)}


def _setting(records: Records) -> Figure:
    return {
        "value_bytes": records.value_bytes,
        "rows": records.rows,
        "partitions": PARTITIONS,
        "replicas": REPLICAS,
        "cores": CORES,
    }
