"""The report of a session: a Markdown table, and a chart of the ratios as SVG. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from tidelog.benchmarks.rows import Result, Spread, aim_text

VERDICTS = {True: "met", False: "not met", None: ""}
CHART_NAME = "bench.svg"
_LABELS_PX, _BARS_PX, _VALUES_PX, _ROW_PX, _TOP_PX = 430, 420, 90, 22, 54
_STYLE = """
svg { --paper: #ffffff; --ink: #1f2933; --grid: #9aa5b1; --ahead: #2b7a78; --behind: #c8553d; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #15181c; --ink: #e4e2dd; --grid: #5b636e; --ahead: #4fb8b4; --behind: #ee8a70; }
}
text { fill: var(--ink); } line { stroke: var(--grid); } .paper { fill: var(--paper); }
.ahead { fill: var(--ahead); } .behind { fill: var(--behind); }
"""
_MOST = 100.0
"""The ratio at which bars are cut off; the label still gives the true ratio."""


def number(value: float) -> str:
    """A number with three significant digits, thousands separated."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def markdown(results: Sequence[Result], facts: Mapping[str, str]) -> str:
    """The page with every row, also those that miss their aim or did not run."""
    lines = [
        "# Figures of one session",
        "",
        "Written by `tidelog bench run`; [BENCHMARKS.md](../BENCHMARKS.md) describes the rows.",
        "A ratio above 1 means Tidelog is better; several runs are shown as median (least–most).",
        "",
        *(f"- {name}: {_fact(name, text)}" for name, text in facts.items()),
        "",
        f"![Ratios to Kafka]({CHART_NAME})",
        "",
        "| figure | Tidelog | Kafka | unit | ratio | aim | |",
        "| --- | ---: | ---: | --- | ---: | --- | --- |",
        *(_line(result) for result in results),
        "",
    ]
    return "\n".join(lines)


def chart(results: Sequence[Result]) -> str:
    """Bars on a logarithmic axis: right of 1 ours is better, left of 1 Kafka's; light and dark."""
    compared = [(one.row.figure, one.row.unit, ratio) for one in results if (ratio := one.ratio)]
    return bars([(figure, unit, round(ratio, 2)) for figure, unit, ratio in compared])


def bars(compared: Sequence[tuple[str, str, float]]) -> str:
    """The chart of figures, their units, and their ratios to Kafka's."""
    height = _TOP_PX + _ROW_PX * len(compared) + 16
    width = _LABELS_PX + _BARS_PX + _VALUES_PX
    reach = max([2.0, *(_reach(ratio) for _, _, ratio in compared)])
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    )
    one = _x(1, reach)
    parts = [
        head,
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" class="paper"/>',
        _text(_LABELS_PX - 8, 16, "figure (unit)", anchor="end"),
        _text(one, 16, "times better, logarithmic", anchor="middle"),
        _text(one - 8, 32, "← Kafka is better", anchor="end"),
        _text(one + 8, 32, "Tidelog is better →"),
        *_axis(reach, height),
    ]
    for index, (figure, unit, ratio) in enumerate(compared):
        parts += _bar(f"{figure} ({unit})", ratio, reach, _TOP_PX + _ROW_PX * index)
    return "\n".join([*parts, "</svg>\n"])


def _fact(name: str, text: str) -> str:
    return f"`{text}`" if name in {"command", "commit"} else text


def _line(result: Result) -> str:
    ratio = "" if result.ratio is None else f"{result.ratio:.2f}"
    note = "; ".join([VERDICTS[result.is_met], *result.errors]).strip("; ")
    cells = (
        result.row.figure, _spread(result.ours), _spread(result.kafka), result.row.unit, ratio,
        aim_text(result.row) or "", note,
    )  # fmt: skip
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "–"
    if spread.runs == 1:
        return number(spread.value)
    return f"{number(spread.value)} ({number(spread.least)}–{number(spread.most)})"


def _reach(ratio: float) -> float:
    return min(_MOST, max(ratio, 1 / ratio))


def _x(ratio: float, reach: float) -> float:
    """The x position of a ratio; 1 is in the middle."""
    share = math.log(min(reach, max(1 / reach, ratio))) / math.log(reach)
    return _LABELS_PX + _BARS_PX / 2 * (1 + share)


def _axis(reach: float, height: int) -> list[str]:
    parts = []
    for mark in (0.01, 0.1, 0.5, 1, 2, 10, 100):
        if 1 / reach <= mark <= reach:
            x = f"{_x(mark, reach):.1f}"
            line = f'<line x1="{x}" x2="{x}" y1="{_TOP_PX - 4}" y2="{height - 12}"'
            parts.append(f'{line} stroke-width="{1.5 if mark == 1 else 0.5}"/>')
            parts.append(_text(_x(mark, reach), _TOP_PX - 8, f"{mark:g}×", anchor="middle"))
    return parts


def _bar(figure: str, ratio: float, reach: float, top: int) -> list[str]:
    one, end = _x(1, reach), _x(ratio, reach)
    left, length = min(one, end), max(abs(end - one), 1)
    place = f'x="{left:.1f}" y="{top + 3}" width="{length:.1f}" height="{_ROW_PX - 7}"'
    return [
        _text(_LABELS_PX - 8, top + 14, figure, anchor="end"),
        f'<rect {place} class="{"ahead" if ratio >= 1 else "behind"}"/>',
        _text(_LABELS_PX + _BARS_PX + 8, top + 14, f"{number(ratio)}×"),
    ]


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y}" text-anchor="{anchor}"'
    return f"<text {place}>{escape(text)}</text>"
