"""The page of all runs of a suite: a row a scenario, each of its runs a link. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from tidelog.chaos.report.canvas import bars
from tidelog.chaos.report.document import document
from tidelog.chaos.report.load_charts import intervals
from tidelog.chaos.report.markup import NOTHING, Markup, clip, element, text
from tidelog.chaos.report.page import chip
from tidelog.chaos.report.quantities import group_digits, pluralize, seconds
from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.report.scales import Scale, linear
from tidelog.chaos.report.story import Story

Runs = Sequence[tuple[str, RunRecord]]
"""Each run: the path of its report, and its record."""

_HEADS = ("scenario", "runs", "unavailable to acks=all", "acknowledged over time")
_COUNTS = {
    "acknowledged": "acknowledged",
    "lost": "lost",
    "duplicated": "duplicated",
    "reordered": "reordered",
    "lost_acks_1": "acks=1 lost",
}
"""Their names in a record, and on the page."""
_BAD = ("lost", "duplicated", "reordered")
_SPARK_WIDTH, _SPARK_HEIGHT, _STRIP_WIDTH, _STRIP_HEIGHT = 124.0, 28.0, 144.0, 30.0
_CLAIM_CHARACTERS = 200


def index(records: Mapping[str, RunRecord]) -> str:
    """The page; keys are the addresses of the runs' reports, as seen from this page."""
    scenarios: dict[str, list[tuple[str, RunRecord]]] = {}
    for href, record in records.items():
        scenarios.setdefault(record.scenario, []).append((href, record))
    longest = max([1.0, *(record.unavailable_s for record in records.values())])
    rows = [_row(name, runs, longest) for name, runs in sorted(scenarios.items())]
    heads = [element("th", text(head)) for head in _HEADS]
    heads += [element("th", text(head), class_="number") for head in _COUNTS.values()]
    table = element(
        "table", element("thead", element("tr", *heads)), element("tbody", *rows), class_="runs"
    )
    return document(
        "Chaos runs",
        element("h1", text(_title(records, len(scenarios)))),
        _commits_and_machines(records),
        table,
    )


def _title(records: Mapping[str, RunRecord], scenarios: int) -> str:
    verdicts = [record.verdict for record in records.values()]
    runs = f"{pluralize(scenarios, 'scenario')}, {pluralize(len(verdicts), 'run')}"
    wrong, unclear = verdicts.count("violation"), verdicts.count("inconclusive")
    if wrong or unclear:
        return f"{runs}: {pluralize(wrong, 'violation')}, {group_digits(unclear)} inconclusive"
    return f"{runs}: all ok" if verdicts else "No runs"


def _commits_and_machines(records: Mapping[str, RunRecord]) -> Markup:
    """On what, as far as it is the same for all."""
    known = list(records.values())
    words = [
        " · ".join(sorted({value(record) for record in known})[:3])
        for value in (lambda record: f"commit {record.commit}", lambda record: record.machine)
    ]
    return element("p", text(" — ".join(words)), class_="soft") if known else NOTHING


def _row(name: str, runs: Runs, longest: float) -> Markup:
    records = [record for _, record in runs]
    claim = clip(records[0].claim, characters=_CLAIM_CHARACTERS)
    worst_href, worst = max(runs, key=lambda run: run[1].unavailable_s)
    chips = [chip(record, href=href) for href, record in runs]
    spark = element("a", _spark(worst), href=worst_href, title="the run with the longest pause")
    return element(
        "tr",
        element("td", element("b", text(name)), element("span", text(claim), class_="claim")),
        element("td", element("div", *chips, class_="verdicts")),
        element("td", _strip([record.unavailable_s for record in records], longest)),
        element("td", spark),
        *(_sum(records, name) for name in _COUNTS),
    )


def _sum(records: Sequence[RunRecord], name: str) -> Markup:
    known = [record.counts[name] for record in records if name in record.counts]
    is_bad = name in _BAD and sum(known) > 0
    words = group_digits(sum(known)) if known else "–"
    return element("td", text(words), class_="number bad" if is_bad else "number")


def _strip(unavailable_s: Sequence[float], longest: float) -> Markup:
    """A dot a run, a stroke at the median; all rows have the same axis, from 0."""
    scale = Scale(0.0, longest, 5.0, _STRIP_WIDTH - 5)
    middle = median(unavailable_s)
    dots = [element("circle", cx=scale.at(value), cy=9, r=3.5) for value in unavailable_s]
    words = seconds(middle)
    if len(unavailable_s) > 1:
        words = f"median {words}, worst {seconds(max(unavailable_s))}"
    return element(
        "svg",
        element("path", d=f"M5 9H{_STRIP_WIDTH - 5:.0f}", class_="grid"),
        *dots,
        element("path", d=f"M{scale.at(middle):.1f} 2v14", class_="median"),
        element("text", text(words), x=2, y=27),
        viewBox=f"0 0 {_STRIP_WIDTH:.0f} {_STRIP_HEIGHT:.0f}",
        class_="strip",
    )


def _spark(record: RunRecord) -> Markup:
    """Acknowledged records over the whole run, with the faults behind them."""
    story = Story(record)
    time = Scale(story.began_s, story.ended_s, 0.0, _SPARK_WIDTH)
    load = intervals(story.load, interval_s=record.interval_s, low=time.low, high=time.high)
    rate = linear([0, *(one.acknowledged_per_s for one in load)], start=_SPARK_HEIGHT, end=2.0)
    faults = [(time.at(band.began_s), time.at(story.end_of(band))) for band in story.bands]
    path = "".join(
        f"V{rate.at(one.acknowledged_per_s):.0f}H{time.at(one.ended_s):.0f}" for one in load
    )
    drawn = element("path", d=f"M0 {_SPARK_HEIGHT:.0f}{path}V{_SPARK_HEIGHT:.0f}z", class_="rate")
    return element(
        "svg",
        bars(faults, top=0.0, height=_SPARK_HEIGHT, class_="fault"),
        drawn if load else NOTHING,
        viewBox=f"0 0 {_SPARK_WIDTH:.0f} {_SPARK_HEIGHT:.0f}",
        class_="spark",
    )
