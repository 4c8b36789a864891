"""The wire suite: every promise holds over Kafka's frames, and one seed is one run anywhere.

Few seeds a change, other ones each time (`change_seeds`).
Longer runs: `make prove`, or `tidelog sim run --suite wire --seeds 0:500`.
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
from tidelog.simulation.suites.suite import from_line
from tidelog.simulation.wire.seed_run import run_seed

pytestmark = pytest.mark.sim

SEEDS = 20
CHEAP_SEED = 6
"""A storm of few steps, for tests of what any seed would show."""
REGRESSIONS = Path(__file__).with_name("wire_regressions.txt")


def regression_seeds() -> list[int]:
    """First column of the file; the rest of a line says what the seed found."""
    lines = REGRESSIONS.read_text(encoding="utf-8").splitlines()
    return [int(line.split()[0]) for line in lines if line and not line.startswith("#")]


def assert_seed_is_clean(seed: int) -> None:
    result = run_seed(seed)
    assert result.violation is None, f"seed {seed}: {result.violation}"
    assert sum(result.faults.values()) >= 1
    assert result.acknowledged > 50


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "fresh_seed", SEEDS)


def test_every_promise_holds_under_faults(fresh_seed: int) -> None:
    assert_seed_is_clean(fresh_seed)


@pytest.mark.parametrize("seed", regression_seeds())
def test_a_seed_that_once_failed_stays_fixed(seed: int) -> None:
    assert_seed_is_clean(seed)


def test_without_faults_nothing_is_elected_lost_or_unknown() -> None:
    result = run_seed(1, has_faults=False)

    assert result.violation is None
    assert not result.faults
    assert not any(result.coverage[name] for name in ("elections", "unknown_outcomes"))
    assert result.counts["acknowledged"] == result.acknowledged == result.counts["read"]


def test_a_seed_is_the_same_run_in_every_process() -> None:
    outputs = [_run_in_a_process(hash_seed=hash_seed) for hash_seed in ("1", "2")]

    assert outputs[0] == outputs[1]
    assert from_line(outputs[0]).seed == CHEAP_SEED


def _run_in_a_process(*, hash_seed: str) -> bytes:
    options = ["--suite=wire", f"--seeds={CHEAP_SEED}:{CHEAP_SEED + 1}:1"]
    return subprocess.run(
        [sys.executable, "-m", "tidelog.simulation.suites.worker", *options],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        check=True,
        capture_output=True,
    ).stdout


def test_command_ends_with_the_sums() -> None:
    seeds = f"{CHEAP_SEED}:{CHEAP_SEED + 1}"

    output = CliRunner().invoke(sim, ["run", "--suite", "wire", "--seeds", seeds, "--json"])

    assert output.exit_code == 0, output.output
    (line,) = output.stdout.splitlines()
    summary = json.loads(line)
    assert (summary["suite"], summary["seeds"], summary["violations"]) == ("wire", 1, [])


def test_replay_tells_faults_elections_and_sends() -> None:
    output = CliRunner().invoke(sim, ["replay", "--suite", "wire", "--seed", str(CHEAP_SEED)])

    assert output.exit_code == 0, output.output
    lines = output.stdout.splitlines()
    assert lines[-1].startswith(f"wire seed {CHEAP_SEED}: ")
    for words in ("fault     ", "leading partition=steady-0", "producer-1.0.1"):
        assert any(words in line for line in lines), words
