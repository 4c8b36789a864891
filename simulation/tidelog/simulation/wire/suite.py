"""The wire suite: whole nodes under faults, and clients that speak Kafka's protocol with them."""

from __future__ import annotations

from tidelog.simulation.cluster.scenarios import STORM
from tidelog.simulation.suites.suite import Suite
from tidelog.simulation.wire.coverage import COVERAGE
from tidelog.simulation.wire.seed_run import run_seed

SUITE = Suite(name="wire", run_seed=run_seed, coverage=COVERAGE, choices=(STORM,), not_covered={})
