"""The sections of a run's page, but for its figures. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import median

from tidelog.chaos.report.markup import NOTHING, Markup, clip, element, join, text
from tidelog.chaos.report.quantities import group_digits, milliseconds, moment, pluralize, seconds
from tidelog.chaos.report.record import Anomaly, RunRecord, Verdict
from tidelog.chaos.report.story import Story

_SIGNS: dict[Verdict, str] = {"ok": "✓", "violation": "✗", "inconclusive": "?"}
_DIARY_CHARACTERS, _FAULTS_CHARACTERS, _PROOF_CHARACTERS = 90_000, 40_000, 60_000
"""Length of a section: a long run's file stays small; its record holds everything."""
_WORDS_CHARACTERS, _OPERATION_CHARACTERS = 600, 2_000
_ROW_CHARACTERS = 90
"""Approximate length of the markup around a row's words."""


def badge(verdict: Verdict) -> Markup:
    """The verdict: a word, a sign, a colour and a shape, any of which is enough."""
    return element("span", text(f"{_SIGNS[verdict]} {verdict}"), class_=f"badge {verdict}")


def chip(record: RunRecord, *, href: str) -> Markup:
    """The verdict as its sign alone, which leads to the run's report."""
    words = f"{record.verdict}, seed {record.seed}"
    return element(
        "a",
        text(_SIGNS[record.verdict]),
        class_=f"badge {record.verdict}",
        href=href,
        title=words,
        aria_label=words,
    )


def header(record: RunRecord) -> Markup:
    """The scenario's claim, and whether it held."""
    kicker = element(
        "div",
        badge(record.verdict),
        element("b", text(record.scenario)),
        element("span", text(f"seed {record.seed}")),
        element("span", text(f"{seconds(record.load_s)} of load on {record.partition}")),
        element("span", text(_when(record.began_at))),
        class_="kicker",
    )
    return element(
        "header",
        kicker,
        element("h1", text(clip(record.claim, characters=_WORDS_CHARACTERS))),
        element("p", text(_verdict_text(record))),
    )


def _when(began_at: str) -> str:
    """Without what nobody reads of ISO 8601; as it is, where it is no such thing."""
    try:
        return f"{datetime.fromisoformat(began_at):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return began_at


def _verdict_text(record: RunRecord) -> str:
    number = len(record.anomalies)
    match record.verdict:
        case "ok" if not record.bands:
            return "Nothing struck, and nothing that was promised was broken."
        case "ok":
            return "The fault was seen to bite, and nothing that was promised was broken."
        case "violation":
            kinds = ", ".join(sorted({anomaly.kind for anomaly in record.anomalies}))
            return f"A promise was broken: {pluralize(number, 'anomaly', 'anomalies')} ({kinds})."
        case "inconclusive":
            return (
                "The fault was not seen to bite, so this run proves nothing, neither good nor bad."
            )


def key_figures(story: Story) -> Markup:
    """Eight numbers, each with what it counts."""
    record, counts = story.record, story.record.counts
    usual, worst = _latencies(record)
    return element(
        "dl",
        _key("operations", _count(counts, "operations")),
        _key("acknowledged", _count(counts, "acknowledged")),
        *(_key(name, _count(counts, name), is_bad=counts.get(name, 0) > 0)
          for name in ("lost", "duplicated", "reordered")),
        _key("acks=1 lost", _count(counts, "lost_acks_1")),
        _key("unavailable to acks=all", seconds(record.unavailable_s)),
        _key("p99 latency, median to worst", usual, rest=worst),
        class_="keys",
    )  # fmt: skip


def _count(counts: Mapping[str, int], name: str) -> str:
    return group_digits(counts[name]) if name in counts else "–"


def _latencies(record: RunRecord) -> tuple[str, str]:
    known = [point.p99_ms for point in record.load if point.p99_ms is not None]
    if not known:
        return "–", ""
    return milliseconds(median(known)), f" to {milliseconds(max(known))}"


def _key(name: str, value: str, *, rest: str = "", is_bad: bool = False) -> Markup:
    more = element("small", text(rest)) if rest else NOTHING
    number = element("dd", text(value), more, class_="bad" if is_bad else None)
    return element("div", element("dt", text(name)), number)


def again(record: RunRecord) -> Markup:
    """The command that repeats the run, and its surroundings."""
    return section(
        "Run it again",
        element("pre", text(record.command), class_="command"),
        _pairs(
            {
                "Commit": f"{record.commit}, version {record.version}",
                "Machine": record.machine,
                "Brokers": _ids(record.broker_ids),
                "Controllers": _ids(record.controller_ids),
                "Seed": str(record.seed),
            }
        ),
    )


def _ids(ids: Iterable[int]) -> str:
    return ", ".join(map(str, ids)) or "none"


def facts(record: RunRecord) -> Markup:
    """The measurements of the story."""
    return section("What the story measured", _pairs(record.facts)) if record.facts else NOTHING


