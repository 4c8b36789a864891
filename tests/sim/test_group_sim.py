"""The groups suite: seeds hold every promise of groups, and one seed is one run anywhere.

Few seeds a change, other ones each time (`change_seeds`).
Longer runs: `make prove`, or `tidelog sim run --suite groups --seeds 0:1000`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.change_seeds import parametrize

from tidelog.cli.sim import sim
from tidelog.simulation.groups.seed_run import run_seed
from tidelog.simulation.mutants.hunt import CONTROL_SEEDS
from tidelog.simulation.suites.suite import from_line

pytestmark = pytest.mark.sim

SEEDS = 25
CHEAP_SEED = 7
"""A storm of few steps, for tests of what any seed would show."""
REGRESSIONS = Path(__file__).with_name("group_regressions.txt")


def regression_seeds() -> list[int]:
    """First column of the file; the rest of a line says what the seed found."""
    lines = REGRESSIONS.read_text(encoding="utf-8").splitlines()
    return [int(line.split()[0]) for line in lines if line and not line.startswith("#")]


def assert_seed_is_clean(seed: int) -> None:
    result = run_seed(seed)
    assert result.violation is None, f"seed {seed}: {result.violation}"
    assert sum(result.faults.values()) >= 1
    assert result.operations > 0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "fresh_seed", SEEDS)


def test_every_promise_holds_under_faults(fresh_seed: int) -> None:
    assert_seed_is_clean(fresh_seed)


@pytest.mark.parametrize("seed", regression_seeds())
def test_a_seed_that_once_failed_stays_fixed(seed: int) -> None:
    assert_seed_is_clean(seed)


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


def test_a_seed_is_the_same_run_in_every_process() -> None:
    outputs = [_run_in_a_process(hash_seed=hash_seed) for hash_seed in ("1", "2")]

    assert outputs[0] == outputs[1]
    assert from_line(outputs[0]).seed == CHEAP_SEED


def _run_in_a_process(*, hash_seed: str) -> bytes:
    options = ["--suite=groups", f"--seeds={CHEAP_SEED}:{CHEAP_SEED + 1}:1"]
    return subprocess.run(
        [sys.executable, "-m", "tidelog.simulation.suites.worker", *options],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        check=True,
        capture_output=True,
    ).stdout


def test_command_ends_with_the_sums() -> None:
    seeds = f"{CHEAP_SEED}:{CHEAP_SEED + 1}"

    output = CliRunner().invoke(sim, ["run", "--suite", "groups", "--seeds", seeds, "--json"])

    assert output.exit_code == 0, output.output
    (line,) = output.stdout.splitlines()
    summary = json.loads(line)
    assert (summary["suite"], summary["seeds"], summary["violations"]) == ("groups", 1, [])


def test_replay_tells_faults_members_and_calls() -> None:
    output = CliRunner().invoke(sim, ["replay", "--suite", "groups", "--seed", str(CHEAP_SEED)])

    assert output.exit_code == 0, output.output
    lines = output.stdout.splitlines()
    assert lines[-1].startswith(f"groups seed {CHEAP_SEED}: ")
    for words in ("fault     ", "assigned tides-0", "heartbeat 1 of ", "coordinator loaded"):
        assert any(words in line for line in lines), words
