"""Nodes of a clone of the cluster: nobody hears them; where no id is compared they do harm."""

from __future__ import annotations

import pytest

from tidelog.simulation.cluster import clones
from tidelog.simulation.cluster.seed_run import run_seed
from tidelog.simulation.mutants.cluster_controllers import foreign_calls_served

pytestmark = pytest.mark.sim

SEED = 35


@pytest.fixture(autouse=True)
def are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every seed."""
    monkeypatch.setattr(clones, "USED_PROBABILITY", 1.0)


def test_a_clone_that_calls_changes_nothing() -> None:
    result = run_seed(SEED)

    assert result.violation is None, result.violation
    assert {"clone_heartbeat", "clone_isr", "clone_fetch"} <= result.faults.keys()


def test_where_nobody_compares_the_cluster_a_clone_commits_what_no_replica_has() -> None:
    with foreign_calls_served.applied():
        result = run_seed(SEED)

    assert result.violation is not None
    assert result.violation.invariant in {"I3", "I11"}
