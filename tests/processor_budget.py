"""Processor seconds a folder of tests may cost: tests/budget.toml, compared in every run.

Processor time is that of the process that runs the test, its threads, and the processes it started
and waited for; a busy machine hardly changes it. The table says seconds of the machine it was
measured on: a fixed piece of work, the yardstick, measures this one now and then. A folder may cost
`FACTOR` times its seconds; a run of some of its tests only costs less, so every run compares.

A run tells the folders that exceed their budget. It fails for them only with `--judge-budget`, as
`.ci/run` gives it, and only on a machine whose yardstick is like the table's: a Python that runs
the yardstick twice as fast does not start processes twice as fast.
"""

from __future__ import annotations

import heapq
import os
import statistics
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

BUDGET = Path(__file__).with_name("budget.toml")
FACTOR = 3.0
"""How far a folder may exceed its line: a busy machine alone makes 1.5 of it, up and down."""
PHASES = ("spark", "chaos", "process")
"""Marks of tests that run alone, in their order of preference; all others are pure."""
DEAREST = 8
LIKE_THE_TABLE = 2.0
"""How many times slower or faster than the table's yardstick a machine is judged."""
OPTION = "--judge-budget"
_SHOWN_FROM_S = 20.0
_WORKER_KEY = "processor_budget"
YARDSTICK_EVERY_S = 2.0
"""Processor seconds of tests between two looks at the yardstick."""


def processor_s() -> float:
    """Processor seconds of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def yardstick_s() -> float:
    """Processor seconds of a fixed piece of work: some milliseconds."""
    start = time.process_time()
    table: dict[int, bytes] = {}
    for number in range(40_000):
        table[number % 1_000] = number.to_bytes(8)
    sum(map(len, table.values()))
    return time.process_time() - start


def folder_of(path: Path, marks: Iterable[str]) -> str:
    """The line of the table for a test: phase and folder, such as `pure.raft`."""
    names = set(marks)
    phase = next((mark for mark in PHASES if mark in names), "pure")
    tests = BUDGET.parent
    inside = path.relative_to(tests).parts if path.is_relative_to(tests) else path.parts
    return f"{phase}.{inside[0] if len(inside) > 1 else 'tests'}"


def read_budget(text: str) -> tuple[float, dict[str, float]]:
    """The yardstick of the machine that was measured on, and seconds by phase and folder."""
    table = tomllib.loads(text)
    yardstick = float(table.pop("yardstick_s"))
    lines = {
        f"{phase}.{folder}": float(seconds)
        for phase, folders in table.items()
        for folder, seconds in folders.items()
    }
    return yardstick, lines


def complaints(
    spent_s: Mapping[str, float], budget_s: Mapping[str, float], *, scale: float = 1.0
) -> dict[str, str]:
    """What is wrong, by line of the table. `scale`: this machine's yardstick in the table's."""
    wrong = {}
    for line, spent in sorted(spent_s.items()):
        if line not in budget_s:
            wrong[line] = f"{line} has no line in tests/budget.toml: {spent / scale:.1f} s"
        elif spent > FACTOR * scale * budget_s[line]:
            wrong[line] = (
                f"{line} cost {spent / scale:.1f} s of processor time, budget "
                f"{budget_s[line]:g} s (times {FACTOR:g}): make its tests cheaper, move some to "
                "`make prove`, or change tests/budget.toml and say why"
            )
    return wrong


class Meter:
    """Sums processor seconds by test, here and in xdist's workers, and judges them at the end."""

    def __init__(self, *, is_judge: bool = False) -> None:
        self._is_judge = is_judge
        self.tests: defaultdict[tuple[str, str], float] = defaultdict(float)
        """By line of the table and node id."""
        self.yardsticks_s = [yardstick_s()]
        self._since_yardstick_s = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        start = processor_s()
        try:
            return (yield)
        finally:
            line = folder_of(item.path, (mark.name for mark in item.iter_markers()))
            self._count(line, item.nodeid, processor_s() - start)

    def _count(self, line: str, name: str, seconds: float) -> None:
        self.tests[line, name] += seconds
        self._since_yardstick_s += seconds
        if self._since_yardstick_s >= YARDSTICK_EVERY_S:
            self._since_yardstick_s = 0.0
            self.yardsticks_s.append(yardstick_s())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:  # xdist has no types
        """Add the sums of a worker of xdist that ended in order."""
        sent = getattr(node, "workeroutput", {}).get(_WORKER_KEY)
        if sent is not None:
            self.yardsticks_s += sent["yardsticks_s"]
            for line, name, seconds in sent["tests"]:
                self.tests[line, name] += seconds

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            tests = [[line, name, seconds] for (line, name), seconds in self.tests.items()]
            output[_WORKER_KEY] = {"tests": tests, "yardsticks_s": self.yardsticks_s}
            return
        if not self._is_judge or not self._is_like_the_table():
            return
        for line, complaint in self._complaints().items():
            report = pytest.TestReport(
                nodeid=f"tests/budget.toml::{line}",
                location=("tests/budget.toml", None, line),
                keywords={},
                outcome="failed",
                longrepr="\n".join([complaint, *self._dearest(line)]),
                when="call",
            )
            session.config.hook.pytest_runtest_logreport(report=report)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if sum(self.tests.values()) < _SHOWN_FROM_S:
            return
        yardstick_ms = 1000 * statistics.median(self.yardsticks_s)
        terminalreporter.section(f"processor seconds by folder (yardstick {yardstick_ms:.2f} ms)")
        spent = self.spent_s()
        for line in sorted(spent, key=lambda line: -spent[line]):
            terminalreporter.write_line(f"{spent[line]:8.1f}  {line}")
        terminalreporter.section("the dearest tests, in processor seconds")
        for sent in self._dearest(None):
            terminalreporter.write_line(sent)
        told = self._complaints().values()
        if told:
            terminalreporter.section(f"over budget; a run fails for it with {OPTION} alone")
        for complaint in told:
            terminalreporter.write_line(complaint)

    def spent_s(self) -> dict[str, float]:
        """Processor seconds by line of the table."""
        spent: defaultdict[str, float] = defaultdict(float)
        for (line, _), seconds in self.tests.items():
            spent[line] += seconds
        return spent

    def _complaints(self) -> dict[str, str]:
        _, budget = read_budget(BUDGET.read_text(encoding="utf-8"))
        return complaints(self.spent_s(), budget, scale=max(1.0, self._slowness()))

    def _is_like_the_table(self) -> bool:
        return 1 / LIKE_THE_TABLE <= self._slowness() <= LIKE_THE_TABLE

    def _slowness(self) -> float:
        """This machine's yardstick in the table's: 2.0 takes twice as long."""
        yardstick, _ = read_budget(BUDGET.read_text(encoding="utf-8"))
        return statistics.median(self.yardsticks_s) / yardstick

    def _dearest(self, line: str | None) -> list[str]:
        tests = [(s, name) for (at, name), s in self.tests.items() if line in (None, at)]
        return [f"{seconds:8.1f}  {name}" for seconds, name in heapq.nlargest(DEAREST, tests)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        OPTION,
        action="store_true",
        help="fail when a folder exceeds its budget of processor seconds (tests/budget.toml)",
    )


def pytest_configure(config: pytest.Config) -> None:
    meter = Meter(is_judge=config.getoption(OPTION, default=False))
    config.pluginmanager.register(meter, "processor-meter")
