"""Cheap runs of a seed, for the tests of simulated tests."""

from __future__ import annotations

from typing import Any

from tidelog.client import Producer
from tidelog.testing import Simulation, SimulationReport, simulate
from tidelog.testing.sim.seed_run import Body


def run(main: Body, **options: Any) -> SimulationReport:
    """One seed on one broker without faults, unless told otherwise."""
    return simulate(main, **{"seeds": 1, "brokers": 1, "faults": "none", **options})


def passes(main: Body, **options: Any) -> SimulationReport:
    """The same, of a test that passes."""
    report = run(main, **options)
    assert not report.failed, str(report)
    return report


def error_of(main: Body, **options: Any) -> BaseException:
    """The error with which it fails."""
    report = run(main, **options)
    assert len(report.failed) == 1, str(report)
    return report.failed[0].error


async def send(sim: Simulation, *values: bytes, topic: str = "t", **options: Any) -> None:
    """Send by a producer of its own, each after the last one's acknowledgement."""
    async with Producer(sim.bootstrap, **options) as producer:
        for value in values:
            await producer.send(topic, value=value)
