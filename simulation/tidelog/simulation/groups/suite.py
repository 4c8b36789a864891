"""The groups suite: consumer groups on whole nodes, with real clients, in storms."""

from __future__ import annotations

from tidelog.simulation.groups.coverage import COVERAGE
from tidelog.simulation.groups.seed_run import STORM, run_seed
from tidelog.simulation.suites.suite import Suite

SUITE = Suite(name="groups", run_seed=run_seed, coverage=COVERAGE, choices=(STORM,), not_covered={})
