"""Budgets of folders: what is counted, what exceeds them, and that the table is of this tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.processor_budget import (
    BUDGET,
    FACTOR,
    Meter,
    complaints,
    folder_of,
    processor_s,
    read_budget,
    yardstick_s,
)

TESTS = BUDGET.parent
SPIN = "import time\nwhile time.process_time() < 0.2: pass"


def test_a_folder_that_costs_clearly_more_than_its_budget_is_told() -> None:
    budget = {"pure.raft": 100.0, "pure.log": 10.0}
    within = {"pure.raft": 100.0 * FACTOR, "pure.log": 0.5}

    assert complaints(within, budget) == {}
    (complaint,) = complaints({**within, "pure.raft": 101.0 * FACTOR}, budget).values()
    assert complaint.startswith("pure.raft cost 303.0 s of processor time, budget 100 s")


def test_a_slower_machine_may_take_longer_in_proportion() -> None:
    spent, budget = {"pure.raft": 450.0}, {"pure.raft": 100.0}

    assert complaints(spent, budget)
    assert not complaints(spent, budget, scale=2.0)
    assert complaints({"pure.raft": 200.0}, budget, scale=0.5)


def test_a_folder_without_a_budget_is_told() -> None:
    assert complaints({"pure.new": 1.0}, {}) == {
        "pure.new": "pure.new has no line in tests/budget.toml: 1.0 s"
    }


@pytest.mark.parametrize(
    ("path", "marks", "line"),
    [
        (TESTS / "raft" / "test_x.py", ["sim", "parametrize"], "pure.raft"),
        (TESTS / "log" / "deep" / "test_x.py", [], "pure.log"),
        (TESTS / "test_tidy.py", [], "pure.tests"),
        (TESTS / "log" / "test_x.py", ["process"], "process.log"),
        (TESTS / "chaos" / "test_x.py", ["process", "chaos"], "chaos.chaos"),
        (TESTS / "spark" / "test_x.py", ["process", "spark"], "spark.spark"),
    ],
)
def test_a_test_counts_for_its_folder_and_phase(path: Path, marks: list[str], line: str) -> None:
    assert folder_of(path, marks) == line


def test_processes_that_a_test_waited_for_count_and_waiting_does_not() -> None:
    start = processor_s()
    subprocess.run([sys.executable, "-c", SPIN], check=True)

    assert processor_s() - start >= 0.15, "as finely as the kernel counts"
    assert yardstick_s() > 0


def test_sums_of_workers_are_added() -> None:
    class Node:
        def __init__(self, seconds: float) -> None:
            complaint = {"tests": [["pure.log", "a", seconds]], "yardsticks_s": [0.001]}
            self.workeroutput = {"processor_budget": complaint}

    meter = Meter()
    meter.pytest_testnodedown(Node(2.0), None)
    meter.pytest_testnodedown(Node(3.0), None)
    meter.pytest_testnodedown(object(), "it crashed")

    assert meter.spent_s() == {"pure.log": 5.0}
    assert min(meter.yardsticks_s) == 0.001


def test_a_run_over_budget_fails_and_names_the_dearest_tests() -> None:
    reports: list[pytest.TestReport] = []

    def report_of(report: pytest.TestReport) -> None:
        reports.append(report)

    hook = SimpleNamespace(pytest_runtest_logreport=report_of)
    session: Any = SimpleNamespace(config=SimpleNamespace(hook=hook), exitstatus=0)
    meter = Meter()
    meter.tests["pure.nowhere", "tests/nowhere/test_x.py::test_dear"] = 9.0

    meter.pytest_sessionfinish(session)

    (report,) = reports
    assert (report.outcome, report.nodeid) == ("failed", "tests/budget.toml::pure.nowhere")
    assert "9.0  tests/nowhere/test_x.py::test_dear" in str(report.longrepr)
    assert session.exitstatus == pytest.ExitCode.TESTS_FAILED


def test_the_table_names_folders_that_are_there() -> None:
    yardstick, budget = read_budget(BUDGET.read_text(encoding="utf-8"))

    assert yardstick > 0
    for line in budget:
        phase, folder = line.split(".")
        assert phase in {"pure", "process", "chaos", "spark"}
        assert folder == "tests" or (TESTS / folder).is_dir(), line
