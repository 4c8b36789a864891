"""What Spark does with topics: `python -m tests.benchmarks.spark_bench [PART …]` (needs Java).

Starts three nodes of its own, on free ports and in a folder that goes away, and a session on two
cores. One JSON line a figure; measures are [median, least, most] of the rounds, after one that
warms up; processor time is in seconds.

    read      10 M rows of 100 B and 2 M of 1 KiB: by Spark, and by the client alone
    small     a count of 10 rows
    trigger   micro-batches of a stream that records keep coming for
    sink      a batch write of 100 B rows
    decode    records to Arrow columns and back, on one core: see arrow_bench.py
    memory    the most that processes were resident with in the parts before

`--peer COMMAND` has another system read the same records by the same query in the same session:
docs/BENCHMARKS.md says what the command must understand.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from tests.benchmarks.arrow_bench import arrow_figures
from tests.benchmarks.measures import Figure, be_quiet
from tests.benchmarks.process_use import peak_mb
from tests.benchmarks.spark_bench_session import CORES, SparkBenchSession
from tests.benchmarks.spark_reads import read_figures, small_figures
from tests.benchmarks.spark_records import Records
from tests.benchmarks.spark_triggers import trigger_figures
from tests.benchmarks.spark_writes import write_figures

from tidelog.benchmarks.own_cluster import OwnCluster
from tidelog.benchmarks.peer import Peer
from tidelog.spark.session import local_session

ROWS = {100: 10_000_000, 1024: 2_000_000}
PARTS = ("read", "small", "trigger", "sink", "decode", "memory")


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of everything; rows to read by the size of their values."""

    rounds: int = 3
    rows: Mapping[int, int] = field(default_factory=lambda: dict(ROWS))
    sink_rows: int = 3_000_000
    trigger_s: float = 60.0


def spark_figures(
    amounts: Amounts, parts: Sequence[str] = PARTS, peer: Peer | None = None
) -> Generator[Figure, None, None]:
    """The figures of these parts, in the order of PARTS."""
    with bench_session(amounts.rounds, peer) as bench:
        for part in PARTS:
            for figure in _figures(part, bench, amounts) if part in parts else ():
                yield {"part": part, **figure}


def _figures(part: str, bench: SparkBenchSession, amounts: Amounts) -> Iterator[Figure]:
    match part:
        case "read":
            for value_bytes, rows in amounts.rows.items():
                yield from read_figures(bench, Records(value_bytes, rows))
        case "small":
            yield from small_figures(bench)
        case "trigger":
            yield from trigger_figures(bench, seconds=amounts.trigger_s)
        case "sink":
            yield from write_figures(bench, rows=amounts.sink_rows)
        case "decode":
            yield from arrow_figures(bench.rounds)
        case "memory":
            yield {"peak_mb": peak_mb(bench.brokers)}


@contextmanager
def bench_session(rounds: int, peer: Peer | None) -> Iterator[SparkBenchSession]:
    """Nodes, and a session on two cores; a peer's nodes run meanwhile."""
    be_quiet()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with OwnCluster() as cluster, _up(peer):
        cluster.start()
        session = local_session("tidelog figures", cores=CORES)
        try:
            yield SparkBenchSession(session, cluster.bootstrap, cluster.pids, rounds, peer)
        finally:
            session.stop()


@contextmanager
def _up(peer: Peer | None) -> Iterator[None]:
    """The peer's nodes run meanwhile."""
    if peer is None:
        yield
        return
    try:
        peer.up()
        yield
    finally:
        peer.down()


def _rows(text: str) -> tuple[int, int]:
    value_bytes, _, rows = text.partition("=")
    return int(value_bytes), int(rows)


def main() -> None:
    """Print the figures that the command line names, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="PART")
    parser.add_argument("--rounds", type=int, default=Amounts().rounds)
    parser.add_argument(
        "--rows", type=_rows, nargs="+", default=list(ROWS.items()), metavar="BYTES=ROWS"
    )
    parser.add_argument("--sink-rows", type=int, default=Amounts().sink_rows)
    parser.add_argument("--trigger-seconds", type=float, default=Amounts().trigger_s)
    parser.add_argument("--peer", type=Peer.of, metavar="COMMAND")
    given = parser.parse_args()
    amounts = Amounts(given.rounds, dict(given.rows), given.sink_rows, given.trigger_seconds)
    with closing(spark_figures(amounts, given.parts or PARTS, given.peer)) as figures:
        for figure in figures:
            sys.stdout.write(json.dumps({"figure": "spark", **figure}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
