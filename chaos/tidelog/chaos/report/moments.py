"""Words of the cross-hair at each moment of a run, as JSON for the page's script. Pure."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence

from tidelog.chaos.report.load_charts import intervals
from tidelog.chaos.report.markup import Markup, clip, element
from tidelog.chaos.report.quantities import group_digits, milliseconds, moment
from tidelog.chaos.report.record import ReplicaPoint
from tidelog.chaos.report.story import Story

_INSIDE, _OUTSIDE = 240, 140
"""Moments of the window, and of the run around it."""
_FAULTS_MAX, _FAULT_CHARACTERS = 3, 60
_STALE_S = 3.0


def moments(story: Story) -> Markup:
    """A script element of data: of each moment its time in seconds, then lines of words."""
    times = sorted(
        {*_spread(*story.window, _INSIDE), *_spread(story.began_s, story.ended_s, _OUTSIDE)}
    )
    rates = intervals(
        story.load, interval_s=story.record.interval_s, low=story.began_s, high=story.ended_s
    )
    starts = [interval.began_s for interval in rates]
    lines = []
    for at_s in times:
        number = bisect_right(starts, at_s) - 1
        words = [moment(at_s), *_faults(story, at_s), *_committed_lines(story, at_s)]
        words += [line for node in story.replicas for line in _replica(story, node, at_s)]
        if number >= 0 and at_s <= rates[number].ended_s:
            words.append(_rate_text(rates[number].acknowledged_per_s, rates[number].p99_ms))
        lines.append([round(at_s, 3), *words])
    # Nothing in it can end the element, or be read as markup.
    data = json.dumps(lines, separators=(",", ":"))
    safe = data.replace("<", "\\u003c").replace("&", "\\u0026").replace(">", "\\u003e")
    return element("script", Markup(safe), type="application/json", id="moments")


def _spread(low: float, high: float, count: int) -> list[float]:
    return [round(low + (high - low) * number / (count - 1), 3) for number in range(count)]


def _faults(story: Story, at_s: float) -> list[str]:
    present = [band for band in story.bands if band.began_s <= at_s < story.end_of(band)]
    words = [clip(f"✶ {b.kind}: {b.what}", characters=_FAULT_CHARACTERS) for b in present]
    more = len(words) - _FAULTS_MAX
    return words[:_FAULTS_MAX] + ([f"✶ and {more} more faults"] if more > 0 else [])


def _committed_lines(story: Story, at_s: float) -> list[str]:
    number = bisect_right(story.partitions, at_s, key=lambda point: point.at_s)
    if not number:
        return []
    point = story.partitions[number - 1]
    leader = "no leader" if point.leader_id is None else f"leader {point.leader_id}"
    isr = ", ".join(map(str, point.isr))
    return [f"committed: {leader}, epoch {point.leader_epoch}, ISR {isr or 'empty'}"]


def _replica(story: Story, node_id: int, at_s: float) -> list[str]:
    points: Sequence[ReplicaPoint] = story.replicas[node_id]
    number = bisect_right(points, at_s, key=lambda point: point.at_s)
    if not number or at_s - points[number - 1].at_s > _STALE_S:
        return []
    point = points[number - 1]
    if not point.is_up:
        return [f"{node_id}: down"]
    tail = point.log_end_offset - point.high_watermark
    role = "no role" if point.role == "none" else f"{point.role}, epoch {point.leader_epoch}"
    high_watermark, end = group_digits(point.high_watermark), group_digits(point.log_end_offset)
    return [
        f"{node_id}: {role}, HW {high_watermark}, LEO {end}"
        + (f" (+{group_digits(tail)})" if tail > 0 else "")
    ]


def _rate_text(rate: float, p99_ms: float | None) -> str:
    late = "" if p99_ms is None else f", p99 {milliseconds(p99_ms)}"
    return f"{group_digits(rate)} acknowledged/s{late}"
