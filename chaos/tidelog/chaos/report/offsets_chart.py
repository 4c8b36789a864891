"""Chart of each replica's log end offset and high watermark. Pure.

A high watermark that stands still is a level line, and the log end offset that leaves it opens a
wedge. Of hours nothing but growth could be seen: those have the lag of `area_charts` instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tidelog.chaos.report.canvas import (
    RIGHT,
    Figure,
    Part,
    Pixels,
    label,
    line,
    path_of,
    thin,
    width_of,
)
from tidelog.chaos.report.frames import GAP_PX, TITLE_PX, inside, title, y_axis
from tidelog.chaos.report.markup import NOTHING, Markup, element, join
from tidelog.chaos.report.quantities import group_digits, seconds
from tidelog.chaos.report.record import ReplicaPoint
from tidelog.chaos.report.scales import Scale, linear
from tidelog.chaos.report.story import Fall, Spell

_OFFSETS_PX = 190.0
_LABEL_PX = 13.0
"""From one label at a line's end to the next."""
_REMARK_PX = 13.0
"""From one remark to the next below it."""
_FALLS_NAMED_MAX, _FALLS_MAX, _STANDSTILLS_MAX = 3, 40, 5

Stretches = Mapping[int, list[list[ReplicaPoint]]]
"""By node, its samples while it was up."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Words beside a shape, at `x` to the right or, where it `is_end`, to the left of it."""

    x: float
    y: float
    words: str
    is_end: bool = False

    @property
    def extent(self) -> Pixels:
        """Left and right edge."""
        width = width_of(self.words, is_bold=True)
        return (self.x - width, self.x) if self.is_end else (self.x, self.x + width)


Remarked = tuple[Markup, Remark | None]
"""A shape, and what is said of it."""


def offsets_chart(figure: Figure, top: float) -> Part:
    """Log end offset and high watermark of each replica."""
    y_top, bottom = top + TITLE_PX, top + TITLE_PX + _OFFSETS_PX
    shown = {node: figure.stretches(node) for node in figure.story.replicas}
    if not any(shown.values()):
        return Part(NOTHING, top)
    scale = linear(_offsets(shown), start=bottom, end=y_top + 6, least=10)
    remarked = [*_standstills(figure, scale), *_falls(figure, scale)]
    remarks = [remark for _, remark in remarked if remark is not None]
    note = "line: log end offset · dashes: high watermark · shaded between them: not committed"
    parts = [
        title(top, "Offsets", note),
        y_axis(scale, count=4),
        inside(figure, *(_replica(figure, scale, node, runs) for node, runs in shown.items())),
        *(shape for shape, _ in remarked),
        *place_remarks(remarks, highest=y_top + _REMARK_PX, lowest=bottom),
        _names(figure, scale, shown),
    ]
    return Part(join(parts), bottom + GAP_PX)


def _offsets(shown: Stretches) -> list[float]:
    points = [point for runs in shown.values() for run in runs for point in run]
    return [offset for point in points for offset in (point.high_watermark, point.log_end_offset)]


def _replica(figure: Figure, scale: Scale, node: int, runs: list[list[ReplicaPoint]]) -> Markup:
    colour, drawn = figure.colour(node), []
    for run in runs:
        ends = thin([(figure.x(p.at_s), scale.at(p.log_end_offset)) for p in run])
        marks = thin([(figure.x(p.at_s), scale.at(p.high_watermark)) for p in run])
        wedge = path_of([*ends, *reversed(marks)]) + "z"
        drawn += [
            element("path", d=wedge, class_=f"wedge {colour}"),
            line(ends, f"leo {colour}"),
            line(marks, f"hw {colour}"),
        ]
    for before, after in pairwise(runs):
        gap = [(figure.x(p.at_s), scale.at(p.log_end_offset)) for p in (before[-1], after[0])]
        drawn.append(line(gap, f"gap {colour}"))
    return join(drawn)


