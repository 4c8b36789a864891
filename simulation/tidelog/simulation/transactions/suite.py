"""The transactions suite: whole nodes under faults, and producers that write in transactions."""

from __future__ import annotations

from tidelog.simulation.cluster.scenarios import STORM
from tidelog.simulation.suites.suite import Suite
from tidelog.simulation.transactions.coverage import COVERAGE
from tidelog.simulation.transactions.seed_run import run_seed

SUITE = Suite(
    name="transactions", run_seed=run_seed, coverage=COVERAGE, choices=(STORM,), not_covered={}
)