def _pairs(pairs: Mapping[str, str]) -> Markup:
    return element("dl", *(_pair(name, value) for name, value in pairs.items()), class_="facts")


def _pair(name: str, value: str) -> Markup:
    short = clip(value, characters=_OPERATION_CHARACTERS)
    return element("div", element("dt", text(name)), element("dd", text(short)))


def section(title: str, *content: Markup) -> Markup:
    """A heading and what it heads."""
    return element("section", element("h2", text(title)), *content)


def fold(title: str, note: str, *content: Markup, is_open: bool = False) -> Markup:
    """A part that opens when its title is clicked."""
    summary = element("summary", text(title + " "), element("span", text(note), class_="soft"))
    return element("details", summary, *content, open="" if is_open else None)


def anomalies(record: RunRecord) -> Markup:
    """Each with the calls that prove it."""
    if not record.anomalies:
        return NOTHING
    sizes = [sum(map(len, (one.what, *one.operations))) for one in record.anomalies]
    number = max(1, _fitting(sizes, _PROOF_CHARACTERS))
    shown = [_anomaly(place, one) for place, one in enumerate(record.anomalies[:number], start=1)]
    return section(
        pluralize(len(record.anomalies), "anomaly", "anomalies"),
        *shown,
        _left_out(len(record.anomalies) - number),
    )


def _anomaly(number: int, anomaly: Anomaly) -> Markup:
    when = "" if anomaly.at_s is None else f", at {moment(anomaly.at_s)}"
    what = clip(anomaly.what, characters=_WORDS_CHARACTERS)
    title = element(
        "summary",
        text(f"{number}. {anomaly.kind}"),
        element("span", text(f"{when}: {what}"), class_="soft"),
    )
    lines = [clip(line, characters=_OPERATION_CHARACTERS) for line in anomaly.operations]
    kept = _fitting([len(line) for line in lines], _PROOF_CHARACTERS)
    proof = element("pre", text("\n".join(lines[:kept]))) if lines else _unproven()
    rest = _left_out(len(lines) - kept)
    return element("details", title, proof, rest, class_="anomaly")


def _unproven() -> Markup:
    return element("p", text("Seen on the nodes: no client’s call is part of it."), class_="soft")


def faults(story: Story) -> Markup:
    """When each fault began, and how long it lasted."""
    if not story.bands:
        return NOTHING
    rows = [(moment(b.began_s), _length(b.began_s, b.ended_s), b.kind, b.what) for b in story.bands]
    heads = ("began", "lasted", "fault", "who or which links")
    return fold("Faults", group_digits(len(rows)), _table(heads, rows, _FAULTS_CHARACTERS))


def _length(began_s: float, ended_s: float | None) -> str:
    return "to the end" if ended_s is None else seconds(max(0.0, ended_s - began_s))


def diary(record: RunRecord) -> Markup:
    """Its lines, in order of time."""
    if not record.notes:
        return NOTHING
    notes = sorted(record.notes, key=lambda note: note.at_s)
    rows = [(moment(note.at_s), note.who, note.what) for note in notes]
    table = _table(("time", "who", "what"), rows, _DIARY_CHARACTERS)
    return fold("Diary", pluralize(len(rows), "line"), table, is_open=len(rows) <= 40)


def settings(record: RunRecord) -> Markup:
    """Those that differ from the defaults."""
    if not record.settings:
        return NOTHING
    rows = list(record.settings.items())
    return fold(
        "Settings",
        "that differ from the defaults",
        _table(("setting", "value"), rows, _FAULTS_CHARACTERS),
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], characters: int) -> Markup:
    """As many rows as fit: the first, and how many more there are."""
    short = [[clip(cell, characters=_WORDS_CHARACTERS) for cell in row] for row in rows]
    kept = _fitting([_ROW_CHARACTERS + sum(map(len, row)) for row in short], characters)
    body = [
        element("tr", *(_cell(head, cell) for head, cell in zip(heads, row, strict=True)))
        for row in short[:kept]
    ]
    head = element(
        "thead", element("tr", *(element("th", text(one), class_=_kind(one)) for one in heads))
    )
    is_long = len(rows) > 10
    table = element("table", head, element("tbody", *body), class_="filtered" if is_long else None)
    return join([table, _left_out(len(rows) - kept)])


def _cell(head: str, words: str) -> Markup:
    return element("td", text(words), class_=_kind(head))


def _kind(head: str) -> str | None:
    if head in ("time", "began", "lasted"):
        return "number"
    return "name" if head in ("who", "fault") else None


def _fitting(sizes: Sequence[int], limit: int) -> int:
    """Number of leading items whose total length is within `limit`."""
    used = 0
    for number, size in enumerate(sizes):
        used += size
        if used > limit:
            return number
    return len(sizes)


def _left_out(number: int) -> Markup:
    if number <= 0:
        return NOTHING
    return element("p", text(f"{group_digits(number)} more are in record.json."), class_="soft")
