"""Bounds of simulated tests, each exceeded: at its value on virtual time, or at a lower one."""

from __future__ import annotations

import asyncio

import pytest
from tests.testing.simulated_runs import error_of, run

from tidelog.testing import (
    BrokenPromiseError,
    LimitReachedError,
    NotSettledError,
    Simulation,
    simulate,
)
from tidelog.testing.sim import runs, seed_run, simulation
from tidelog.testing.sim.runs import run_seeds
from tidelog.testing.sim.seed_run import Plan, run_seed
from tidelog.testing.sim.storm import LED_AGAIN_S_MAX
from tidelog.testing.sim.target import STEPS_MAX, VIRTUAL_S_MAX

pytestmark = pytest.mark.sim
TOPIC = "orders"


def test_a_cluster_has_its_time_to_be_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(sim: Simulation) -> None:
        raise AssertionError(sim)

    monkeypatch.setattr(seed_run, "READY_S_MAX", 0.1)
    (found,) = run(body, brokers=3).failed
    assert isinstance(found.error, NotSettledError)
    assert found.virtual_s < 1


def test_a_cluster_that_does_not_come_to_rest_has_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        sim.kill(sim.leader(TOPIC))
        await asyncio.sleep(5)
        await sim.settle(within_s=0.1)

    early = error_of(body, brokers=3)
    assert isinstance(early, NotSettledError)
    assert "is fenced" in str(early)
    monkeypatch.setattr(simulation, "SETTLE_S_MAX", 0.1)
    late = error_of(body, brokers=3)
    assert isinstance(late, BrokenPromiseError)
    assert str(early) in str(late)


def test_a_leader_that_stays_away_ends_its_move() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        for node in sim.node_ids:
            sim.isolate(node)
        await asyncio.sleep(2 * LED_AGAIN_S_MAX)
        sim.heal()
        await asyncio.sleep(2 * LED_AGAIN_S_MAX)
        assert sim.struck
        assert all(one.ended_s is not None for one in sim.struck)

    assert run_seed(Plan("moves", body, kinds=("leader_move",)), 0).error is None


def test_faults_are_left_out_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    async def body(sim: Simulation) -> None:
        nonlocal count
        count += 1
        await sim.create_topic(TOPIC)
        await asyncio.sleep(8)
        assert len(sim.struck) < 3

    def runs_of_a_failure() -> tuple[int, int]:
        nonlocal count
        count = 0
        (found,) = run_seeds(Plan("many", body, kinds=("clock_drift",)), range(20)).failed
        assert found.needed is not None
        return count - found.seed, len(found.faults) - len(found.needed)

    usual, left_out = runs_of_a_failure()
    assert left_out > 0
    monkeypatch.setattr(runs, "SHRINK_RUNS_MAX", 1)
    assert runs_of_a_failure()[0] < usual
    monkeypatch.setattr(runs, "SHRINK_RUNS_MAX", 20)
    monkeypatch.setattr(runs, "SHRINK_STEPS_MAX", 1)
    assert runs_of_a_failure()[0] < usual


def test_a_seed_ends_at_its_limit_of_time() -> None:
    async def body(sim: Simulation) -> None:
        await asyncio.sleep(VIRTUAL_S_MAX + 1 - sim.now_s)

    report = simulate(body, seeds=1, faults="none", brokers=1)
    assert isinstance(report.failed[0].error, LimitReachedError)
    assert VIRTUAL_S_MAX - 1 < report.failed[0].virtual_s <= VIRTUAL_S_MAX + 1


def test_a_seed_ends_at_its_limit_of_steps() -> None:
    async def body(sim: Simulation) -> None:
        del sim
        while True:  # noqa: ASYNC110
            await asyncio.sleep(0)

    steps = STEPS_MAX // 300
    found = error_of(body, steps=steps)
    assert isinstance(found, LimitReachedError)
    assert f"{steps} steps" in str(found)
