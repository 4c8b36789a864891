"""Whatever is written on a report can be read: WCAG's contrast of 4.5, in light and in dark."""

from __future__ import annotations

import re

import pytest

from tidelog.chaos.report.style import COLOURS

LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", half))
    for half in COLOURS.split("prefers-color-scheme")
)
WRITTEN = [
    *(("paper", name) for name in ("ink", "soft", "bad", "doubt", "good")),
    *(("paper", f"n{number}") for number in range(6)),
    *((f"n{number}", "on") for number in range(6)),
    ("fault", "fault-ink"),
    ("wash", "ink"),
]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    straight = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * straight[0] + 0.7152 * straight[1] + 0.0722 * straight[2]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("ground", "written"), WRITTEN)
def test_what_is_written_can_be_read(colours: dict[str, str], ground: str, written: str) -> None:
    low, high = sorted(luminance(colours[name]) for name in (ground, written))
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_both_schemes_have_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys()
