"""One seed of a simulated test, for the tests of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from tidelog.client import Producer
from tidelog.testing import SeedFailure, Simulation, simulate
from tidelog.testing.sim.seed_run import Outcome, Plan, run_seed

Body = Callable[[Simulation], Coroutine[Any, Any, object]]
TOPIC = "orders"


def passes(body: Body, **options: Any) -> None:  # those of simulate
    """Run one seed without faults, which must pass."""
    report = simulate(body, seeds=1, **{"faults": "none", **options})
    assert not report.failed, report


def failure(body: Body, **options: Any) -> SeedFailure:  # those of simulate
    """The failure of one seed without faults."""
    report = simulate(body, seeds=1, **{"faults": "none", **options})
    (failed,) = report.failed
    return failed


def outcome(body: Body, **options: Any) -> Outcome:  # those of run_seed
    """The outcome of one seed, run once."""
    return run_seed(Plan("outcome", body), 0, **options)


async def send(sim: Simulation, *values: bytes, **options: Any) -> list[int]:  # of a producer
    """Send the values to the topic; their offsets."""
    async with Producer(sim.bootstrap, **options) as producer:
        return [(await producer.send(TOPIC, value=value)).offset for value in values]
