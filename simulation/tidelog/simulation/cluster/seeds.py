"""One seed, one run: a scenario on a fresh simulated cluster, judged by invariants and checks.

Owns what a seed's outcome is and how it is printed; never what the scenario does.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog

from tidelog.history.checks.delivery import complaints, counts
from tidelog.history.history import History
from tidelog.simulation.cluster.cluster import SimCluster
from tidelog.simulation.cluster.invariants import Invariants
from tidelog.simulation.cluster.stage import Stage

COMPLAINTS_SHOWN_MAX = 10

Scenario = Callable[[Stage, History], Coroutine[Any, Any, None]]
"""Tells its story on a stage and writes the history as it happens."""


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What became of one seed; `complaints` is empty when all is well."""

    seed: int
    trace_hash: str
    complaints: list[str]
    acknowledged: int
    duplicates: int
    virtual_s: float
    steps: int

    def __str__(self) -> str:
        facts = (
            f"seed {self.seed}: trace {self.trace_hash}, {self.acknowledged} acknowledged,"
            f" {self.duplicates} duplicates, {self.virtual_s:.1f} virtual s, {self.steps} steps"
        )
        shown = self.complaints[:COMPLAINTS_SHOWN_MAX]
        if len(self.complaints) > len(shown):
            shown = [*shown, f"and {len(self.complaints) - len(shown)} more"]
        return "\n  ".join([facts, *shown])


def run_seed(
    seed: int, scenario: Scenario, *, trace_sink: Callable[[str], None] | None = None
) -> SeedResult:
    """Run the scenario under `seed`. An error of the run is a complaint like the checks'."""
    cluster = SimCluster(seed=seed, trace_sink=trace_sink)
    history, found = History(), list[str]()
    invariants = Invariants(cluster, lambda name, what: found.append(f"{name}: {what}"))
    cluster.scheduler.after_step = invariants.after_step
    try:
        cluster.run(scenario(cluster, history))
        invariants.at_quiet()
        found += map(str, complaints(history))
    except Exception as error:  # noqa: BLE001  # whatever a run ends with is its outcome
        found.append(f"{type(error).__name__}: {error}")
    finally:
        cluster.close()
    numbers = counts(history)
    return SeedResult(
        seed=seed,
        trace_hash=cluster.trace.hexdigest(),
        complaints=found,
        acknowledged=numbers["acknowledged"],
        duplicates=numbers["duplicated"],
        virtual_s=cluster.scheduler.now_s,
        steps=cluster.scheduler.steps,
    )


def silence_nodes() -> None:
    """Let simulated nodes log nothing: they are judged by what clients see."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def main(scenario: Scenario) -> int:
    """The command line of a scenario; ends with a line of sums; 1 when a seed failed."""
    parser = argparse.ArgumentParser(description="Run a scenario on virtual time.")
    parser.add_argument("--seeds", default="0:50", help="FIRST:END, or one seed")
    parser.add_argument("--trace", action="store_true", help="a line for every seed, with its hash")
    parser.add_argument("--events", action="store_true", help="every event of the trace")
    arguments = parser.parse_args()
    silence_nodes()
    seeds = _seeds(arguments.seeds)
    failed = acknowledged = 0
    for seed in seeds:
        result = run_seed(seed, scenario, trace_sink=_print if arguments.events else None)
        failed += bool(result.complaints)
        acknowledged += result.acknowledged
        if result.complaints or arguments.trace:
            _print(str(result))
    _print(f"{len(seeds)} seeds, {failed} failed, {acknowledged} records acknowledged")
    return min(failed, 1)


def _seeds(text: str) -> range:
    first, _, end = text.partition(":")
    return range(int(first), int(end or int(first) + 1))


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