def place_remarks(remarks: Sequence[Remark], *, highest: float, lowest: float) -> list[Markup]:
    """Each at the free height nearest to where it belongs; without one it is left out."""
    taken: list[tuple[Pixels, float]] = []
    found: list[Markup] = []
    for remark in remarks:
        left, right = remark.extent
        beside = [y for other, y in taken if other[0] < right and left < other[1]]
        heights = [remark.y, *(y + way * _REMARK_PX for y in beside for way in (-1, 1))]
        free = [
            y
            for y in heights
            if y == remark.y or highest <= y <= lowest
            if all(abs(y - other) >= _REMARK_PX for other in beside)
        ]
        if not free:
            continue
        y = min(free, key=lambda one: abs(one - remark.y))
        taken.append((remark.extent, y))
        side = "remark end" if remark.is_end else "remark"
        found.append(label(remark.x, y, remark.words, class_=side))
    return found


def _standstills(figure: Figure, scale: Scale) -> list[Remarked]:
    """Brackets below the level lines; the longest has words."""
    seen = [
        still for still in figure.story.standstills if figure.sees(still.began_s, still.ended_s)
    ]
    words = ["high watermark stands still for ", *[""] * (_STANDSTILLS_MAX - 1)]
    return [_bracket(figure, scale, still, said) for still, said in zip(seen, words, strict=False)]


def _bracket(figure: Figure, scale: Scale, still: Spell[int], said: str) -> Remarked:
    left, right = figure.time.at(still.began_s), figure.time.at(still.ended_s)
    y, words = scale.at(still.state), said + seconds(still.ended_s - still.began_s)
    # To the right of where it began: below a line that rises again nothing else is drawn.
    x = min(left, RIGHT - width_of(words, is_bold=True))
    is_room = y + 22 < scale.start
    bracket = f"M{left:.1f} {y + 4:.1f}v4H{right:.1f}v-4"
    shape = element("path", d=bracket, class_="bracket")
    return shape, Remark(x, y + 21 if is_room else y - 8, words)


def _falls(figure: Figure, scale: Scale) -> list[Remarked]:
    seen = [fall for fall in figure.story.falls if figure.sees(fall.at_s, fall.at_s)]
    largest = sorted(seen, key=lambda fall: fall.after - fall.before)[:_FALLS_MAX]
    return [
        _fall(figure, scale, fall, is_named=place < _FALLS_NAMED_MAX)
        for place, fall in enumerate(largest)
    ]


def _fall(figure: Figure, scale: Scale, fall: Fall, *, is_named: bool) -> Remarked:
    x, y = figure.time.at(fall.at_s), scale.at(fall.after)
    arrow = element(
        "path", d=f"M{x - 4:.1f} {y - 7:.1f}h8l-4 7z", class_=f"fall {figure.colour(fall.node_id)}"
    )
    if not is_named:
        return arrow, None
    name = figure.node_name(fall.node_id)
    words = f"{name}: log end falls by {group_digits(fall.before - fall.after)}"
    is_left = x + width_of(words, is_bold=True) + 14 > RIGHT
    y = min(y + 13, scale.start - 3)
    return arrow, Remark(x - 9 if is_left else x + 9, y, words, is_end=is_left)


def _names(figure: Figure, scale: Scale, shown: Stretches) -> Markup:
    """Each node's name at its line's end; names keep their distance."""
    wanted = sorted(
        (scale.at(runs[-1][-1].log_end_offset), node) for node, runs in shown.items() if runs
    )
    return join(
        label(RIGHT + 7, y + 4, figure.node_name(node), class_=f"end-name {figure.colour(node)}")
        for y, node in _apart(wanted, highest=scale.end, lowest=scale.start)
    )


def _apart(
    wanted: Sequence[tuple[float, int]], *, highest: float, lowest: float
) -> list[tuple[float, int]]:
    placed: list[tuple[float, int]] = []
    for y, node in wanted:
        placed.append((max(y, placed[-1][0] + _LABEL_PX if placed else highest), node))
    surplus = max(0.0, placed[-1][0] - lowest) if placed else 0.0
    return [(y - surplus, node) for y, node in placed]
