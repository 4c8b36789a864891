"""The figures of groups: what each row is, its aims, and how a measure is judged. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Figure = dict[str, Any]  # what a JSON line holds


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table; bounds by the name of the measure, in its unit."""

    title: str
    at_most: Mapping[str, float] = field(default_factory=dict)
    at_least: Mapping[str, float] = field(default_factory=dict)

    @property
    def aim(self) -> str:
        """The bounds, for people."""
        bounds = [f"{name} ≤ {bound:g}" for name, bound in self.at_most.items()]
        bounds += [f"{name} ≥ {bound:g}" for name, bound in self.at_least.items()]
        return ", ".join(bounds)

    def misses(self, measures: Mapping[str, Any]) -> list[str]:
        """Names of the measures that miss their aims, missing ones included."""
        over = [name for name, bound in self.at_most.items() if not _is(measures, name, -1, bound)]
        under = [name for name, bound in self.at_least.items() if not _is(measures, name, 1, bound)]
        return over + under


def _is(measures: Mapping[str, Any], name: str, sign: int, bound: float) -> bool:
    value = measures.get(name)
    return isinstance(value, (int, float)) and sign * value >= sign * bound


ROWS: Mapping[str, Row] = {
    "first": Row(
        "first member ever, __consumer_offsets created on the way, to its first record",
        at_most={"worst_s": 2.0},
    ),
    "join": Row(
        "100 members of 200 partitions join at once, to balanced", at_most={"worst_s": 3.0}
    ),
    "crowd": Row(
        "1,000 members (membership alone), to balanced; coordinator's memory; idle",
        at_most={"balanced_s": 15.0, "kib_a_member": 64.0, "idle_percent_of_core": 15.0},
    ),
    "one-more": Row(
        "one more member, to its first record; the others' longest silence",
        at_most={"p99_s": 0.3, "others_silent_p99_s": 0.1},
    ),
    "member-killed": Row(
        "kill -9 of a member, to its partitions read by others", at_most={"p99_s": 1.5}
    ),
    "coordinator-killed": Row(
        "kill -9 of the coordinator's broker, to the next commit", at_most={"p99_s": 1.5}
    ),
    "commit": Row("await commit(), one at a time", at_most={"p50_ms": 2.0, "p99_ms": 10.0}),
    "commits": Row("commits of 50 groups at once", at_least={"commits_per_s": 1_500}),
    "offsets": Row("offsets in commits of 100 partitions", at_least={"offsets_per_s": 30_000}),
    "load": Row(
        "load of 100,000 committed offsets; the node's longest stall meanwhile",
        at_most={"worst_s": 1.0, "stall_ms": 50.0},
    ),
}


def judged(
    name: str,
    side: str,
    measures: Mapping[str, Any],
    *,
    load: float,
    rows: Mapping[str, Row] = ROWS,
) -> Figure:
    """A figure of one side: `load` is the machine's load average as the row found it."""
    row = rows[name]
    misses = row.misses(measures)
    found = {"row": name, "side": side, **measures, "aim": row.aim, "met": not misses}
    return {**found, "misses": misses, "load": round(load, 1)}


def failed(name: str, side: str, error: str, *, rows: Mapping[str, Row] = ROWS) -> Figure:
    """A row that could not be measured."""
    return {"row": name, "side": side, "aim": rows[name].aim, "met": None, "error": error}


def spread(values: Sequence[float], unit: str) -> Figure:
    """p50, p99 and worst by nearest rank: p99 of fewer than 100 runs is the worst."""
    if not values:
        raise ValueError("no run gave a value")
    ordered = sorted(values)
    return {
        f"p50_{unit}": round(ordered[-(-len(ordered) * 50 // 100) - 1], 3),
        f"p99_{unit}": round(ordered[-(-len(ordered) * 99 // 100) - 1], 3),
        f"worst_{unit}": round(ordered[-1], 3),
        "runs": len(ordered),
    }


def longest_gap(times_s: Sequence[float], since_s: float, until_s: float) -> float:
    """The longest time without an event that overlaps the interval, cut off at its end."""
    longest, before_s = 0.0, since_s
    for time_s in [*sorted(times_s), until_s]:
        if time_s > since_s:
            longest = max(longest, min(time_s, until_s) - before_s)
        before_s = max(before_s, min(time_s, until_s))
    return longest


def table(figures: Sequence[Figure], *, rows: Mapping[str, Row] = ROWS) -> str:
    """Markdown lines, one for each figure."""
    lines = ["| figure | side | measured | aim | met |", "| --- | --- | --- | --- | --- |"]
    known = {"row", "side", "aim", "met", "misses", "error"}
    for one in figures:
        measures = ", ".join(f"{name} {value}" for name, value in one.items() if name not in known)
        met = {True: "yes", False: "no", None: "–"}[one["met"]]
        cells = (rows[one["row"]].title, one["side"], one.get("error") or measures, one["aim"], met)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
