"""The charts of a figure that are about the load: what was acknowledged, and how late. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from tidelog.chaos.report.canvas import (
    LEFT,
    RIGHT,
    Figure,
    Part,
    Pixels,
    bars,
    label,
    level,
    width_of,
)
from tidelog.chaos.report.frames import GAP_PX, TITLE_PX, inside, title, y_axis, y_tick
from tidelog.chaos.report.markup import NOTHING, Markup, element, join
from tidelog.chaos.report.quantities import milliseconds, pluralize, seconds
from tidelog.chaos.report.record import LoadPoint
from tidelog.chaos.report.scales import Scale, linear, logarithmic, ticks

_RATE_PX, _LATENCY_PX, _TROUBLE_PX = 76.0, 70.0, 9.0
_COLUMNS_MAX = 450
_PAUSE_S_MIN = 0.5
"""A pause in acknowledgements that gets its length written."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Outcomes of sends from `began_s` to `ended_s`."""

    began_s: float
    ended_s: float
    acknowledged_per_s: float
    failed: int
    unknown: int
    p99_ms: float | None
    """The greatest of the intervals it holds."""


def intervals(
    load: Sequence[LoadPoint], *, interval_s: float, low: float, high: float
) -> list[Interval]:
    """The load from `low` to `high`, put together so that a figure can show it."""
    seen = [point for point in load if low - interval_s < point.at_s < high]
    size = -(-len(seen) // _COLUMNS_MAX) or 1
    return [_together(seen[at : at + size], interval_s) for at in range(0, len(seen), size)]


def _together(points: Sequence[LoadPoint], interval_s: float) -> Interval:
    began_s, ended_s = points[0].at_s, points[-1].at_s + interval_s
    known = [point.p99_ms for point in points if point.p99_ms is not None]
    return Interval(
        began_s,
        ended_s,
        sum(point.acknowledged for point in points) / max(ended_s - began_s, 1e-9),
        sum(point.failed for point in points),
        sum(point.unknown for point in points),
        max(known, default=None),
    )


def shown_load(figure: Figure) -> list[Interval]:
    """The figure's part of the load."""
    story, time = figure.story, figure.time
    return intervals(story.load, interval_s=story.record.interval_s, low=time.low, high=time.high)


def rate_chart(figure: Figure, top: float) -> Part:
    """Acknowledged a second; below the axis, failed and unknown sends."""
    y_top, bottom = top + TITLE_PX, top + TITLE_PX + _RATE_PX
    load = shown_load(figure)
    if not load:
        return Part(NOTHING, top)
    rates = [interval.acknowledged_per_s for interval in load]
    scale = linear([0, *rates], start=bottom, end=y_top + 4, least=10)
    parts = [
        title(top, "Acknowledged", "records a second"),
        y_axis(scale, count=2),
        inside(figure, steps(figure, scale, load)),
        _pause(figure, bottom, load),
    ]
    failed = _trouble(figure, bottom + 18, "failed", [(one, one.failed) for one in load])
    unknown = _trouble(figure, bottom + 31, "unknown", [(one, one.unknown) for one in load])
    return Part(join([*parts, failed, unknown]), bottom + 31 + GAP_PX)


def _trouble(
    figure: Figure, bottom: float, name: str, numbers: Sequence[tuple[Interval, int]]
) -> Markup:
    """Times of such outcomes, and their total number."""
    extents = [_extent(figure, interval) for interval, number in numbers if number]
    sum_ = sum(number for _, number in numbers)
    return join(
        [
            label(LEFT - 8, bottom, name, class_="tick left"),
            level(bottom - 4, LEFT, RIGHT, "absent"),
            bars(extents, top=bottom - _TROUBLE_PX + 1, height=_TROUBLE_PX - 1, class_=name),
            label(RIGHT + 7, bottom, pluralize(sum_, "record"), class_="tick"),
        ]
    )


def latency_chart(figure: Figure, top: float) -> Part:
    """The 99th percentile of each interval, on a logarithmic axis."""
    y_top, bottom = top + TITLE_PX, top + TITLE_PX + _LATENCY_PX
    load = shown_load(figure)
    known = [(*_extent(figure, one), one.p99_ms) for one in load if one.p99_ms is not None]
    if not known:
        return Part(NOTHING, top)
    scale = logarithmic([p99_ms for _, _, p99_ms in known], start=bottom, end=y_top + 4)
    dashes = "".join(
        f"M{left:.1f} {scale.at(p99_ms):.1f}H{max(right, left + 0.8):.1f}"
        for left, right, p99_ms in known
    )
    parts = [
        title(top, "Latency", "99th percentile of what was acknowledged, logarithmic"),
        *(y_tick(scale, value, milliseconds(value)) for value in ticks(scale, count=4)),
        inside(figure, element("path", d=dashes, class_="latency")),
    ]
    return Part(join(parts), bottom + GAP_PX)


def steps(figure: Figure, scale: Scale, load: Sequence[Interval]) -> Markup:
    """The rate as a filled staircase."""
    path = f"M{figure.time.at(load[0].began_s):.1f} {scale.start:.1f}"
    path += "".join(
        f"V{scale.at(interval.acknowledged_per_s):.1f}H{figure.time.at(interval.ended_s):.1f}"
        for interval in load
    )
    return element("path", d=f"{path}V{scale.start:.1f}z", class_="rate")


def longest_pause(load: Sequence[Interval]) -> tuple[float, float] | None:
    """The longest time of intervals in which nothing was acknowledged."""
    runs = [
        list(run) for idle, run in groupby(load, key=lambda one: not one.acknowledged_per_s) if idle
    ]
    extents = [(run[0].began_s, run[-1].ended_s) for run in runs]
    return max(extents, key=lambda extent: extent[1] - extent[0], default=None)


def _pause(figure: Figure, bottom: float, load: Sequence[Interval]) -> Markup:
    load_s = figure.story.record.load_s
    pause = longest_pause([interval for interval in load if interval.began_s < load_s])
    if pause is None or pause[1] - pause[0] < _PAUSE_S_MIN:
        return NOTHING
    words = f"none for {seconds(pause[1] - pause[0])}"
    left, right = map(figure.time.at, pause)
    if right - left < width_of(words, is_bold=True):
        return NOTHING
    return label((left + right) / 2, bottom - 8, words, class_="remark middle")


def _extent(figure: Figure, interval: Interval) -> Pixels:
    return figure.time.at(interval.began_s), figure.time.at(interval.ended_s)
