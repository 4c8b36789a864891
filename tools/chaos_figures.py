"""Writes docs/chaos/figures.md from docs/ledger/chaos.jsonl, or checks that it is up to date."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from tidelog.chaos.scenarios.catalogue import SCENARIOS

ROOT = Path(__file__).resolve().parent.parent
LEDGER = ROOT / "docs" / "ledger" / "chaos.jsonl"
PAGE = ROOT / "docs" / "chaos" / "figures.md"
HEAD = """\
# Figures

Made by `make docs` from [docs/ledger/chaos.jsonl](../ledger/chaos.jsonl), to which
`tidelog chaos run … --ledger docs/ledger/chaos.jsonl` appends; do not edit. A run is one scenario
with one seed, on six processes and a proxy server; all ran on a shared virtual machine with two
cores.

*Waiting* is the longest time in a run without an acknowledgement of acks=all, while producers
tried. *Lost*, *duplicated* and *reordered* are of idempotent producers with acks=all; *lost,
acks=1* is what that may lose. Runs that were not ok are below, with what became of them; those that
are void, since the run itself was wrong, count as runs and as nothing else.

"""
NOT_OK = """
## Runs that were not ok

A line of the ledger is never changed: one that says `about` explains another.

| when | scenario | seeds | verdict | what it was |
| --- | --- | --- | --- | --- |
"""
COLUMNS = (
    *("scenario", "claim", "runs", "ok", "waiting, median", "worst"),
    *("acknowledged", "lost", "duplicated", "reordered", "lost, acks=1"),
)
SUMS = ("acknowledged", "lost", "duplicated", "reordered", "lost_acks_1")


@dataclass
class Row:
    """The runs of a scenario."""

    runs: int = 0
    good: int = 0
    silences_s: list[float] = field(default_factory=list)
    sums: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SUMS, 0))

    def add(self, entry: dict[str, Any], *, is_void: bool) -> None:
        """Read the row of one command."""
        self.runs += entry["runs"]
        if is_void:
            return
        self.good += entry["ok"]
        self.silences_s += entry["unavailable_seconds_runs"]
        for name in SUMS:
            self.sums[name] += entry[name]


def page(ledger: str) -> str:
    """The whole file."""
    lines = [json.loads(line) for line in ledger.splitlines()]
    notes = {(one["about"], one["scenario"]): one for one in lines if "about" in one}
    rows: defaultdict[str, Row] = defaultdict(Row)
    storm_s, not_ok = 0, ""
    for line in lines:
        if "about" in line:
            continue
        entries = line["result"]["scenarios"]
        for entry in entries:
            note = notes.get((line["date"], entry["name"]), {})
            rows[entry["name"]].add(entry, is_void=note.get("is_void", False))
            if entry["verdict"] != "ok":
                not_ok += _not_ok_line(line["date"], entry, note.get("why", "not explained yet"))
        if [entry["name"] for entry in entries] == ["F62"]:
            storm_s += line["load_seconds"]
    heads = f"| {' | '.join(COLUMNS)} |\n| --- | --- |{' --: |' * (len(COLUMNS) - 2)}\n"
    table = heads + "".join(_line(name, rows[name]) for name in SCENARIOS if name in rows)
    storm = f"\nRandom storm (F62) alone: {storm_s / 60:.0f} minutes of load so far.\n"
    return HEAD + table + (storm if storm_s else "") + (NOT_OK + not_ok if not_ok else "")


def _not_ok_line(date: str, entry: dict[str, Any], why: str) -> str:
    seeds = ", ".join(map(str, entry["seeds"]))
    return f"| {date[:16]} | {entry['name']} | {seeds} | {entry['verdict']} | {why} |\n"


def _line(name: str, row: Row) -> str:
    sums = [f"{row.sums[one]:,}" for one in SUMS]
    waits = f"{median(row.silences_s):.2f} s | {max(row.silences_s):.2f} s"
    claim = SCENARIOS[name].claim
    return f"| {name} | {claim} | {row.runs} | {row.good} | {waits} | {' | '.join(sums)} |\n"


def main() -> int:
    """Exit code 1: --check, and the page is not what the ledger says."""
    text = page(LEDGER.read_text(encoding="utf-8"))
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("docs/chaos/figures.md is not in step with its ledger: make docs\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
