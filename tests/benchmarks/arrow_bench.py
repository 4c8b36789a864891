"""How fast records become Arrow columns and back: `python -m tests.benchmarks.arrow_bench`.

One JSON line for each direction, size of value and implementation: rows a second, by the clock and
in processor time, [median, least, most] of the runs, on one core and without a network. In every
run all implementations take turns. Encoding goes from columns to batches of six partitions, chosen
by key; decoding from fetch answers to columns.

    arrow     whole columns at once: what tables and Spark use
    records   record by record: what Producer and Consumer use
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise

import pyarrow as pa
from tests.benchmarks.measures import Figure, Took, spread

from tidelog.client.arrow.columns import SCHEMA, decode_batches
from tidelog.client.arrow.record_bytes import encoded, record_bounds
from tidelog.client.arrow.row_partitions import RowPartitioning, by_partition
from tidelog.client.arrow.rows import rows_of
from tidelog.client.producing.partitioners import KeyPartitioner
from tidelog.records.batch import assign_offsets, iter_batches
from tidelog.records.compression import Codec
from tidelog.records.records import BatchBuilder, iter_columns

ROWS = {100: 200_000, 1024: 40_000}
PARTITIONS, BATCH_BYTES, FETCH_BYTES = 6, 256 << 10, 4 << 20
COLUMNS = [name for name in SCHEMA.names if name != "headers"]
NOW_MS = 1_700_000_000_000

Implementations = dict[str, Callable[[], int]]
"""Each does the same work and says how many rows it was."""


def arrow_figures(runs: int) -> Iterator[Figure]:
    """Sizes by turns; values of one length, and of lengths around it."""
    for size, count in ROWS.items():
        for shape, spread_bytes in (("equal", 0), ("varied", size // 2)):
            table = _table(count, size, spread_bytes)
            answers = _answers(table)
            facts = {"value_bytes": size, "lengths": shape}
            yield from _measured(runs, count, {"way": "encode", **facts}, _encoders(table))
            yield from _measured(runs, count, {"way": "decode", **facts}, _decoders(answers))


def _measured(
    runs: int, count: int, facts: Figure, implementations: Implementations
) -> Iterator[Figure]:
    took: dict[str, list[Took]] = {name: [] for name in implementations}
    for run in range(runs + 1):
        for name, work in implementations.items():
            one = Took()
            with one.turn():
                done = work()
            if done != count:
                raise SystemExit(f"{name} did {done} of {count} rows")
            took[name] += [one] if run else []  # the first one warms up
    for name, ones in took.items():
        yield {
            **facts,
            "implementation": name,
            "rows_per_s": spread([count / one.wall_s for one in ones]),
            "cpu_rows_per_s": spread([count / one.cpu_s for one in ones]),
        }


def _table(count: int, size: int, spread_bytes: int) -> pa.RecordBatch:
    source = random.Random(1)
    sizes = [size + source.randint(-spread_bytes, spread_bytes) for _ in range(count)]
    return pa.record_batch(
        {
            "key": pa.array([b"key-%d" % at for at in range(count)]),
            "value": pa.array([source.randbytes(one) for one in sizes]),
        }
    )


def _answers(table: pa.RecordBatch) -> list[bytes]:
    """All rows in one partition, as fetches bring them."""
    rows = rows_of(table, now_ms=NOW_MS, record_bytes_max=BATCH_BYTES)
    partitions = RowPartitioning(first_turn=0, switch_bytes=BATCH_BYTES).choose(
        rows, record_bounds(rows.records, batch_size=BATCH_BYTES), count=1, available=(0,)
    )
    records, runs = by_partition(rows.records, partitions)
    made = encoded(records, runs, batch_size=BATCH_BYTES, codec=Codec.NONE)
    batches = [next(iter_batches(batch.data)) for _, batch in made]
    after, pieces = assign_offsets(batches, base_offset=0, leader_epoch=0)
    each = FETCH_BYTES // BATCH_BYTES
    edges = [*range(0, len(after), each), len(after)]
    return [b"".join(pieces[2 * start : 2 * end]) for start, end in pairwise(edges)]


def _encoders(table: pa.RecordBatch) -> Implementations:
    keys, values = table["key"].to_pylist(), table["value"].to_pylist()

    def arrow() -> int:
        partitioning = RowPartitioning(first_turn=0, switch_bytes=BATCH_BYTES)
        rows = rows_of(table, now_ms=NOW_MS, record_bytes_max=BATCH_BYTES)
        sizes = record_bounds(rows.records, batch_size=BATCH_BYTES)
        partitions = partitioning.choose(rows, sizes, count=PARTITIONS, available=range(PARTITIONS))
        records, runs = by_partition(rows.records, partitions)
        made = encoded(records, runs, batch_size=BATCH_BYTES, codec=Codec.NONE)
        return sum(batch.records_count for _, batch in made)

    def records() -> int:
        partitioner, done = KeyPartitioner(), 0
        builders = [BatchBuilder() for _ in range(PARTITIONS)]
        for key, value in zip(keys, values, strict=True):
            partition = partitioner.partition(key, PARTITIONS)
            builder = builders[partition]
            if builder.append(timestamp_ms=NOW_MS, key=key, value=value) >= BATCH_BYTES:
                builder.build()
                done += builder.records_count
                builders[partition] = BatchBuilder()
        return done + sum(one.records_count for one in builders if one.build())

    return {"arrow": arrow, "records": records}


def _decoders(answers: list[bytes]) -> Implementations:
    def arrow() -> int:
        return sum(
            decode_batches(
                answer,
                topic="t",
                partition=0,
                start_offset=0,
                end_offset=2**62,
                columns=COLUMNS,
            ).num_rows
            for answer in answers
        )

    def records() -> int:
        return sum(
            len(columns.offsets)
            for answer in answers
            for _, batch in iter_batches(answer)
            for columns in iter_columns(batch)
        )

    return {"arrow": arrow, "records": records}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    for figure in arrow_figures(parser.parse_args().runs):
        sys.stdout.write(json.dumps(figure) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
