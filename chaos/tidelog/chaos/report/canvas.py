"""Measures, texts, bars and lines that the parts of a figure share. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tidelog.chaos.report.markup import Markup, element, text
from tidelog.chaos.report.record import ReplicaPoint
from tidelog.chaos.report.scales import Scale
from tidelog.chaos.report.story import LONG_S, Story

WIDTH, LEFT, RIGHT = 1120.0, 104.0, 1040.0
"""Width and edges of a figure; its plots lie between `LEFT` and `RIGHT`."""
_CHARACTER_PX, _BOLD_PX = 6.1, 7.4
"""Widths of 11.5 px text, on the wide side: fonts differ."""
_COLOURS = 6
_COLUMN_PX = 2.5
"""Samples nearer than this become their first, least, greatest and last."""

Pixels = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Figure:
    """A story, and the time that one figure shows of it."""

    story: Story
    time: Scale
    name: str
    """Unique in a page: ids begin with it."""

    @property
    def is_long(self) -> bool:
        """So much time that single events cannot be told apart."""
        return self.time.high - self.time.low > LONG_S

    def sees(self, began_s: float, ended_s: float) -> bool:
        """True if any of it is shown."""
        return began_s <= self.time.high and ended_s >= self.time.low

    def x(self, at_s: float) -> float:
        """Its pixel, also beyond the plot: lines go on beyond their edges."""
        time = self.time
        return time.start + (time.end - time.start) * (at_s - time.low) / (time.high - time.low)

    def stretches(self, node_id: int) -> list[list[ReplicaPoint]]:
        """The replica's samples while it was up, with one more to either side of the plot."""
        found = []
        for run in self.story.stretches(node_id):
            inner = [place for place, point in enumerate(run) if self.sees(point.at_s, point.at_s)]
            if inner:
                found.append(run[max(0, inner[0] - 1) : inner[-1] + 2])
        return found

    def colour(self, node_id: int | None) -> str:
        """The class that colours a node: brokers by their place, all others grey."""
        ids = self.story.record.broker_ids
        return f"n{ids.index(node_id) % _COLOURS}" if node_id in ids else "nx"

    def node_name(self, node_id: int) -> str:
        """As `broker 4`, `controller 1`, or `node 1` if it is both."""
        record = self.story.record
        is_broker, is_controller = node_id in record.broker_ids, node_id in record.controller_ids
        if is_broker == is_controller:
            return f"node {node_id}"
        return f"broker {node_id}" if is_broker else f"controller {node_id}"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a figure, and where it ends."""

    markup: Markup
    bottom: float


def width_of(words: str, *, is_bold: bool = False) -> float:
    """About how wide it is written."""
    return len(words) * (_BOLD_PX if is_bold else _CHARACTER_PX)


def label(x: float, y: float, words: str, **attributes: object) -> Markup:
    """Text whose baseline is at `y`."""
    return element("text", text(words), x=x, y=y, **attributes)


def rule(x: float, top: float, bottom: float, class_: str) -> Markup:
    """A vertical line."""
    return element("path", d=f"M{x:.1f} {top:.1f}V{bottom:.1f}", class_=class_)


def level(y: float, left: float, right: float, class_: str) -> Markup:
    """A horizontal line."""
    return element("path", d=f"M{left:.1f} {y:.1f}H{right:.1f}", class_=class_)


def bars(extents: Iterable[Pixels], *, top: float, height: float, class_: str) -> Markup:
    """Rectangles from left to right, as one path; none is too narrow to be seen."""
    path = "".join(
        f"M{left:.1f} {top:.1f}h{max(0.8, right - left):.1f}v{height:.1f}"
        f"h{-max(0.8, right - left):.1f}z"
        for left, right in _merge(extents)
    )
    return element("path", d=path, class_=class_) if path else Markup("")


def _merge(extents: Iterable[Pixels]) -> list[Pixels]:
    """Without those that hide behind the one before: what bounds a path of any long run."""
    kept: list[Pixels] = []
    for left, right in sorted(extents):
        if kept and right - kept[-1][0] < 0.8:
            continue
        kept.append((left, right))
    return kept


def line(points: Sequence[Pixels], class_: str) -> Markup:
    """From point to point."""
    return element("path", d=path_of(points), class_=class_) if points else Markup("")


def path_of(points: Iterable[Pixels]) -> str:
    """The path's data."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def thin(points: Sequence[Pixels]) -> list[Pixels]:
    """Thin a line to what is visible: the first, least, greatest and last of a column."""
    columns: dict[int, list[Pixels]] = {}
    for point in points:
        columns.setdefault(int(point[0] / _COLUMN_PX), []).append(point)
    kept = [point for column in columns.values() for point in _extremes(column)]
    return _without_middles(kept)


def skyline(points: Sequence[Pixels]) -> list[Pixels]:
    """The highest point of every column of pixels."""
    columns: dict[int, Pixels] = {}
    for point in points:
        column = int(point[0] / _COLUMN_PX)
        columns[column] = min(point, columns.get(column, point), key=lambda pixel: pixel[1])
    return _without_middles(list(columns.values()))


def _extremes(column: list[Pixels]) -> list[Pixels]:
    def height(number: int) -> float:
        return column[number][1]

    numbers = range(len(column))
    return [
        column[number]
        for number in sorted(
            {0, len(column) - 1, min(numbers, key=height), max(numbers, key=height)}
        )
    ]


def _without_middles(points: list[Pixels]) -> list[Pixels]:
    """Leaves out a point that lies on the line between its neighbours."""
    kept = points[:1]
    for point, following in pairwise(points[1:]):
        if not _is_between(kept[-1], point, following):
            kept.append(point)
    return kept + points[1:][-1:]


def _is_between(before: Pixels, point: Pixels, after: Pixels) -> bool:
    width = after[0] - before[0]
    share = (point[0] - before[0]) / width if width else 0.0
    on_line = before[1] + share * (after[1] - before[1])
    return abs(point[1] - on_line) < 0.15 and (width > 0 or before[1] == after[1])
