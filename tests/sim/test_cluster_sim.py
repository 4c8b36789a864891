"""The cluster suite: seeds hold every promise, and one seed is one run anywhere.

Few seeds a change, other ones each time (`change_seeds`).
Longer runs: `make prove`, or `tidelog sim run --suite cluster --seeds 0:500`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.change_seeds import parametrize, parametrize_kept
from tests.seed_tests import (
    assert_replay_tells,
    assert_same_run_in_every_process,
    sums_of_command,
)

from tidelog.cli.sim import sim
from tidelog.raft.config import ENGINES
from tidelog.simulation.cluster.coverage import COVERAGE
from tidelog.simulation.cluster.seed_run import run_seed
from tidelog.simulation.cluster.suite import SUITE
from tidelog.simulation.suites.findings import SeedResult, Violation
from tidelog.simulation.suites.suite import SuiteConfig, SuiteResult

pytestmark = pytest.mark.sim

SEEDS = 4
PYSYNCOBJ_SEEDS = 1
CHEAP_SEED = 15
"""A storm of few steps, for tests of what any seed would show."""
REGRESSIONS = Path(__file__).with_name("cluster_regressions.txt")


def assert_seed_is_clean(seed: int, engine: str = ENGINES[0]) -> SeedResult:
    result = run_seed(seed, engine=engine)
    assert result.violation is None, f"seed {seed}: {result.violation}"
    assert result.acknowledged > 100
    assert sum(result.faults.values()) >= 1
    return result


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "fresh_seed", SEEDS)
    parametrize_kept(metafunc, "kept_seed", REGRESSIONS)
    parametrize(metafunc, "pysyncobj_seed", PYSYNCOBJ_SEEDS)


def test_every_promise_holds_under_faults(fresh_seed: int) -> None:
    assert_seed_is_clean(fresh_seed)


def test_every_promise_holds_with_the_second_engine(pysyncobj_seed: int) -> None:
    assert_seed_is_clean(pysyncobj_seed, "pysyncobj")


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


@pytest.mark.turns(4)
def test_a_seed_is_the_same_run_in_every_process() -> None:
    assert_same_run_in_every_process("cluster", range(CHEAP_SEED, CHEAP_SEED + 1))


# Sums


def result_of(
    seed: int, coverage: dict[str, int] | None = None, *, violation: Violation | None = None
) -> SeedResult:
    return SeedResult(
        seed=seed,
        violation=violation,
        faults={"kill": 2},
        coverage=coverage or {},
        operations=200,
        acknowledged=100,
        steps=10,
        virtual_s=20.0,
        trace_hash="",
        counts={"lost_acks_1": 3},
    )


def sums_of(*results: SeedResult, choice: str = "") -> SuiteResult:
    sums = SuiteResult(SuiteConfig(SUITE, range(len(results)), choice=choice))
    for result in results:
        sums.add(result)
    return sums


def test_sums_have_the_form_of_every_suite_and_what_was_counted() -> None:
    lost = Violation("lost-write", "gone")
    sums = sums_of(result_of(0), result_of(1, violation=lost), choice="F12")

    summary = sums.summary()

    keys = ["suite", "seeds", "steps", "faults", "coverage", "counts", "violations"]
    assert list(summary) == keys
    assert summary["counts"] == {"lost_acks_1": 6}
    replay = "tidelog sim replay --suite cluster --seed 1 --scenario F12"
    assert summary["violations"] == [{"seed": 1, "invariant": "lost-write", "replay": replay}]
    assert not sums.is_good


def test_what_a_hundred_seeds_leave_out_is_a_failure_but_of_a_scenario() -> None:
    full = dict.fromkeys(COVERAGE, 1)
    lacking = [result_of(seed) for seed in range(99)]
    lacking.append(result_of(99, {**full, "unclean_elections": 0}))

    assert sums_of(*lacking).missing_coverage() == ["unclean_elections"]
    assert not sums_of(*lacking).is_good
    assert sums_of(*lacking, choice="F12").is_good
    assert sums_of(*lacking[:-1], result_of(99, full)).is_good


# The commands


@pytest.mark.turns(4)
def test_command_ends_with_the_sums_and_keeps_a_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "runs.jsonl"
    sums_of_command("cluster", CHEAP_SEED, "--ledger", str(ledger))

    (kept,) = map(json.loads, ledger.read_text(encoding="utf-8").splitlines())
    seeds = f"{CHEAP_SEED}:{CHEAP_SEED + 1}"
    assert (kept["suite"], kept["scenario"], kept["seeds"]) == ("cluster", "storm", seeds)


def test_replay_tells_faults_elections_and_sends() -> None:
    words = "fault     kill node", "leading partition=steady-0", "producer-1.0.1"
    assert_replay_tells("cluster", 1, *words, scenario="F01")


@pytest.mark.parametrize(
    "options",
    [
        ["--suite", "cluster", "--engine", "zookeeper"],
        ["--suite", "raft", "--scenario", "F12"],
        ["--suite", "cluster", "--scenario", "F99"],
    ],
)
def test_command_refuses_what_is_not_of_the_suite(options: list[str]) -> None:
    output = CliRunner().invoke(sim, ["run", "--seeds", "0:1", *options])

    assert output.exit_code == 2
