"""What tests of simulated tests share: cheap runs of a seed, and pytest in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tidelog.client import Producer
from tidelog.testing import Simulation, SimulationReport, simulate
from tidelog.testing.sim.seed_run import Body

PYTEST_INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"


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


def run_pytest(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on `test_orders.py` with this text."""
    (folder / "test_orders.py").write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text(PYTEST_INI, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            **{n: v for n, v in os.environ.items() if "PYTEST" not in n},
            "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        },
    )
