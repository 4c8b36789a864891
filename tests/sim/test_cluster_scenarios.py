"""Scenarios by name: each holds its claim, and says so when its fault did not bite.

Longer runs: `tidelog sim run --suite cluster --scenario F12 --seeds 0:100`.
"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tidelog.chaos.scenarios import starvation
from tidelog.chaos.story.scenario_run import PROMISE, UNOBSERVED
from tidelog.cli.sim import sim
from tidelog.simulation.cluster.cluster_port import SimClusterPort
from tidelog.simulation.cluster.scenarios import SCENARIOS
from tidelog.simulation.cluster.seed_run import run_seed
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.mutants.raft_storage import stands_still_while_syncing

pytestmark = [pytest.mark.sim, pytest.mark.turns(3)]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_holds_its_claim(name: str) -> None:
    result = run_seed(1, choice=name)

    assert result.violation is None, f"{name}: {result.violation}"
    assert sum(result.faults.values()) >= 1
    assert result.acknowledged > 50


@pytest.mark.parametrize(
    ("name", "hand", "method"),
    [
        ("F04", SimClusterPort, "_links"),
        ("F33", SimDisk, "flip"),
        ("F35", SimDisk, "vanish"),
        ("slow-majority", SimDisk, "slow_down"),
    ],
)
def test_a_fault_that_does_not_bite_is_told(
    name: str, hand: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hand, method, lambda *_: ())

    result = run_seed(1, choice=name)

    assert result.violation is not None
    assert result.violation.invariant == UNOBSERVED


def test_with_too_little_of_a_processor_a_cluster_is_not_calm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(starvation, "SHARE", 0.01)

    result = run_seed(1, choice="starved")

    assert result.violation is not None
    assert result.violation.invariant == PROMISE


def test_controllers_that_stand_still_while_their_disks_sync_are_not_calm() -> None:
    with stands_still_while_syncing.applied():
        result = run_seed(1, choice="slow-majority")

    assert result.violation is not None
    assert result.violation.invariant == PROMISE


def test_command_runs_one_by_name() -> None:
    options = ["run", "--suite", "cluster", "--scenario", "F12", "--seeds", "1:2", "--json"]

    output = CliRunner().invoke(sim, options)

    assert output.exit_code == 0, output.output
    summary = json.loads(output.stdout)
    assert summary["coverage"]["truncated_records"] > 0


def test_command_refuses_an_unknown_name_and_tells_those_there_are() -> None:
    options = ["run", "--suite", "cluster", "--scenario", "F99", "--seeds", "0:1"]

    output = CliRunner().invoke(sim, options)

    assert output.exit_code == 2
    assert "'F99'" in output.stderr
    assert "'F12'" in output.stderr
