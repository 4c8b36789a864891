"""The Raft suite: voters and clients on virtual time, for either engine."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.simulation.raft.coverage import COVERAGE
from tidelog.simulation.raft.seed_run import run_seed
from tidelog.simulation.suites.findings import SeedResult
from tidelog.simulation.suites.suite import Suite


def _run_seed(
    seed: int,
    *,
    choice: str,  # noqa: ARG001  # it has no scenarios
    engine: str,
    has_faults: bool,
    timeline_sink: Callable[[str], None] | None,
) -> SeedResult:
    return run_seed(seed, engine=engine, has_faults=has_faults, timeline_sink=timeline_sink)


SUITE = Suite(
    name="raft",
    run_seed=_run_seed,
    coverage=COVERAGE,
    choices=("storm",),
    not_covered={},
)
