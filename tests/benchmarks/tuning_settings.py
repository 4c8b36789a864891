"""The knobs that `tuning_bench` turns, one at a time, and the table that it writes. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

BEGIN, END = "<!-- begin of the table: make bench NAMES=tuning -->", "<!-- end of the table -->"
DEFAULT = "default"
PARTITIONS, MIN_ISR = 6, 2


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of a knob: of the producer, or of the topic; all else is as by default."""

    knob: str
    value: str
    producer: Mapping[str, Any] = field(default_factory=dict)  # what Producer takes
    topic: Mapping[str, str] = field(default_factory=dict)
    partitions: int = PARTITIONS


class Measured(NamedTuple):
    """The figures of one run."""

    mib_s: float
    p50_ms: float
    p99_ms: float


def _of_producer(knob: str, name: str, values: Mapping[str, Any]) -> list[Setting]:
    return [Setting(knob, shown, producer={name: value}) for shown, value in values.items()]


def _of_topic(knob: str, name: str, values: Sequence[str]) -> list[Setting]:
    return [Setting(knob, value, topic={name: value}) for value in values]


DEFAULTS = {
    "acks": "all",
    "linger_ms": "0",
    "batch_size": "256 KiB",
    "compression": "none",
    "partitions": str(PARTITIONS),
    "max_in_flight": "5",
    "min.insync.replicas": str(MIN_ISR),
    "flush.messages": "never",
    "flush.ms": "never",
}
"""What each knob has where another one is turned."""

SETTINGS = (
    *_of_producer("acks", "acks", {"0": 0, "1": 1}),
    *_of_producer("linger_ms", "linger_ms", {"5": 5, "20": 20, "100": 100}),
    *_of_producer(
        "batch_size",
        "batch_size",
        {"16 KiB": 16 << 10, "64 KiB": 64 << 10, "1,000,000 B": 1_000_000},
    ),
    *_of_producer(
        "compression", "compression", {name: name for name in ("lz4", "snappy", "zstd", "gzip")}
    ),
    *(Setting("partitions", str(count), partitions=count) for count in (1, 3, 24, 96)),
    *_of_producer("max_in_flight", "max_in_flight", {"1": 1, "2": 2}),
    *_of_topic("min.insync.replicas", "min.insync.replicas", ("1", "3")),
    *_of_topic("flush.messages", "flush.messages", ("1", "1000")),
    *_of_topic("flush.ms", "flush.ms", ("100", "1000")),
)


def groups() -> list[tuple[str, list[Setting]]]:
    """The settings by knob; each group begins with the default, which its ratios refer to."""
    return [
        (knob, [Setting(knob, DEFAULT), *(one for one in SETTINGS if one.knob == knob)])
        for knob in DEFAULTS
    ]


def median(runs: Sequence[Measured]) -> Measured:
    """The median of each figure."""
    return Measured(*(statistics.median(values) for values in zip(*runs, strict=True)))


def table(found: Mapping[tuple[str, str], Measured], facts: Sequence[str]) -> str:
    """The table of the page, with `facts` as a list above; keys are knob and value."""
    lines = [
        *(f"- {fact}" for fact in facts),
        "",
        "| knob | value | MiB/s | times the default | p50 ms | times | p99 ms | times |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (knob, value), measured in found.items():
        base = found[knob, DEFAULT]
        shown = f"{DEFAULTS[knob]} (default)" if value == DEFAULT else value
        cells = [f"`{knob}`", shown]
        for figure, default in zip(measured, base, strict=True):
            cells += [_number(figure), "" if value == DEFAULT else f"{figure / default:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def with_table(page: str, text: str) -> str:
    """The page with another table between its marks. Errors: ValueError for a page without them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for the table: {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
