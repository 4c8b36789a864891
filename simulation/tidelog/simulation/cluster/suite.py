"""The cluster suite: whole nodes and real clients on virtual time, in storms or by a script."""

from __future__ import annotations

from tidelog.simulation.cluster.coverage import COVERAGE
from tidelog.simulation.cluster.scenarios import SCENARIOS, STORM
from tidelog.simulation.cluster.seed_run import run_seed
from tidelog.simulation.suites.suite import Suite

SUITE = Suite(
    name="cluster",
    run_seed=run_seed,
    coverage=COVERAGE,
    choices=(STORM, *SCENARIOS),
    not_covered=dict.fromkeys(SCENARIOS, frozenset(COVERAGE)),
)
