"""Reports as files: well-formed, self-contained, escaped, small, and true to the record."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.chaos.chaos_records import HOSTILE, INTERVAL_S, empty, storm, truncation, violated

from tidelog.chaos.report.html import render
from tidelog.chaos.report.overview import index
from tidelog.chaos.report.record import (
    Anomaly,
    Band,
    LoadPoint,
    Note,
    PartitionPoint,
    ReplicaPoint,
    RunRecord,
)
from tidelog.chaos.report.timeline import timeline_svg

PAGE_BYTES_MAX, FIGURE_BYTES_MAX = 500_000, 150_000
POINT = ReplicaPoint(1.0, 4, True, "leader", 0, 7, 9)
DEGENERATE = {
    "nothing": empty(),
    "load-alone": empty(load_s=3.0, load=[LoadPoint(0.0, 0, 0, 0, None)]),
    "one-sample": empty(replicas=[POINT]),
    "one-of-each": empty(
        replicas=[POINT],
        partitions=[PartitionPoint(1.0, None, 0, (), (), None, 0)],
        load=[LoadPoint(1.0, 3, 1, 1, 0.0)],
        bands=[Band("kill", "broker 4", (4,), 1.0, 1.0)],
        anomalies=[Anomaly("unobserved", "nothing was cut", None)],
    ),
    "all-at-one-moment": empty(replicas=[POINT] * 5, bands=[Band("cut", "", (), 1.0, 1.0)] * 5),
    "never-up": empty(
        replicas=[replace(POINT, is_up=False), replace(POINT, at_s=2.0, is_up=False)]
    ),
    "a-node-nobody-knows": empty(replicas=[replace(POINT, node_id=99)], broker_ids=()),
    "bands-the-wrong-way": empty(bands=[Band("cut", "", (4,), 9.0, 3.0)]),
    "huge-numbers": empty(
        replicas=[replace(POINT, high_watermark=2**62, log_end_offset=2**63 - 1)],
        load=[LoadPoint(0.0, 2**40, 2**40, 0, 1e9)],
        counts={"operations": 2**60},
    ),
}


def parsed(page: str) -> ET.Element:
    """By a parser that forgives nothing."""
    return ET.fromstring(page.encode())


def words_of(page: str) -> str:
    return " ".join("".join(parsed(page).itertext()).split())


def hostile(value: Any) -> Any:  # any field of a record
    """The same, all its strings as bad as can be."""
    if isinstance(value, str):
        return HOSTILE
    if is_dataclass(value) and not isinstance(value, type):
        changed = {field.name: hostile(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **changed)
    if isinstance(value, dict):
        return {hostile(key): hostile(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(hostile, value))
    return value


HOSTILE_RECORD = replace(hostile(violated()), verdict="violation")


@pytest.mark.parametrize("record", DEGENERATE.values(), ids=DEGENERATE.keys())
def test_what_little_is_known_is_drawn_without_a_number_that_is_none(record: RunRecord) -> None:
    for page in (render(record), timeline_svg(record), index({"a.html": record})):
        parsed(page)
        assert not re.search(r"[\s\"(,MLHVhv](nan|inf|-inf)\b", page)


def test_no_string_of_a_record_becomes_markup() -> None:
    """The hostile twin has exactly the elements of the benign one."""
    for draw in (render, timeline_svg, lambda record: index({record.commit: record})):
        benign, attacked = parsed(draw(violated())), parsed(draw(HOSTILE_RECORD))
        assert _elements(attacked) <= _elements(benign)
        assert not [name for one in attacked.iter() for name in one.attrib if name.startswith("on")]


def _elements(root: ET.Element) -> Counter[str]:
    """Figures aside: fewer labels fit when all words are long."""
    kinds = Counter(one.tag.rpartition("}")[2] for one in root.iter())
    return Counter({kind: n for kind, n in kinds.items() if kind not in ("text", "tspan")})


def test_no_string_of_a_record_ends_a_script() -> None:
    class Scripts(HTMLParser):
        found = 0

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.found += tag == "script"

    parser = Scripts()
    parser.feed(render(HOSTILE_RECORD))
    assert parser.found == 2
    assert "alert(1)" in render(HOSTILE_RECORD)
    assert "onload=alert(1)>" not in render(HOSTILE_RECORD)


@pytest.mark.parametrize("page", [render(violated()), index({"r.html": truncation()})])
def test_a_page_needs_nothing_but_itself(page: str) -> None:
    addresses = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?([^\"')\s>]+)", page)
    assert {one for one in addresses if not one.startswith("#")} <= {"r.html"}
    assert "@import" not in page
    assert "http" not in page


def test_ids_of_a_page_are_unique() -> None:
    record = truncation(load_s=120)
    ids = [one.attrib["id"] for one in parsed(render(record)).iter() if "id" in one.attrib]
    assert len(ids) == len(set(ids))
    assert {"window-plot", "whole-plot"} <= set(ids)


@pytest.mark.parametrize(
    "record",
    [
        truncation(sample_s=0.1, load_s=600.0),
        storm(sample_s=0.1, load_s=600.0),
        storm(sample_s=0.25, load_s=7200.0),
    ],
    ids=["ten-minutes", "ten-minutes-of-storm", "two-hours-of-storm"],
)
def test_a_file_stays_small_however_long_the_run(record: RunRecord) -> None:
    assert len(render(record).encode()) < PAGE_BYTES_MAX
    assert len(timeline_svg(record).encode()) < FIGURE_BYTES_MAX


def test_a_file_stays_small_however_much_is_said() -> None:
    long, lines = "x" * 50_000, tuple("y" * 5_000 for _ in range(100))
    record = replace(
        truncation(),
        verdict="violation",
        claim=long,
        notes=[Note(float(n), "node", long) for n in range(5_000)],
        anomalies=[Anomaly("I1", long, 1.0, lines) for _ in range(500)],
        bands=[Band("cut", long, (), n * 0.01, n * 0.01 + 1) for n in range(3_000)],
        facts={f"fact {n}": long for n in range(10)},
    )
    page = render(record)
    assert len(page.encode()) < PAGE_BYTES_MAX
    assert "more are in record.json" in page


def test_the_page_says_what_the_record_says() -> None:
    record = violated()
    words = words_of(render(record))
    for said in (
        record.scenario, record.claim, record.command, record.commit, record.machine,
        "2026-11-22 08:14:03 UTC", "seed 1742", "✗ violation", "21,873", "12,610", "1,213 records",
        "lost-write", record.anomalies[0].operations[0], record.notes[2].what,
        "replica.lag.time.max.ms", "9.2 s", "high watermark stands still for 9 s",
        "log end falls by 1,2",
    ):  # fmt: skip
        assert said in words, said


@pytest.mark.parametrize(
    ("record", "badge"),
    [
        (truncation(), "✓ ok"),
        (violated(), "✗ violation"),
        (empty(verdict="inconclusive"), "? inconclusive"),
    ],
)
def test_each_verdict_is_a_word_and_a_sign(record: RunRecord, badge: str) -> None:
    words = words_of(render(record))
    assert badge in words
    others = {"✓ ok", "✗ violation", "? inconclusive"} - {badge}
    assert not [other for other in others if other in words]


def test_lost_records_are_marked_as_bad_and_none_is_not() -> None:
    counts = {"lost": 3, "duplicated": 0}
    root = parsed(render(empty(counts=counts)))
    marked = [one.text for one in root.iter("dd") if one.get("class") == "bad"]
    assert marked == ["3"]


def test_epochs_are_written_where_they_change() -> None:
    words = words_of(timeline_svg(truncation()))
    assert "leads in epoch 3" in words
    assert "leads in epoch 4" in words
    assert "broker 5, epoch 4" in words
    assert "node 2, term 1" in words


def test_a_deposed_leader_is_told_from_a_leader() -> None:
    record = truncation()
    elected = [
        PartitionPoint(-1.0, 4, 3, (4,), (), 1, 1),
        PartitionPoint(14.0, 5, 4, (5,), (), 1, 1),
    ]
    assert "still leads" not in words_of(timeline_svg(record))
    assert "still leads in epoch 3" in words_of(timeline_svg(replace(record, partitions=elected)))


def test_the_figure_stands_alone_as_a_file() -> None:
    root = parsed(timeline_svg(truncation()))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in "".join(root.itertext())


def test_a_struck_controller_has_a_lane_where_its_fault_is_shown() -> None:
    record = truncation()
    paused = [*record.bands, Band("pause", "SIGSTOP", (2,), 14.0, 16.0)]
    assert "controller 2" not in words_of(timeline_svg(record))
    assert "controller 2" in words_of(timeline_svg(replace(record, bands=paused)))


def test_combined_nodes_are_neither_broker_nor_controller() -> None:
    record = replace(truncation(), controller_ids=(4, 5, 6))
    assert "node 4" in words_of(timeline_svg(record))
    assert "broker 4" not in words_of(timeline_svg(record))


def test_the_index_has_a_row_a_scenario_and_a_link_a_run() -> None:
    records = {f"F01-{n}.html": replace(truncation(seed=n), scenario="F01") for n in range(3)}
    page = index(records | {"F12.html": violated()})
    root = parsed(page)
    rows = list(root.iter("tr"))[1:]
    links = [one.get("href") for one in root.iter("a") if "badge" in (one.get("class") or "")]
    assert len(rows) == 2
    assert links == ["F01-0.html", "F01-1.html", "F01-2.html", "F12.html"]
    assert "2 scenarios, 4 runs: 1 violation, 0 inconclusive" in words_of(page)
    assert "37,830" in words_of(page)


def test_the_index_of_no_runs_says_so() -> None:
    assert "No runs" in words_of(index({}))


def test_an_index_is_small_also_of_hundreds_of_runs() -> None:
    record = truncation()
    page = index({f"{n}.html": replace(record, scenario=f"F{n // 10:02}") for n in range(500)})
    assert len(page.encode()) < PAGE_BYTES_MAX


def test_a_load_of_any_length_is_drawn_from_end_to_end() -> None:
    load = [LoadPoint(n * INTERVAL_S, 1, 0, 0, 5.0) for n in range(3)]
    assert "Acknowledged" in words_of(timeline_svg(empty(load_s=1.5, load=load)))


def test_a_fault_outside_the_figures_time_has_no_lane() -> None:
    record = storm(load_s=900, sample_s=5)
    paused = Band("pause", "SIGSTOP", (2,), 100.0, 101.0)
    wrong = replace(record, bands=[paused], anomalies=[Anomaly("I4", "", 700.0)])
    assert "controller 2" in words_of(timeline_svg(replace(wrong, anomalies=[])))
    everything = replace(wrong, bands=[paused, Band("cut", "", (), 1.0, 899.0)])
    assert "controller 2" not in words_of(timeline_svg(everything))


def test_what_strikes_many_nodes_is_told_once() -> None:
    record = replace(
        truncation(), bands=[Band("cut", "5 from all", (1, 2, 3, 4, 5, 6), 12.0, 20.0)]
    )
    words = words_of(timeline_svg(record))
    assert words.count("cut: 5 from all") == 1
    assert "controller 1" not in words
