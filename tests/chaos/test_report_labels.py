"""Labels of a figure, measured without a browser: none lies on another or outside."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest
from tests.chaos.chaos_records import empty, storm, truncation, violated

from tidelog.chaos.report.canvas import width_of
from tidelog.chaos.report.offsets_chart import Remark, place_remarks
from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.report.timeline import timeline_svg

PICTURES = sorted((Path(__file__).parents[2] / "docs/chaos").glob("*.svg"))
SVG = "http://www.w3.org/2000/svg"
ASCENT_PX, DESCENT_PX = 8.0, 2.0


class Label(NamedTuple):
    left: float
    right: float
    top: float
    bottom: float
    words: str

    def meets(self, other: Label) -> bool:
        beside = self.left < other.right and other.left < self.right
        return beside and self.top < other.bottom and other.top < self.bottom


def labels(svg: str) -> Iterator[Label]:
    for node in ET.fromstring(svg).iter(f"{{{SVG}}}text"):
        words, kind = "".join(node.itertext()), (node.get("class") or "").split()
        x, y = float(node.get("x", "0")), float(node.get("y", "0"))
        width = width_of(words)
        left = x - width if {"lane", "left", "end"} & set(kind) else x
        left = x - width / 2 if "middle" in kind else left
        yield Label(left, left + width, y - ASCENT_PX, y + DESCENT_PX, words)


def overlaps(svg: str) -> list[tuple[str, str]]:
    return [
        (one.words, other.words) for one, other in combinations(labels(svg), 2) if one.meets(other)
    ]


@pytest.mark.parametrize(
    "record",
    [truncation(), truncation(load_s=150), violated(), empty(), storm(load_s=600, sample_s=1)],
)
def test_no_label_lies_on_another(record: RunRecord) -> None:
    assert overlaps(timeline_svg(record)) == []


def test_remarks_at_one_place_make_room_for_each_other() -> None:
    remarks = [
        Remark(579.8, 368.4, "high watermark stands still for 2.1 s"),
        Remark(874.6, 360.4, "broker 4: log end falls by 214", is_end=True),
        Remark(100.0, 366.0, "far away"),
    ]
    svg = f'<svg xmlns="{SVG}">{"".join(place_remarks(remarks, highest=300, lowest=400))}</svg>'
    assert overlaps(svg) == []
    heights = [float(node.get("y", "0")) for node in ET.fromstring(svg)]
    assert heights == [368.4, 355.4, 366.0]
    assert len(place_remarks(remarks, highest=368, lowest=369)) == 2, "no room is no label"


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_no_label_of_a_picture_in_the_pages_lies_on_another(path: Path) -> None:
    svg = path.read_text()
    assert overlaps(svg) == []
    width = float(ET.fromstring(svg).get("viewBox", "").split()[2])
    assert all(one.left >= 0 and one.right <= width for one in labels(svg))
