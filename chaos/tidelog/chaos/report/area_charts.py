"""Charts of uncommitted records a replica holds, and of committed ones it lacks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.chaos.report.canvas import LEFT, RIGHT, Figure, Part, label, path_of, skyline, width_of
from tidelog.chaos.report.frames import GAP_PX, TITLE_PX, inside, title, y_axis
from tidelog.chaos.report.markup import NOTHING, Markup, element, join
from tidelog.chaos.report.quantities import pluralize
from tidelog.chaos.report.record import ReplicaPoint
from tidelog.chaos.report.scales import Scale, linear

_AREA_PX = 62.0

Measure = Callable[[ReplicaPoint], int]


def tail_chart(figure: Figure, top: float) -> Part:
    """Log end offset minus high watermark: on an isolated leader acknowledged to acks=1 only."""
    if figure.is_long:
        note = "records between a leader’s high watermark and its log end offset"
        return _chart(figure, top, ("Uncommitted tail", note), _leaders_tail)
    note = "records between a replica’s own high watermark and its log end offset"
    return _chart(figure, top, ("Uncommitted tail", note), _tail)


def lag_chart(figure: Figure, top: float) -> Part:
    """The cluster's highest high watermark minus log end offset."""

    def lag(point: ReplicaPoint) -> int:
        return max(0, figure.story.committed_at(point.at_s) - point.log_end_offset)

    note = "records between a replica’s log end offset and the cluster’s high watermark"
    return _chart(figure, top, ("Behind", note), lag)


def _tail(point: ReplicaPoint) -> int:
    return max(0, point.log_end_offset - point.high_watermark)


def _leaders_tail(point: ReplicaPoint) -> int:
    return _tail(point) if point.role == "leader" else 0


def _chart(figure: Figure, top: float, heading: tuple[str, str], measure: Measure) -> Part:
    """A chart per replica, showing the maximum of each column of pixels."""
    y_top, bottom = top + TITLE_PX, top + TITLE_PX + _AREA_PX
    shown = {
        node: [[(p.at_s, measure(p)) for p in run] for run in figure.stretches(node)]
        for node in figure.story.replicas
    }
    values = [value for runs in shown.values() for run in runs for value in run]
    if not values:
        return Part(NOTHING, top)
    scale = linear([0, *(number for _, number in values)], start=bottom, end=y_top + 4, least=10)
    drawn = [
        _area(figure, scale, run, figure.colour(node))
        for node, runs in shown.items()
        for run in runs
    ]
    parts = [
        title(top, *heading),
        y_axis(scale, count=2),
        inside(figure, *drawn),
        _peak(figure, scale, values, top=top),
    ]
    return Part(join(parts), bottom + GAP_PX)


def _area(figure: Figure, scale: Scale, run: Sequence[tuple[float, int]], colour: str) -> Markup:
    points = skyline([(figure.x(at_s), scale.at(number)) for at_s, number in run])
    closed = [(points[0][0], scale.start), *points, (points[-1][0], scale.start)]
    return element("path", d=path_of(closed) + "z", class_=f"tail {colour}")


def _peak(
    figure: Figure, scale: Scale, values: Sequence[tuple[float, int]], *, top: float
) -> Markup:
    """Label of the maximum, beside it; in the title's line where there are many peaks."""
    at_s, most = max(values, key=lambda value: value[1], default=(0.0, 0))
    if not most:
        return NOTHING
    x, words = figure.time.at(at_s), pluralize(most, "record")
    if figure.is_long:
        return label(RIGHT, top + 11, f"at most {words}", class_="remark end")
    is_left = x - width_of(words, is_bold=True) - 10 > LEFT
    side, shift = ("remark end", -6) if is_left else ("remark", 6)
    return label(x + shift, scale.at(most) + 9, words, class_=side)
