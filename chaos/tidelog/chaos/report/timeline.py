"""The figure: lanes and charts over one axis of time. Pure.

`timeline_svg` stands alone, for pages that cannot hold a whole report.
"""

from __future__ import annotations

from tidelog.chaos.report.area_charts import lag_chart, tail_chart
from tidelog.chaos.report.canvas import (
    LEFT,
    RIGHT,
    WIDTH,
    Figure,
    bars,
    label,
    rule,
)
from tidelog.chaos.report.frames import TITLE_PX
from tidelog.chaos.report.lanes import metadata_lanes, node_lanes
from tidelog.chaos.report.load_charts import latency_chart, rate_chart
from tidelog.chaos.report.markup import NOTHING, Markup, element, join, text
from tidelog.chaos.report.offsets_chart import offsets_chart
from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.report.scales import Scale, time_label, time_ticks
from tidelog.chaos.report.story import Story
from tidelog.chaos.report.style import COLOURS, FIGURE_STYLE

_AXIS_PX, _TICKS = 22.0, 12
_ANOMALIES_MAX = 30
_VEILS_MAX = 40
"""Faults whose time is shaded through all charts; more would be fog."""


def timeline_svg(record: RunRecord) -> str:
    """The window of a run in which things happen, as an SVG file of its own."""
    story = Story(record)
    style = element("style", Markup(COLOURS.replace(":root", "svg.figure") + FIGURE_STYLE))
    return figure(story, story.window, name="timeline", style=style, xmlns=_SVG) + "\n"


_SVG = "http://www.w3.org/2000/svg"


def figure(
    story: Story,
    window: tuple[float, float],
    *,
    name: str,
    style: Markup = NOTHING,
    xmlns: str | None = None,
) -> Markup:
    """Every lane and chart of a time; `name` begins every id and is unique in a page."""
    shown = Figure(story, Scale(*window, LEFT, RIGHT), name)
    top = _AXIS_PX + 8
    parts: list[Markup] = []
    where = lag_chart if shown.is_long else offsets_chart
    for draw in (node_lanes, metadata_lanes, where, tail_chart, rate_chart, latency_chart):
        part = draw(shown, top)
        parts, top = [*parts, part.markup], part.bottom
    height = top + _AXIS_PX
    return element(
        "svg",
        style,
        element("title", text(f"{story.record.scenario}: what happened when")),
        _definitions(shown, top),
        element("rect", width=WIDTH, height=height, class_="paper"),
        _veils(shown, top),
        _time_axis(shown, top),
        *parts,
        _anomalies(shown, top),
        element("path", d="M0 0", class_="cross"),
        xmlns=xmlns,
        viewBox=f"0 0 {WIDTH:.0f} {height:.0f}",
        class_="figure",
        role="img",
        data_plot=" ".join(f"{one:.3f}" for one in (*window, LEFT, RIGHT, _AXIS_PX, top)),
    )


def _definitions(shown: Figure, bottom: float) -> Markup:
    stripes = element("path", d="M-1 1l2-2M0 6l6-6M5 7l2-2", class_="stripe")
    pattern = element(
        "pattern",
        stripes,
        id=f"{shown.name}-hatch",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
    )
    plot = element("rect", x=LEFT, y=0, width=RIGHT - LEFT, height=bottom)
    return element("defs", pattern, element("clipPath", plot, id=f"{shown.name}-plot"))


def _veils(shown: Figure, bottom: float) -> Markup:
    """The times of faults, pale, through everything."""
    story = shown.story
    bands = [b for b in story.bands if shown.sees(b.began_s, story.end_of(b))]
    if len(bands) > _VEILS_MAX:
        return NOTHING
    extents = [(shown.time.at(b.began_s), shown.time.at(story.end_of(b))) for b in bands]
    top = _AXIS_PX + TITLE_PX + 6
    return join(bars([extent], top=top, height=bottom - top, class_="veil") for extent in extents)


def _time_axis(shown: Figure, bottom: float) -> Markup:
    parts = []
    for at_s in time_ticks(shown.time, count=_TICKS):
        x, words = shown.time.at(at_s), time_label(at_s, shown.time, count=_TICKS)
        parts += [
            rule(x, _AXIS_PX, bottom, "grid"),
            label(x, _AXIS_PX - 8, words, class_="tick middle"),
            label(x, bottom + 14, words, class_="tick middle"),
        ]
    return join(parts)


def _anomalies(shown: Figure, bottom: float) -> Markup:
    """A line through everything at each, with its number in the list below the figure."""
    parts: list[Markup] = []
    named: list[float] = []
    for number, anomaly in enumerate(shown.story.record.anomalies[:_ANOMALIES_MAX], start=1):
        if anomaly.at_s is None or not shown.sees(anomaly.at_s, anomaly.at_s):
            continue
        x = shown.time.at(anomaly.at_s)
        parts.append(rule(x, _AXIS_PX, bottom, "anomaly"))
        if all(abs(x - other) > 15 for other in named):
            named.append(x)
            parts.append(element("circle", cx=x, cy=_AXIS_PX + 3, r=7.5, class_="anomaly"))
            parts.append(label(x, _AXIS_PX + 6.5, f"{number}", class_="anomaly middle"))
    return join(parts)
