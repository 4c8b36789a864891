"""Seeds of a simulated test: each one run, its limits, and the storms drawn from it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.testing.simulated_runs import error_of, run

from tidelog.client import Producer
from tidelog.core.chance import SeededRandom
from tidelog.testing import (
    LimitReachedError,
    NotDeterministicError,
    Simulation,
)
from tidelog.testing.sim.runs import SHRINK_RUNS_MAX, run_seeds
from tidelog.testing.sim.seed_run import Plan, run_seed
from tidelog.testing.sim.storm import HARSH, STRIKES_MAX, Struck, draw_strikes
from tidelog.testing.sim.target import ClusterOptions

pytestmark = pytest.mark.sim
TOPIC = "orders"


# Determinism, limits, seeds


def test_a_seed_that_runs_in_two_ways_is_named_with_the_first_difference() -> None:
    counter = iter(range(9))

    async def body(sim: Simulation) -> None:
        sim.note(f"run {next(counter)}")

    found = error_of(body)
    assert isinstance(found, NotDeterministicError)
    assert "run 1" in str(found)
    assert "run 2" in str(found)
    assert "datetime.now" in str(found)


@pytest.mark.parametrize("limits", [{"virtual_s": 5.0}, {"steps": 5_000}])
def test_a_test_that_does_not_end_says_where_it_waits(limits: dict[str, Any]) -> None:
    async def wait_for_payment() -> None:
        await asyncio.Event().wait()

    async def body(sim: Simulation) -> None:
        sim.process("payments", wait_for_payment)
        await wait_for_payment()

    found = error_of(body, brokers=3, **limits)
    assert isinstance(found, LimitReachedError)
    (test, process) = str(found).splitlines()[1:]
    assert "client: scenario waits at" in test
    assert "payments: payments waits at" in process
    assert test.count("wait_for_payment") == process.count("wait_for_payment") == 1


def test_seeds_differ_and_each_is_the_same_again() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)

    one, again, other = (run_seed(Plan("seeds", body), seed) for seed in (1, 1, 2))
    assert one.trace == again.trace != other.trace
    assert run_seed(Plan("another test", body), 1).trace != one.trace


def test_a_task_left_over_is_named() -> None:
    async def poll() -> None:
        await asyncio.sleep(1000)

    async def body(sim: Simulation) -> None:
        del sim
        body.task = asyncio.create_task(poll(), name="poller")  # type: ignore[attr-defined]
        await asyncio.sleep(0)

    (left,) = run_seed(Plan("left over", body), 0).left_over
    assert left.startswith("poller at ")
    assert "poll (test_simulated_seeds.py:" in left


def test_options_of_a_cluster_reach_its_nodes() -> None:
    async def body(sim: Simulation) -> None:
        assert list(sim.node_ids) == [1, 2, 3, 4]
        sim.kill(4)
        await sim.create_topic(TOPIC, partitions=2)

    options = ClusterOptions(brokers=3, controllers=1, configs={"num.partitions": 7})
    assert run_seed(Plan("options", body, options), 0).error is not None  # no controller, no topic


# Storms


def test_a_strike_that_is_left_out_moves_no_other() -> None:
    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        await asyncio.sleep(12)

    plan = Plan("storm", body, kinds=("clock_drift", "weather"))
    seed = next(seed for seed in range(20) if len(run_seed(plan, seed).struck) > 4)
    whole = run_seed(plan, seed).struck
    left_out = frozenset(one.number for one in whole[:2])
    found = run_seed(plan, seed, left_out=left_out).struck

    def drawn(struck: list[Struck]) -> list[tuple[object, ...]]:
        return [(one.number, one.kind, one.what, round(one.began_s, 3)) for one in struck]

    assert drawn(found) == drawn(whole)[2:]


def test_a_failure_names_the_faults_that_it_needs() -> None:
    runs = 0

    async def body(sim: Simulation) -> None:
        nonlocal runs
        runs += 1
        await sim.create_topic(TOPIC)
        await asyncio.sleep(10)
        await sim.settle()
        assert not any(one.kind == "pause" for one in sim.struck)

    plan = Plan("needs", body, kinds=("pause", "kill", "weather", "clock_drift"))
    report = run_seeds(plan, range(20))
    (found,) = report.failed
    assert len(found.faults) > 1
    assert found.needed is not None
    assert all(one.startswith("pause") for one in found.needed)
    assert len(found.needed) == 1
    assert runs <= len(report.seeds) + 2 + SHRINK_RUNS_MAX
    whole = "\n".join(found.lines("pytest x"))
    assert f"tidelog: seed {found.seed} failed after " in whole
    assert "virtual s: AssertionError\ntidelog: faults: " in whole
    assert (
        f"\ntidelog: still fails with only: {found.needed[0]}\ntidelog: replay: pytest x\n" in whole
    )


def test_a_storm_has_few_strikes_and_every_kind_can_be_drawn() -> None:
    drawn = [draw_strikes(SeededRandom(seed), HARSH, first=24) for seed in range(300)]
    assert {len(strikes) for strikes in drawn} == set(range(1, STRIKES_MAX + 1))
    assert {one.kind for strikes in drawn for one in strikes} == set(HARSH)
    assert all(strikes[0].number == 24 for strikes in drawn)


@pytest.mark.parametrize("kind", HARSH)
def test_each_kind_strikes_and_ends(kind: str) -> None:
    async def idle() -> None:
        await asyncio.sleep(1000)

    async def body(sim: Simulation) -> None:
        await sim.create_topic(TOPIC)
        sim.process("worker", idle)
        async with Producer(sim.bootstrap) as producer:
            for number in range(40):
                await producer.send(TOPIC, value=b"%d" % number)
                await asyncio.sleep(0.1)
        await sim.settle()
        assert sim.check()["acknowledged"] == 40

    plan = Plan("each kind", body, kinds=(kind,))
    outcomes = [run_seed(plan, seed) for seed in range(2)]
    assert [one.error for one in outcomes] == [None, None]
    assert any(one.struck for one in outcomes)


def test_a_failure_says_so_without_pytest(capsys: pytest.CaptureFixture[str]) -> None:
    async def main(sim: Simulation) -> None:
        assert sim.seed == 7, "not the seventh"

    with pytest.raises(AssertionError, match="not the seventh"):
        run(main).check()
    assert "seed 0 failed after " in capsys.readouterr().err
    assert run(main, quiet=True).failed
    run(main, seeds=[7]).check()
    assert capsys.readouterr().err == ""
