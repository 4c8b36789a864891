"""The smoke scenario over fifty seeds and all regressions; one seed is the same run anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.simulation.cluster.seeds import run_seed
from tidelog.simulation.cluster.smoke import smoke

pytestmark = pytest.mark.sim

SEEDS = 50
SEEDS_PER_TEST = 5
REGRESSIONS = Path(__file__).with_name("regressions.txt")


def regression_seeds() -> list[int]:
    """First column of the file; the rest of a line says what the seed found."""
    lines = REGRESSIONS.read_text(encoding="utf-8").splitlines()
    return [int(line.split()[0]) for line in lines if line and not line.startswith("#")]


def assert_seed_is_clean(seed: int) -> None:
    result = run_seed(seed, smoke)
    assert not result.complaints, str(result)
    assert result.acknowledged > 0


@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_PER_TEST))
def test_nothing_acknowledged_is_lost_when_a_leader_crashes(first: int) -> None:
    for seed in range(first, first + SEEDS_PER_TEST):
        assert_seed_is_clean(seed)


@pytest.mark.parametrize("seed", regression_seeds())
def test_a_seed_that_once_failed_stays_fixed(seed: int) -> None:
    assert_seed_is_clean(seed)


def test_a_seed_has_one_trace_in_processes_with_other_hash_seeds() -> None:
    outputs = [_run_in_a_process(hash_seed=hash_seed) for hash_seed in ("1", "2")]

    assert outputs[0] == outputs[1]
    traces = [line.split()[3] for line in outputs[0].splitlines() if line.startswith("seed")]
    assert len(set(traces)) == 2


def _run_in_a_process(*, hash_seed: str) -> str:
    command = [
        sys.executable,
        "-m",
        "tidelog.simulation.cluster.smoke",
        "--seeds",
        "0:2",
        "--trace",
    ]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout
