"""The benchmark on paper: a table with every row, and a chart that is valid SVG."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from tidelog.benchmarks.machine import command_text
from tidelog.benchmarks.report import bars, chart, markdown
from tidelog.benchmarks.rows import Aim, Result, Row, result_of

DOCS = Path(__file__).parents[2] / "docs"
FACTS = {"command": "tidelog bench run", "CPU": "a CPU"}


def _results() -> list[Result]:
    ahead = Row("ahead <1>", "MB/s", "a", "ka", aim=Aim(bound=10))
    behind = Row("behind", "ms", "b", "kb", is_less_better=True, aim=Aim(times=2))
    alone = Row("alone", "s", "c")
    broken = Row("broken", "s", "d", "kd")
    ours = {"a": [20.0, 30.0, 25.0], "b": [4.0], "c": [1234.5]}
    kafka = {"ka": [5.0], "kb": [2.0]}
    return [
        result_of(ahead, ours, kafka),
        result_of(behind, ours, kafka),
        result_of(alone, ours, kafka),
        result_of(broken, ours, kafka, ["ours: a | in a word"]),
    ]


def test_the_table_has_every_row_also_what_is_behind_or_failed() -> None:
    lines = markdown(_results(), FACTS).splitlines()
    assert "- command: `tidelog bench run`" in lines
    assert "- CPU: a CPU" in lines
    assert lines[-4:] == [
        "| ahead <1> | 25 (20–30) | 5 | MB/s | 5.00 | >= 10 MB/s | met |",
        "| behind | 4 | 2 | ms | 0.50 | <= 1/2 of Kafka's | not met |",
        "| alone | 1,234 | – | s |  |  |  |",
        "| broken | – | – | s |  |  | ours: a \\| in a word |",
    ]


def test_the_chart_shows_a_bar_for_every_ratio_on_its_side_of_one() -> None:
    root = ET.fromstring(chart(_results()))
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in root.iter(f"{space}text")]
    assert "ahead <1> (MB/s)" in texts
    assert "behind (ms)" in texts
    assert not [text for text in texts if "alone" in (text or "")]
    assert {"5×", "0.5×", "2×"} <= set(texts)
    _, ahead, behind = root.iter(f"{space}rect")
    one = 430 + 420 / 2
    assert float(ahead.get("x", 0)) == one
    assert float(behind.get("x", 0)) + float(behind.get("width", 0)) == one
    assert (ahead.get("class"), behind.get("class")) == ("ahead", "behind")


def test_the_chart_has_every_colour_light_and_dark() -> None:
    svg = chart(_results())
    light, _, dark = svg.partition("@media (prefers-color-scheme: dark)")
    named = set(re.findall(r"var\((--\w+)\)", svg))
    for colours in (light, dark.partition("}")[0]):
        assert set(re.findall(r"(--\w+):", colours)) == named
    assert not re.search(r'(fill|stroke)="', svg)


def test_the_chart_of_the_page_is_of_the_rows_beside_it() -> None:
    page = (DOCS / "benchmarks" / "bench.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    compared = [(row[0].removeprefix("| "), row[3], float(row[4])) for row in rows[2:] if row[4]]
    assert (DOCS / "benchmarks" / "bench.svg").read_text(encoding="utf-8") == bars(compared)


def test_a_chart_of_nothing_is_a_chart() -> None:
    assert ET.fromstring(chart([])).tag.endswith("svg")


def test_the_command_names_no_folders_of_this_machine() -> None:
    command = ["bench", "run", "--peer", "/a/venv/bin/python /b/c/kafka-peer", "--report", "docs/x"]
    assert command_text(command) == ("tidelog bench run --peer 'python kafka-peer' --report docs/x")
