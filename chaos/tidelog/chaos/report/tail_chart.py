"""How many records each log holds above its own high watermark. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.chaos.report.canvas import LEFT, Figure, Part, label, path_of, skyline, width_of
from tidelog.chaos.report.frames import GAP_PX, TITLE_PX, inside, title, y_axis
from tidelog.chaos.report.markup import NOTHING, Markup, element, joined
from tidelog.chaos.report.quantities import counted
from tidelog.chaos.report.record import ReplicaPoint
from tidelog.chaos.report.scales import Scale, linear

_TAIL_PX = 62.0


def tail_chart(figure: Figure, top: float) -> Part:
    """Of each replica; what an acks=1 producer was told and nobody else has."""
    y_top, bottom = top + TITLE_PX, top + TITLE_PX + _TAIL_PX
    shown = {node: figure.stretches(node) for node in figure.story.replicas}
    points = [point for runs in shown.values() for run in runs for point in run]
    scale = linear([0, *map(_tail, points)], start=bottom, end=y_top + 4, least=10)
    drawn = [
        _area(figure, scale, run, figure.colour(node))
        for node, runs in shown.items()
        for run in runs
    ]
    note = "records between a replica’s own high watermark and its log end offset"
    parts = [
        title(top, "Uncommitted tail", note),
        y_axis(scale, count=2),
        inside(figure, *drawn),
        _peak(figure, scale, points),
    ]
    return Part(joined(parts), bottom + GAP_PX)


def _tail(point: ReplicaPoint) -> int:
    return max(0, point.log_end_offset - point.high_watermark)


def _area(figure: Figure, scale: Scale, run: Sequence[ReplicaPoint], colour: str) -> Markup:
    points = skyline([(figure.x(point.at_s), scale.at(_tail(point))) for point in run])
    closed = [(points[0][0], scale.start), *points, (points[-1][0], scale.start)]
    return element("path", d=path_of(closed) + "z", class_=f"tail {colour}")


def _peak(figure: Figure, scale: Scale, points: Sequence[ReplicaPoint]) -> Markup:
    highest = max(points, key=_tail, default=None)
    if highest is None or not _tail(highest):
        return NOTHING
    x, words = figure.time.at(highest.at_s), counted(_tail(highest), "record")
    is_left = x - width_of(words) - 10 > LEFT
    side, shift = ("remark end", -6) if is_left else ("remark", 6)
    return label(x + shift, scale.at(_tail(highest)) + 9, words, class_=side)
