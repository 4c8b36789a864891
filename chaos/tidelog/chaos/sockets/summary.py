"""Summary of a command's runs: a JSON object of scenarios and totals. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.sockets.verdict import worst

SUMS = (
    *("operations", "acknowledged", "lost", "duplicated", "reordered"),
    *("lost_acks_1", "lost_unclean"),
)
"""Whole numbers, summed over all runs; see `verdict.Tally` for what each counts."""


def summary(records: Sequence[RunRecord]) -> dict[str, object]:
    """Summarize runs in the order they were made; several of one scenario are one entry."""
    by_scenario: dict[str, list[RunRecord]] = {}
    for record in records:
        by_scenario.setdefault(record.scenario, []).append(record)
    return {
        "scenarios": [_scenario(name, runs) for name, runs in by_scenario.items()],
        **_sums(records),
        "verdict": worst(record.verdict for record in records),
    }


def _scenario(name: str, runs: Sequence[RunRecord]) -> dict[str, object]:
    silences_s = [run.unavailable_s for run in runs]
    return {
        "name": name,
        "verdict": worst(run.verdict for run in runs),
        "unavailable_seconds": round(median(silences_s), 3),
        "unavailable_seconds_worst": round(max(silences_s), 3),
        "runs": len(runs),
        "ok": sum(run.verdict == "ok" for run in runs),
        "unavailable_seconds_runs": [round(one, 3) for one in silences_s],
        "seeds": [run.seed for run in runs],
        **_sums(runs),
        "anomalies": sorted({anomaly.kind for run in runs for anomaly in run.anomalies}),
    }


def _sums(runs: Iterable[RunRecord]) -> dict[str, int]:
    totals = dict.fromkeys(SUMS, 0)
    for run in runs:
        for name in SUMS:
            totals[name] += run.counts[name]
    return totals
