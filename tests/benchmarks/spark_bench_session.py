"""What the figures of Spark have in common: one session, one cluster, and how runs are measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from tests.benchmarks.measures import Figure, spread
from tests.benchmarks.process_use import cpu_s

from tidelog.benchmarks.peer import Peer

CORES = 2


@dataclass(frozen=True, slots=True)
class Run:
    """By the clock, and in processor time of each kind of process."""

    wall_s: float
    cpu_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SparkBenchSession:
    """`brokers` are process ids; `rounds` count, one before them warms up."""

    session: SparkSession
    bootstrap: str
    brokers: Sequence[int]
    rounds: int
    peer: Peer | None

    def table(self, topic: str) -> DataFrame:
        """All of a topic."""
        reader = self.session.read.format("tidelog")
        return reader.option("bootstrap.servers", self.bootstrap).option("subscribe", topic).load()

    def turns(self, ways: Mapping[str, Callable[[], None]]) -> dict[str, list[Run]]:
        """The runs of each way; in every round all take a turn, so that noise strikes all."""
        runs: dict[str, list[Run]] = {name: [] for name in ways}
        for number in range(self.rounds + 1):
            for name, work in ways.items():
                done = self._run(work)
                runs[name] += [done] if number else []
        return runs

    def _run(self, work: Callable[[], None]) -> Run:
        before, began_s = cpu_s(self.brokers), time.perf_counter()
        work()
        took_s, after = time.perf_counter() - began_s, cpu_s(self.brokers)
        return Run(took_s, {kind: after[kind] - before[kind] for kind in after})


def rates(runs: Sequence[Run], *, rows: int, value_bytes: int) -> Figure:
    """Rows, and megabytes of values, a second; processor time of kinds that took part."""
    kinds = [kind for kind in runs[0].cpu_s if any(run.cpu_s[kind] > 0 for run in runs)]
    return {
        "rows_per_s": spread([rows / run.wall_s for run in runs]),
        "mb_per_s": spread([value_bytes / run.wall_s / 1e6 for run in runs]),
        "cpu_s_per_million_rows": {
            kind: spread([run.cpu_s[kind] / rows * 1e6 for run in runs]) for kind in kinds
        },
    }
