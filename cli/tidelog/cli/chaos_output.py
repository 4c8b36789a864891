"""The progress output of `tidelog chaos`, and the files it leaves.

FOLDER/index.html            all runs
FOLDER/F12-1/report.html     one run: scenario F12, seed 1
FOLDER/F12-1/record.json     the data that the report draws
FOLDER/F12-1/history.jsonl   every call of every client, for `tidelog check`
FOLDER/F12-1/node-4.log      the log of a node, if the verdict is not ok
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
"""The number of anomalies shown per run."""


class Folder:
    """The output folder of one command."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[str, RunRecord] = {}
        """Run records by the path of their report, relative to the index."""

    def folder_of(self, plan: RunPlan) -> Path:
        """Return the folder of one run; create it if it does not exist."""
        mutant = f"-{plan.mutant}" if plan.mutant else ""
        folder = self.path / f"{plan.scenario_id}-{plan.seed}{mutant}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def write(self, plan: RunPlan, record: RunRecord) -> None:
        """Write the files of a run that has ended."""
        folder = self.folder_of(plan)
        (folder / "record.json").write_text(to_json(record), encoding="utf-8")
        report = folder / "report.html"
        report.write_text(render(record), encoding="utf-8")
        self._records[str(report.relative_to(self.path))] = record
        # After every run, so that an interrupted command leaves an index too.
        (self.path / "index.html").write_text(index(self._records), encoding="utf-8")


class Progress:
    """Progress on stderr; stdout has the results only. `count`: the number of runs, if known."""

    def __init__(self, count: int | None, *, is_silent: bool) -> None:
        self._count = count
        self._is_silent = is_silent
        self._number = 0
        self._began_s = 0.0

    def begin(self, plan: RunPlan) -> None:
        """Show that a run begins."""
        self._number += 1
        self._began_s = time.monotonic()
        place = self._number if self._count is None else f"{self._number}/{self._count}"
        name = click.style(f"{plan.scenario_id} {plan.scenario.name}", bold=True)
        mutant = f", as {plan.mutant}" if plan.mutant else ""
        self._show(f"[{place}] {name}, seed {plan.seed}{mutant}: {plan.scenario.claim}")

    def note(self, what: str) -> None:
        """Show an event of the current run."""
        self._show(f"  {time.monotonic() - self._began_s:5.1f} s  {what}")

    def show_result(self, record: RunRecord) -> None:
        """Show the verdict, the counts and the first anomalies of a run."""
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
            self._show(f"    and {further} more, see the report")

    def end(self, folder: Path) -> None:
        """Show where the reports are, after the last run."""
        self._show(f"reports: {folder / 'index.html'}")

    def _show(self, line: str) -> None:
        if not self._is_silent:
            click.echo(line, err=True)
