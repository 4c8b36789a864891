"""The Raft suite: seeds hold every invariant, and one seed is the same run anywhere.

Few seeds a change, other ones each time (`change_seeds`).
Longer runs: `make prove`, or `tidelog sim run --suite raft --seeds 0:500`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner
from tests.change_seeds import parametrize, parametrize_kept
from tests.seed_tests import (
    assert_same_run_in_every_process,
)

from tidelog.cli.sim import sim
from tidelog.raft import snapshots
from tidelog.simulation.raft.coverage import COVERAGE
from tidelog.simulation.raft.seed_run import run_seed
from tidelog.simulation.raft.short_moments import waits_for_moments
from tidelog.simulation.raft.suite import SUITE
from tidelog.simulation.suites.findings import SeedResult, Violation
from tidelog.simulation.suites.suite import (
    SuiteConfig,
    SuiteResult,
    WorkerError,
    from_line,
    run_suite,
    to_line,
)
from tidelog.simulation.suites.worker import silence_nodes

pytestmark = pytest.mark.sim

SEEDS = 6
PYSYNCOBJ_SEEDS = 2
CHEAP_SEEDS = range(10, 12)
"""Few steps, with strangers and short moments: for tests of what any seed would show."""
SHORT_MOMENTS = (
    "late_answers",
    "late_votes",
    "early_reads",
    "overslept",
    "own_term_withheld",
    "torn_syncs",
)
REGRESSIONS = Path(__file__).with_name("regressions.txt")


@pytest.fixture(autouse=True)
def _silent_voters() -> Iterator[None]:
    silence_nodes()
    yield
    structlog.reset_defaults()


def assert_seed_is_clean(seed: int, engine: str = "tidelog") -> None:
    result = run_seed(seed, engine=engine)
    assert result.violation is None, f"seed {seed}: {result.violation}"
    assert result.operations >= 200
    assert result.virtual_s >= 20
    assert sum(result.faults.values()) >= 1
    assert result.acknowledged > 0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "fresh_seed", SEEDS)
    parametrize_kept(metafunc, "kept_seed", REGRESSIONS)
    parametrize(metafunc, "pysyncobj_seed", PYSYNCOBJ_SEEDS)


def test_every_invariant_holds_under_faults(fresh_seed: int) -> None:
    assert_seed_is_clean(fresh_seed)


def test_every_invariant_holds_with_the_second_engine(pysyncobj_seed: int) -> None:
    assert_seed_is_clean(pysyncobj_seed, "pysyncobj")


def test_a_seed_that_once_failed_stays_fixed(kept_seed: int) -> None:
    assert_seed_is_clean(kept_seed)


@pytest.mark.parametrize("seed", [0, 8])
def test_a_state_too_large_for_a_snapshot_leaves_no_voter_behind(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was away gets the log, which keeps all that no snapshot replaces."""
    monkeypatch.setattr(snapshots, "SNAPSHOT_BYTES_MAX", 1_500)
    assert_seed_is_clean(seed)


@pytest.mark.turns(4)
def test_without_faults_one_leader_is_elected_and_nothing_is_unknown() -> None:
    result = run_seed(1, has_faults=False)

    assert result.violation is None
    assert result.coverage["elections"] == 1
    assert result.coverage["truncated_entries"] == 0


@pytest.mark.turns(4)
def test_a_seed_of_short_moments_waits_for_each_of_them() -> None:
    result = run_seed(4)

    assert [seed for seed in range(10) if waits_for_moments(seed)] == [1, 4]
    assert all(result.faults.get(kind, 0) > 0 for kind in SHORT_MOMENTS), result.faults


@pytest.mark.turns(4)
def test_a_seed_is_the_same_run_in_every_process() -> None:
    lines = assert_same_run_in_every_process("raft", CHEAP_SEEDS)

    assert [from_line(line) for line in lines] == [run_seed(seed) for seed in CHEAP_SEEDS]


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
    )


def sums_of(*results: SeedResult, engine: str = "tidelog") -> SuiteResult:
    sums = SuiteResult(SuiteConfig(SUITE, range(len(results)), engine=engine))
    for result in results:
        sums.add(result)
    return sums


def test_sums_have_the_promised_form() -> None:
    sums = sums_of(
        result_of(0, {"elections": 2}), result_of(1, violation=Violation("I17", "two lead"))
    )

    summary = sums.summary()

    assert list(summary) == ["suite", "seeds", "steps", "faults", "coverage", "violations"]
    assert (summary["suite"], summary["seeds"], summary["steps"]) == ("raft", 2, 20)
    assert summary["faults"] == {"kill": 4}
    assert summary["coverage"] == {**dict.fromkeys(COVERAGE, 0), "elections": 2}
    assert summary["violations"] == [
        {"seed": 1, "invariant": "I17", "replay": "tidelog sim replay --suite raft --seed 1"}
    ]
    assert not sums.is_good


def test_what_a_hundred_seeds_leave_out_is_a_failure() -> None:
    full = dict.fromkeys(COVERAGE, 1)
    few = [result_of(seed) for seed in range(99)]

    assert sums_of(*few).is_good
    assert sums_of(*few, result_of(99, full)).is_good
    lacking = sums_of(*few, result_of(99, {**full, "rejoins": 0}))
    assert lacking.missing_coverage() == ["rejoins"]
    assert not lacking.is_good


def test_a_workers_line_is_read_as_it_was_written() -> None:
    result = result_of(3, {"reads": 4}, violation=Violation("I19", "two votes"))

    assert from_line(to_line(result).encode()) == result


# Processes


@pytest.mark.turns(4)
@pytest.mark.real_time
async def test_two_workers_run_every_seed_once() -> None:
    seen: list[int] = []

    config = SuiteConfig(SUITE, range(8, 11))
    sums = await run_suite(config, lambda result: seen.append(result.seed))

    assert sorted(seen) == [8, 9, 10]
    assert sums.seeds == 3
    assert sums.is_good


@pytest.mark.real_time
async def test_a_patch_is_called_in_the_worker_before_its_seeds() -> None:
    with pytest.raises(WorkerError, match="0 of 1 seeds"):
        await run_suite(SuiteConfig(SUITE, range(1), patch="sys:exit"))


@pytest.mark.turns(4)
def test_command_ends_with_the_sums_and_keeps_a_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "runs.jsonl"
    options = ["run", "--suite", "raft", "--seeds", "8:9", "--ledger", str(ledger)]

    outputs = [CliRunner().invoke(sim, [*options, *more]) for more in ([], ["--json"])]

    for output in outputs:
        assert output.exit_code == 0, output.output
        assert json.loads(output.stdout.splitlines()[-1])["seeds"] == 1
    lines = [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 2
    assert list(lines[0]) == [
        *("commit", "date", "suite", "scenario"),
        *("engine", "seeds", "result"),
    ]
    assert lines[0]["seeds"] == "8:9"


@pytest.mark.parametrize("seeds", ["3", "5:5", "a:b", "9:2"])
def test_command_refuses_what_is_no_range(seeds: str) -> None:
    output = CliRunner().invoke(sim, ["run", "--suite", "raft", "--seeds", seeds])

    assert output.exit_code == 2


def test_replay_tells_faults_elections_and_operations() -> None:
    output = CliRunner().invoke(sim, ["replay", "--suite", "raft", "--seed", "7"])

    assert output.exit_code == 0
    lines = output.stdout.splitlines()
    assert lines[-1].startswith("raft seed 7: ")
    for words in ("leads in term", "fault ", "client-", "voter_ids=(1, 2, 3"):
        assert any(words in line for line in lines), words
