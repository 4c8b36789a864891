"""The groups suite: seeds hold every promise of groups, and one seed is one run anywhere.

Few seeds a change, other ones each time (`change_seeds`).
Longer runs: `make prove`, or `tidelog sim run --suite groups --seeds 0:1000`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.change_seeds import parametrize, parametrize_kept
from tests.seed_tests import (
    assert_replay_tells,
    assert_same_run_in_every_process,
    sums_of_command,
)

from tidelog.simulation.groups.seed_run import run_seed
from tidelog.simulation.mutants.hunt import CONTROL_SEEDS

pytestmark = pytest.mark.sim

SEEDS = 7
CHEAP_SEED = 7
"""A storm of few steps, for tests of what any seed would show."""
REGRESSIONS = Path(__file__).with_name("group_regressions.txt")


def assert_seed_is_clean(seed: int) -> None:
    result = run_seed(seed)
    assert result.violation is None, f"seed {seed}: {result.violation}"
    assert sum(result.faults.values()) >= 1
    assert result.operations > 0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "fresh_seed", SEEDS)
    parametrize_kept(metafunc, "kept_seed", REGRESSIONS)


def test_every_promise_holds_under_faults(fresh_seed: int) -> None:
    assert_seed_is_clean(fresh_seed)


def test_a_seed_that_once_failed_stays_fixed(kept_seed: int) -> None:
    assert_seed_is_clean(kept_seed)


@pytest.mark.parametrize("seed", CONTROL_SEEDS)
def test_without_faults_partitions_move_and_nothing_is_lost_refused_or_unknown(seed: int) -> None:
    result = run_seed(seed, has_faults=False)

    assert result.violation is None
    assert not result.faults
    happened = {name for name, count in result.coverage.items() if count}
    assert happened >= {"members_joined", "members_left", "commits_acknowledged"}
    assert "classic_generations" in happened
    assert not happened & {"partitions_lost", "commits_refused", "commits_unknown", "elections"}
    assert result.counts["handed_again"] == 0


@pytest.mark.turns(4)
def test_a_seed_is_the_same_run_in_every_process() -> None:
    assert_same_run_in_every_process("groups", range(CHEAP_SEED, CHEAP_SEED + 1))


@pytest.mark.turns(4)
def test_command_ends_with_the_sums() -> None:
    sums_of_command("groups", CHEAP_SEED)


@pytest.mark.turns(4)
def test_replay_tells_faults_members_and_calls() -> None:
    words = "fault     ", "assigned tides-0", "heartbeat 1 of ", "coordinator loaded"
    assert_replay_tells("groups", CHEAP_SEED, *words)
