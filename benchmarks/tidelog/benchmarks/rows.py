"""What a row of the benchmark says: ours beside Kafka's, how they compare, and whether it will do.

Pure arithmetic. A `ratio` above 1 means ours is better, whichever way the figure counts; what was
not measured is None, and so is every judgement that would need it.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

DIGITS = 4
Samples = Mapping[str, Sequence[float]]
"""What was measured, by the measure's name: a value a run."""


class RowJson(TypedDict):
    """A row as programs read it; a row that failed to run has a field `error`, too."""

    figure: str
    ours: float | None
    kafka: float | None
    unit: str
    ratio: float | None
    aim: str | None
    met: bool | None


@dataclass(frozen=True, slots=True)
class Aim:
    """What would do: `bound` in the row's unit, `times` as good as Kafka's; both where both are."""

    bound: float | None = None
    times: float | None = None


NO_AIM = Aim()


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its name, and which measures it is made of."""

    figure: str
    unit: str
    ours: str
    kafka: str | None = None
    """The peer's name for it; None: the peer measures no such thing."""
    is_less_better: bool = False
    aim: Aim = NO_AIM
    kafka_factor: float = 1.0
    """From the peer's unit to the row's."""
    is_worst: bool = False
    """The largest of all runs counts, not their median."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The value that counts, and the least and the most of the runs."""

    value: float
    least: float
    most: float
    runs: int


@dataclass(frozen=True, slots=True)
class Result:
    """A row with what was measured."""

    row: Row
    ours: Spread | None
    kafka: Spread | None
    errors: Sequence[str] = field(default=())
    """Why a side did not run."""

    @property
    def ratio(self) -> float | None:
        """How many times better ours is."""
        if self.ours is None or self.kafka is None:
            return None
        better, worse = self.ours.value, self.kafka.value
        if self.row.is_less_better:
            better, worse = worse, better
        return better / worse if better > 0 and worse > 0 else None

    @property
    def is_met(self) -> bool | None:
        """Whether the aim is reached; None without one, or where a part of it cannot be judged."""
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
            ours=_rounded(_value(self.ours)),
            kafka=_rounded(_value(self.kafka)),
            unit=self.row.unit,
            ratio=_rounded(self.ratio),
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
    """The row, from everything that was measured so far."""
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


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _value(spread: Spread | None) -> float | None:
    return None if spread is None else spread.value
