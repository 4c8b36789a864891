"""The wire suite: every promise holds over Kafka's frames, and one seed is one run anywhere.

Few seeds a change, other ones each time (`change_seeds`).
Longer runs: `make prove`, or `tidelog sim run --suite wire --seeds 0:500`.
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

from tidelog.simulation.wire.seed_run import run_seed

pytestmark = pytest.mark.sim

SEEDS = 3
CHEAP_SEED = 6
"""A storm of few steps with a group, for tests of what any seed would show."""
REGRESSIONS = Path(__file__).with_name("wire_regressions.txt")


def assert_seed_is_clean(seed: int) -> None:
    result = run_seed(seed)
    assert result.violation is None, f"seed {seed}: {result.violation}"
    assert sum(result.faults.values()) >= 1
    assert result.acknowledged > 50


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "fresh_seed", SEEDS)
    parametrize_kept(metafunc, "kept_seed", REGRESSIONS)


def test_every_promise_holds_under_faults(fresh_seed: int) -> None:
    assert_seed_is_clean(fresh_seed)


def test_a_seed_that_once_failed_stays_fixed(kept_seed: int) -> None:
    assert_seed_is_clean(kept_seed)


def test_without_faults_nothing_is_elected_lost_or_unknown() -> None:
    result = run_seed(1, has_faults=False)

    assert result.violation is None
    assert not result.faults
    assert not any(result.coverage[name] for name in ("elections", "unknown_outcomes"))
    assert result.counts["acknowledged"] == result.acknowledged
    assert not result.counts["lost"]
    # Records of the topics that lose some were deleted before they were read.
    assert 0.5 * result.acknowledged < result.counts["read"] <= result.acknowledged


def test_without_faults_a_group_reads_all_and_its_first_generation_lasts() -> None:
    result = run_seed(CHEAP_SEED, has_faults=False)

    assert result.violation is None
    assert not result.faults
    assert result.coverage["classic_handed_out"] > 50
    assert result.coverage["classic_commits"] > 0
    assert not any(result.coverage[name] for name in ("elections", "error_25", "error_27"))


@pytest.mark.turns(4)
def test_a_seed_is_the_same_run_in_every_process() -> None:
    assert_same_run_in_every_process("wire", range(CHEAP_SEED, CHEAP_SEED + 1))


@pytest.mark.turns(4)
def test_command_ends_with_the_sums() -> None:
    sums_of_command("wire", CHEAP_SEED)


@pytest.mark.turns(4)
def test_replay_tells_faults_elections_and_sends() -> None:
    words = "fault     ", "leading partition=steady-0", "producer-1.0.1", "generation 1 assigned"
    assert_replay_tells("wire", CHEAP_SEED, *words)
