"""What `tidelog bench run` does not measure: `python -m tests.benchmarks.run [NAME …]`.

One JSON line a figure. Each starts the nodes that it needs.

    failover   how long writes stand still when a broker ends: failover_bench.py
    spark      what Spark does with topics (needs Java): spark_bench.py runs parts of it
    log        the storage engine alone, without the cluster: log_bench.py runs parts of it
    partitions 1,000 partitions RF 3 in a cluster of its own: created to a record on each, memory
    many       5,000 partitions in one CreateTopics, 3,000 at rest, restarted and beside six,
               one-record batches to 300: many_bench.py runs parts of it
    groups     consumer groups and committed offsets: groups_bench.py runs parts of it, and a peer's
    transactions producing, committing, reading in transactions: transactions_bench.py runs parts
               of it, and a peer's
    quorum     three controllers alone, without the cluster: quorum_bench.py runs parts of it
    check      `tidelog check` on histories of growing size: check_bench.py takes other sizes
    arrow      records to Arrow columns and back, without the cluster: arrow_bench.py
    kafka      Kafka's protocol by confluent-kafka: failover, joins, connections: kafka_bench.py
    kafka_codec Kafka's messages in our codec, kafka-python's and kio's: kafka_codec_bench.py
    testing    a cluster in a test: start, end, memory, sends: local_cluster_bench.py churns, too
    tuning     each knob's effect beside the default; writes the table of docs/TUNING.md

`--peer COMMAND` is handed to `spark`, which measures another system beside ours, in the same
session. Machines are shared and noisy: compare ratios of one session, not figures of two.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.benchmarks.arrow_bench import arrow_figures
from tests.benchmarks.check_bench import check_figures
from tests.benchmarks.failover_bench import failover_figures
from tests.benchmarks.groups_bench import groups_figures
from tests.benchmarks.kafka_bench import kafka_figures
from tests.benchmarks.kafka_codec_bench import kafka_codec_figures
from tests.benchmarks.local_cluster_bench import local_cluster_figures
from tests.benchmarks.log_bench import log_figures
from tests.benchmarks.many_bench import many_figures
from tests.benchmarks.partitions_bench import partition_figures
from tests.benchmarks.quorum_bench import quorum_figures
from tests.benchmarks.spark_bench import Amounts, spark_figures
from tests.benchmarks.transactions_bench import transactions_figures
from tests.benchmarks.tuning_bench import tuning_figures

from tidelog.benchmarks.peer import Peer


def main() -> None:
    """Run the figures named on the command line, or all."""
    figures: Mapping[str, Callable[[int], Iterable[dict[str, Any]]]] = {
        "failover": failover_figures,
        "spark": lambda runs: spark_figures(Amounts(rounds=runs), peer=options.peer),
        "log": log_figures,
        "groups": groups_figures,
        "transactions": transactions_figures,
        "quorum": quorum_figures,
        "partitions": partition_figures,
        "many": many_figures,
        "check": check_figures,
        "arrow": arrow_figures,
        "kafka": kafka_figures,
        "kafka_codec": kafka_codec_figures,
        "testing": local_cluster_figures,
        "tuning": tuning_figures,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *figures], metavar="NAME")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peer", type=Peer.of, metavar="COMMAND")
    options = parser.parse_args()
    for name in options.names or figures:
        for figure in figures[name](options.runs):
            sys.stdout.write(json.dumps({"figure": name, **figure}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
