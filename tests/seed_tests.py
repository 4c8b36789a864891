"""Assertions that the tests of every suite of seeds share: by other processes, by the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from click.testing import CliRunner

from tidelog.cli.sim import sim
from tidelog.simulation.suites.suite import from_line


def assert_same_run_in_every_process(suite: str, seeds: range) -> list[bytes]:
    """Run seeds in two processes that hash differently; the lines of both, which are the same."""
    outputs = [_run_in_a_process(suite, seeds, hash_seed=hash_seed) for hash_seed in ("1", "2")]
    assert outputs[0] == outputs[1]
    lines = outputs[0].splitlines()
    assert [from_line(line).seed for line in lines] == list(seeds)
    return lines


def _run_in_a_process(suite: str, seeds: range, *, hash_seed: str) -> bytes:
    options = [f"--suite={suite}", f"--seeds={seeds.start}:{seeds.stop}:1"]
    return subprocess.run(
        [sys.executable, "-m", "tidelog.simulation.suites.worker", *options],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        check=True,
        capture_output=True,
    ).stdout


def sums_of_command(suite: str, seed: int, *options: str) -> dict[str, Any]:  # a JSON object
    """Run one seed by the command; its sums, without a violation."""
    chosen = ["--suite", suite, "--seeds", f"{seed}:{seed + 1}"]
    output = CliRunner().invoke(sim, ["run", *chosen, "--json", *options])
    assert output.exit_code == 0, output.output
    (line,) = output.stdout.splitlines()
    summary: dict[str, Any] = json.loads(line)
    assert (summary["suite"], summary["seeds"], summary["violations"]) == (suite, 1, [])
    return summary


def assert_replay_tells(suite: str, seed: int, *words: str, scenario: str | None = None) -> None:
    """Replay a seed by the command; each of the words is in a line of its timeline."""
    chosen = [] if scenario is None else ["--scenario", scenario]
    output = CliRunner().invoke(sim, ["replay", "--suite", suite, "--seed", str(seed), *chosen])
    assert output.exit_code == 0, output.output
    lines = output.stdout.splitlines()
    assert lines[-1].startswith(f"{suite} seed {seed}: ")
    for one in words:
        assert any(one in line for line in lines), one
