"""The transactions suite: all of a transaction or nothing, each input once, under every fault.

Few seeds a change, other ones each time (`change_seeds`).
Longer runs: `make prove`, or `tidelog sim run --suite transactions --seeds 0:500`.
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

from tidelog.simulation.transactions.seed_run import run_seed

pytestmark = pytest.mark.sim

SEEDS = 4
CHEAP_SEED = 7
"""A storm of few steps, for tests of what any seed would show."""
REGRESSIONS = Path(__file__).with_name("transaction_regressions.txt")


def assert_seed_is_clean(seed: int) -> None:
    result = run_seed(seed)
    assert result.violation is None, f"seed {seed}: {result.violation}"
    assert sum(result.faults.values()) >= 1
    assert result.counts["transactions_committed"] > 0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "fresh_seed", SEEDS)
    parametrize_kept(metafunc, "kept_seed", REGRESSIONS)


def test_every_promise_holds_under_faults(fresh_seed: int) -> None:
    assert_seed_is_clean(fresh_seed)


def test_a_seed_that_once_failed_stays_fixed(kept_seed: int) -> None:
    assert_seed_is_clean(kept_seed)


@pytest.mark.turns(4)
def test_without_faults_nothing_is_elected_moved_or_unknown() -> None:
    result = run_seed(1, has_faults=False)

    assert result.violation is None
    assert not result.faults
    seen = result.coverage
    assert not any(seen[one] for one in ("elections", "commits_unknown", "moved_while_open"))
    assert min(seen[one] for one in ("committed", "aborted_on_purpose", "copies_committed")) > 0
    assert result.counts["transactions_unknown"] == 0


@pytest.mark.turns(4)
def test_a_seed_is_the_same_run_in_every_process() -> None:
    assert_same_run_in_every_process("transactions", range(CHEAP_SEED, CHEAP_SEED + 1))


@pytest.mark.turns(4)
def test_command_ends_with_the_sums() -> None:
    sums_of_command("transactions", CHEAP_SEED)


@pytest.mark.turns(4)
def test_replay_tells_faults_elections_and_processes() -> None:
    words = "fault     ", "leading partition=ledger-0", "append-0.", "starts"
    assert_replay_tells("transactions", CHEAP_SEED, *words)
