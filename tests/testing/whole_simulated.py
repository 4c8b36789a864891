# pyright: strict
"""Everything that `tidelog.testing` has for simulated tests, as a user would write it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Sequence

import pytest

from tidelog.client import Consumer, Producer
from tidelog.testing import (
    BrokenPromiseError,
    LimitReachedError,
    NotDeterministicError,
    NotSettledError,
    OutsideSimulationError,
    SeedFailure,
    SimulatedProcess,
    SimulatedTestError,
    SimulatedTestWarning,
    Simulation,
    SimulationReport,
    simulate,
    simulated,
)

warnings.simplefilter("error", SimulatedTestWarning)


async def store(bootstrap: Sequence[str], stored: list[bytes | None]) -> None:
    """Read orders for ever, as a team's worker does."""
    async with Consumer(bootstrap, group_id="billing") as consumer:
        await consumer.subscribe(["orders"])
        while True:
            records = await consumer.getmany(timeout_ms=500)
            stored.extend(record.value for record in records)


@simulated(
    seeds=range(1),
    faults=("kill", "process_kill"),
    brokers=3,
    controllers=None,
    configs={"num.partitions": 1},
    virtual_s=200,
    steps=2_000_000,
    items=True,
)
async def test_in_a_storm(sim: Simulation) -> None:
    await sim.create_topic("orders", partitions=1, replication_factor=3, configs={})
    stored: list[bytes | None] = []
    worker: SimulatedProcess = sim.process("worker", lambda: store(sim.bootstrap, stored))
    async with sim.storm("weather"), Producer(sim.bootstrap) as producer:
        await producer.send("orders", value=b"1")
    await sim.settle(within_s=100)
    await sim.until(lambda: b"1" in stored, within_s=60)
    assert worker.name == "worker"
    assert worker.is_running
    assert not worker.is_paused
    worker.pause()
    worker.resume()
    worker.kill()
    worker.start()
    assert await worker.stop(within_s=10)
    assert worker.has_ended
    assert sim.check()["lost"] == 0


@simulated
async def test_by_hand(sim: Simulation) -> None:
    await sim.create_topic("orders")
    leader = sim.leader("orders", 0)
    others = [node for node in sim.node_ids if node != leader]
    sim.note(f"seed {sim.seed} at {sim.now_s} s, {sim.random.random()}")
    sim.cut(leader, others)
    sim.heal()
    sim.isolate(leader)
    sim.heal()
    sim.kill(leader)
    sim.start(leader)
    await sim.settle()
    await sim.stop(others[0])
    sim.start(others[0])
    sim.pause(others[1])
    sim.resume(others[1])
    await sim.settle()
    sim.power_cut(leader)
    await sim.settle()
    assert not await sim.read_all("orders", isolation_level="read_committed")


async def lose(sim: Simulation) -> None:
    """Fail, whatever the seed."""
    assert sim.seed < 0, "an order is lost"


def test_a_report() -> None:
    report: SimulationReport = simulate(
        lose,
        seeds=2,
        faults="none",
        brokers=1,
        controllers=None,
        configs=None,
        virtual_s=10,
        steps=100_000,
        failures_max=None,
    )
    assert (report.test, report.seeds, report.left_over) == ("lose", [0, 1], {})
    failure: SeedFailure = report.failed[0]
    assert (failure.seed, failure.faults, failure.needed) == (0, (), None)
    assert isinstance(failure.error, AssertionError)
    assert failure.virtual_s > 0
    assert failure.trace
    assert failure.timeline
    assert failure.lines("", timeline_lines=3)
    assert "an order is lost" in str(report)


async def wait(sim: Simulation) -> None:
    """Wait for what never comes."""
    await asyncio.Event().wait()
    del sim


async def leave(sim: Simulation) -> None:
    """Leave the simulation."""
    await asyncio.open_connection("127.0.0.1", 9)
    del sim


async def hurry(sim: Simulation) -> None:
    """Ask too early."""
    sim.leader("orders")


def test_errors() -> None:
    for body, kind in (
        (wait, LimitReachedError),
        (leave, OutsideSimulationError),
        (hurry, NotSettledError),
    ):
        (failure,) = simulate(body, seeds=1, faults="none", virtual_s=3, quiet=True).failed
        assert isinstance(failure.error, kind)
    with pytest.raises(SimulatedTestError):
        simulate(wait, seeds=0)
    assert issubclass(BrokenPromiseError, AssertionError)
    assert issubclass(NotDeterministicError, AssertionError)
