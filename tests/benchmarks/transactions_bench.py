"""Figures of transactions: `python -m tests.benchmarks.transactions_bench [ROW …]`.

Starts three nodes of its own for each row, as processes, on free ports and in a folder that goes
away; the client is this process. What is compared takes turns, so that a noisy machine strikes
both. Rows and aims: `transactions_rows`; what each does: `transactions_measures`.

With `--peer BOOTSTRAP` a running Apache Kafka is measured after ours in the same sitting, by
confluent-kafka, which must be importable (PYTHONPATH). Its brokers are killed only with
`--peer-control COMMAND`, see `groups_sides`. `read-arrow`, `offsets` and Spark's rows, which need
Java, are ours alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence

from tests.benchmarks import transactions_measures as measures
from tests.benchmarks.groups_rows import Figure, failed, judged, table
from tests.benchmarks.groups_sides import KafkaSide, TidelogSide, confluent, three_nodes
from tests.benchmarks.transactions_loads import Loads
from tests.benchmarks.transactions_measures import Amounts
from tests.benchmarks.transactions_peer_loads import PeerLoads
from tests.benchmarks.transactions_rows import ROWS

from tidelog.client.errors import TidelogError

SPARK = ("sink", "micro-batch")
OURS = ("read-arrow", "offsets", *SPARK)


def transactions_figures(
    runs: int,
    rows: Sequence[str] = (),
    *,
    peer: KafkaSide | None = None,
    amounts: Amounts | None = None,
) -> Iterator[Figure]:
    """Figures of the named rows, or of all."""
    amounts = amounts or Amounts(turns=runs)
    wanted = [row for row in ROWS if not rows or row in rows]
    for row in wanted:
        if row in SPARK:
            yield _spark(row, amounts)
            continue
        with three_nodes() as ours:
            yield _figure(row, ours, Loads(ours.bootstrap), amounts)
    if peer is None:
        return
    without = {*OURS, *(() if peer.is_controlled else ("coordinator-killed",))}
    for row in wanted:
        if row not in without:
            yield _figure(row, peer, PeerLoads(peer.bootstrap), amounts)


def _figure(
    row: str, side: TidelogSide | KafkaSide, loads: Loads | PeerLoads, amounts: Amounts
) -> Figure:
    sys.stderr.write(f"{side.name}: {ROWS[row].title}\n")
    load = os.getloadavg()[0]
    try:
        found = asyncio.run(measures.measure(row, side, loads, amounts))
    except (TidelogError, RuntimeError, TimeoutError) as error:
        return failed(row, side.name, f"{type(error).__name__}: {error}", rows=ROWS)
    return judged(row, side.name, found, load=load, rows=ROWS)


def _spark(row: str, amounts: Amounts) -> Figure:
    # Only here: it needs Java, and a session that other rows need not wait for.
    from tests.benchmarks.spark_deliveries import delivery_measures

    sys.stderr.write(f"{TidelogSide.name}: {ROWS[row].title}\n")
    load = os.getloadavg()[0]
    found = delivery_measures(
        row, turns=amounts.turns, rows=amounts.sink_rows, seconds=amounts.trigger_s
    )
    return judged(row, TidelogSide.name, found, load=load, rows=ROWS)


def main() -> None:
    """Measure what the command line names; exit code 1 when a row could not be measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], metavar="ROW")
    parser.add_argument("--runs", type=int, default=Amounts().turns, help="turns, and kills")
    parser.add_argument("--seconds", type=float, default=Amounts().seconds, help="of each turn")
    parser.add_argument("--records", type=int, default=Amounts().records, help="that are read")
    parser.add_argument("--commits", type=int, default=Amounts().commits, help="of offsets")
    parser.add_argument("--sink-rows", type=int, default=Amounts().sink_rows)
    parser.add_argument("--trigger-seconds", type=float, default=Amounts().trigger_s)
    parser.add_argument("--peer", metavar="BOOTSTRAP", help="a running Apache Kafka")
    parser.add_argument("--peer-control", metavar="COMMAND", help="kills and starts its brokers")
    parser.add_argument("--json", action="store_true", help="JSON lines alone")
    given = parser.parse_args()
    peer = None
    if given.peer is not None:
        confluent("confluent_kafka")
        peer = KafkaSide(given.peer, "transactions", given.peer_control)
    amounts = Amounts(
        turns=given.runs,
        seconds=given.seconds,
        records=given.records,
        commits=given.commits,
        sink_rows=given.sink_rows,
        trigger_s=given.trigger_seconds,
    )
    figures = []
    for figure in transactions_figures(given.runs, given.rows, peer=peer, amounts=amounts):
        figures.append(figure)
        sys.stdout.write(json.dumps(figure) + "\n")
        sys.stdout.flush()
    if not given.json:
        sys.stdout.write(table(figures, rows=ROWS) + "\n")
    sys.exit(any("error" in one for one in figures))


if __name__ == "__main__":
    main()
