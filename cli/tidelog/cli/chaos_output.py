"""What `tidelog chaos` shows while it runs, and the files it leaves.

FOLDER/index.html            all runs
FOLDER/F12-1/report.html     of one: scenario and seed
FOLDER/F12-1/record.json     what the report draws
FOLDER/F12-1/history.jsonl   every call of every client, for `tidelog check`
FOLDER/F12-1/node-4.log      what its nodes said, where the verdict is not ok
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from tidelog.chaos.report.html import render
from tidelog.chaos.report.overview import index
from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.report.record_json import to_json
from tidelog.chaos.sockets.run_plan import RunPlan

ANOMALIES_MAX = 5
"""Shown of a run."""


class Folder:
    """Of one command."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[str, RunRecord] = {}
        """By the address of each report, from the index."""

    def folder_of(self, plan: RunPlan) -> Path:
        """Of one run; made when it is not there."""
        mutant = f"-{plan.mutant}" if plan.mutant else ""
        folder = self.path / f"{plan.scenario_id}-{plan.seed}{mutant}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def write(self, plan: RunPlan, record: RunRecord) -> None:
        """The run has ended."""
        folder = self.folder_of(plan)
        (folder / "record.json").write_text(to_json(record), encoding="utf-8")
        report = folder / "report.html"
        report.write_text(render(record), encoding="utf-8")
        self._records[str(report.relative_to(self.path))] = record
        # Each time: who is interrupted has it, too.
        (self.path / "index.html").write_text(index(self._records), encoding="utf-8")


class Progress:
    """On stderr, so that stdout has the results alone. `count` of runs; None: nobody knows yet."""

    def __init__(self, count: int | None, *, is_silent: bool) -> None:
        self._count = count
        self._is_silent = is_silent
        self._number = 0
        self._began_s = 0.0

    def begin(self, plan: RunPlan) -> None:
        """A run begins."""
        self._number += 1
        self._began_s = time.monotonic()
        place = self._number if self._count is None else f"{self._number}/{self._count}"
        name = click.style(f"{plan.scenario_id} {plan.scenario.name}", bold=True)
        mutant = f", as {plan.mutant}" if plan.mutant else ""
        self._show(f"[{place}] {name}, seed {plan.seed}{mutant}: {plan.scenario.claim}")

    def tell(self, what: str) -> None:
        """Something happens in it."""
        self._show(f"  {time.monotonic() - self._began_s:5.1f} s  {what}")

    def done(self, record: RunRecord) -> None:
        """It has ended."""
        colour = {"ok": "green", "violation": "red", "inconclusive": "yellow"}[record.verdict]
        counts = record.counts
        self._show(
            f"  {click.style(record.verdict, fg=colour)}: {counts['acknowledged']} acknowledged,"
            f" {counts['lost']} lost, {counts['duplicated']} duplicated,"
            f" {counts['reordered']} reordered; unavailable {record.unavailable_s:.2f} s at most;"
            f" took {time.monotonic() - self._began_s:.0f} s"
        )
        for anomaly in record.anomalies[:ANOMALIES_MAX]:
            self._show(f"    {anomaly.kind}: {anomaly.what}")
        further = len(record.anomalies) - ANOMALIES_MAX
        if further > 0:
            self._show(f"    and {further} more, in its report")

    def end(self, folder: Path) -> None:
        """All have."""
        self._show(f"reports: {folder / 'index.html'}")

    def _show(self, line: str) -> None:
        if not self._is_silent:
            click.echo(line, err=True)
