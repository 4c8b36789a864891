"""Frames of charts: a title that explains the chart, an axis, an edge. Pure."""

from __future__ import annotations

from tidelog.chaos.report.canvas import LEFT, RIGHT, Figure, label, level
from tidelog.chaos.report.markup import NOTHING, Markup, element, join, text
from tidelog.chaos.report.quantities import group_digits
from tidelog.chaos.report.scales import Scale, ticks

TITLE_PX, GAP_PX = 20.0, 18.0


def title(top: float, name: str, note: str) -> Markup:
    """A title in one line."""
    strong = element("tspan", text(name), class_="title")
    rest = element("tspan", text(note), dx=6) if note else NOTHING
    return element("text", strong, rest, x=LEFT, y=top + 11, class_="note")


def y_axis(scale: Scale, *, count: int) -> Markup:
    """About `count` faint lines, their values at the left."""
    return join(y_tick(scale, value, group_digits(value)) for value in ticks(scale, count=count))


def y_tick(scale: Scale, value: float, words: str) -> Markup:
    """A faint line, and at the left what it stands for."""
    y = scale.at(value)
    return join([level(y, LEFT, RIGHT, "grid"), label(LEFT - 8, y + 4, words, class_="tick left")])


def inside(figure: Figure, *parts: Markup) -> Markup:
    """Cut off where the plot ends."""
    return element("g", *parts, clip_path=f"url(#{figure.name}-plot)")
