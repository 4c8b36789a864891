"""The rows of the benchmark: ours beside Kafka's, their ratio, and whether the aim is met.

Pure arithmetic. A `ratio` above 1 means ours is better, also where less is better. A value that was
not measured is None, and so is every verdict that needs it.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

DIGITS = 4
Samples = Mapping[str, Sequence[float]]
"""Measured values by the name of the measure: one per run."""


class RowJson(TypedDict):
    """A row for programs; a row that did not run also has a field `error`."""

    figure: str
    ours: float | None
    kafka: float | None
    unit: str
    ratio: float | None
    aim: str | None
    met: bool | None


@dataclass(frozen=True, slots=True)
class Aim:
    """The aim of a row: `bound` in its unit, `times` as good as Kafka's, or both together."""

    bound: float | None = None
    times: float | None = None


NO_AIM = Aim()


@dataclass(frozen=True, slots=True)
class Row:
    """A figure: its name, and the measures that it is made of."""

    figure: str
    unit: str
    ours: str
    kafka: str | None = None
    """The peer's name of the measure; None: the peer does not measure it."""
    is_less_better: bool = False
    aim: Aim = NO_AIM
    kafka_factor: float = 1.0
    """The factor from the peer's unit to the row's unit."""
    is_worst: bool = False
    """True if the value is the maximum of all runs instead of the median."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The value of several runs, with their minimum and maximum."""

    value: float
    least: float
    most: float
    runs: int


@dataclass(frozen=True, slots=True)
class Result:
    """A row with its measured values."""

    row: Row
    ours: Spread | None
    kafka: Spread | None
    errors: Sequence[str] = field(default=())
    """The reasons why a side did not run."""

    @property
    def ratio(self) -> float | None:
        """The number of times by which ours is better than Kafka's."""
        if self.ours is None or self.kafka is None:
            return None
        better, worse = self.ours.value, self.kafka.value
        if self.row.is_less_better:
            better, worse = worse, better
        return better / worse if better > 0 and worse > 0 else None

    @property
    def is_met(self) -> bool | None:
        """True if the aim is met; None without an aim, or if a part of it cannot be judged."""
        aim, judged = self.row.aim, []
        if aim.bound is not None:
            judged.append(self._is_within(aim.bound))
        if aim.times is not None:
            judged.append(None if self.ratio is None else self.ratio >= aim.times)
        if False in judged:
            return False
        return None if None in judged or not judged else True

    def as_json(self) -> RowJson | dict[str, object]:
        """The row for programs."""
        row = RowJson(
            figure=self.row.figure,
            ours=_round(_value(self.ours)),
            kafka=_round(_value(self.kafka)),
            unit=self.row.unit,
            ratio=_round(self.ratio),
            aim=aim_text(self.row),
            met=self.is_met,
        )
        return {**row, "error": "; ".join(self.errors)} if self.errors else row

    def _is_within(self, bound: float) -> bool | None:
        if self.ours is None:
            return None
        value = self.ours.value
        return value <= bound if self.row.is_less_better else value >= bound


def result_of(row: Row, ours: Samples, kafka: Samples, errors: Sequence[str] = ()) -> Result:
    """The row with all values measured so far."""
    theirs = [value * row.kafka_factor for value in kafka.get(row.kafka or "", ())]
    return Result(
        row=row,
        ours=_spread(ours.get(row.ours, ()), is_worst=row.is_worst),
        kafka=_spread(theirs, is_worst=row.is_worst),
        errors=tuple(errors),
    )


def aim_text(row: Row) -> str | None:
    """The aim in words; None for a row that is only reported."""
    aim, parts = row.aim, []
    if aim.bound is not None:
        parts.append(f"{'<=' if row.is_less_better else '>='} {aim.bound:g} {row.unit}")
    if aim.times is not None and row.is_less_better:
        parts.append(f"<= 1/{aim.times:g} of Kafka's")
    elif aim.times is not None:
        parts.append(f">= {aim.times:g}x Kafka's")
    return " and ".join(parts) or None


def _spread(values: Sequence[float], *, is_worst: bool) -> Spread | None:
    if not values:
        return None
    value = max(values) if is_worst else statistics.median(values)
    return Spread(value, min(values), max(values), len(values))


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _value(spread: Spread | None) -> float | None:
    return None if spread is None else spread.value
