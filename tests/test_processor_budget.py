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
    OPTION,
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


def reports_at_the_end(meter: Meter) -> tuple[list[pytest.TestReport], object]:
    """Reports that a run's end adds, and the run's exit status."""
    reports: list[pytest.TestReport] = []

    def report_of(report: pytest.TestReport) -> None:
        reports.append(report)

    hook = SimpleNamespace(pytest_runtest_logreport=report_of)
    session: Any = SimpleNamespace(config=SimpleNamespace(hook=hook), exitstatus=0)
    meter.pytest_sessionfinish(session)
    return reports, session.exitstatus


def over_budget(*, is_judge: bool, slowness: float = 1.0) -> Meter:
    meter = Meter(is_judge=is_judge)
    table_s, _ = read_budget(BUDGET.read_text(encoding="utf-8"))
    meter.yardsticks_s = [slowness * table_s]
    meter.tests["pure.nowhere", "tests/nowhere/test_x.py::test_dear"] = 9.0
    return meter


def test_a_judged_run_over_budget_fails_and_names_the_dearest_tests() -> None:
    reports, status = reports_at_the_end(over_budget(is_judge=True))

    (report,) = reports
    assert (report.outcome, report.nodeid) == ("failed", "tests/budget.toml::pure.nowhere")
    assert "9.0  tests/nowhere/test_x.py::test_dear" in str(report.longrepr)
    assert status == pytest.ExitCode.TESTS_FAILED


def test_a_users_run_over_budget_is_told_and_does_not_fail() -> None:
    meter = over_budget(is_judge=False)
    meter.tests["pure.nowhere", "tests/nowhere/test_x.py::test_dearer"] = 90.0
    lines: list[str] = []
    terminal: Any = SimpleNamespace(section=lines.append, write_line=lines.append)

    assert reports_at_the_end(meter) == ([], 0)
    meter.pytest_terminal_summary(terminal)
    assert lines[-1] == "pure.nowhere has no line in tests/budget.toml: 99.0 s"
    assert OPTION in lines[-2]


@pytest.mark.parametrize("slowness", [0.4, 2.5])
def test_a_machine_unlike_the_tables_is_not_judged(slowness: float) -> None:
    assert reports_at_the_end(over_budget(is_judge=True, slowness=slowness)) == ([], 0)


def test_a_faster_yardstick_takes_nothing_from_a_budget() -> None:
    meter = Meter(is_judge=True)
    table_s, budget = read_budget(BUDGET.read_text(encoding="utf-8"))
    meter.yardsticks_s = [0.6 * table_s]
    meter.tests["pure.cli", "tests/cli/test_x.py::test_dear"] = 0.9 * FACTOR * budget["pure.cli"]

    assert reports_at_the_end(meter) == ([], 0)


def test_ci_judges_the_budget_and_a_users_run_does_not() -> None:
    tools = TESTS.parent / "tools" / "test.sh"
    ci = TESTS.parent / ".ci" / "run"

    assert f"judged=({OPTION})" in tools.read_text(encoding="utf-8")
    assert "tools/test.sh --check" in ci.read_text(encoding="utf-8")
    assert OPTION not in (TESTS.parent / "Makefile").read_text(encoding="utf-8")


def test_the_table_names_folders_that_are_there() -> None:
    yardstick, budget = read_budget(BUDGET.read_text(encoding="utf-8"))

    assert yardstick > 0
    for line in budget:
        phase, folder = line.split(".")
        assert phase in {"pure", "process", "chaos", "spark"}
        assert folder == "tests" or (TESTS / folder).is_dir(), line
