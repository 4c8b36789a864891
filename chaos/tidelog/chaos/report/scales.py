"""From values to pixels, and which values get a tick. Pure.

Whatever the values are, one or none or all equal, a scale has a length and its pixels are numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

_TIME_STEPS = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800, 3600, 7200, 14400),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from `low` to `high` at pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False
    """Values are above 0 then."""

    def at(self, value: float) -> float:
        """Its pixel; what lies outside is on the edge."""
        low, high, value = map(self._straight, (self.low, self.high, value))
        share = (value - low) / (high - low)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))

    def value(self, pixel: float) -> float:
        """The value at a pixel of a linear scale."""
        return self.low + (self.high - self.low) * (pixel - self.start) / (self.end - self.start)

    def _straight(self, value: float) -> float:
        return log10(max(value, self.low)) if self.is_log else value


def linear(values: Iterable[float], *, start: float, end: float, least: float = 1.0) -> Scale:
    """Holds all values, and is at least `least` long."""
    known = list(values) or [0.0]
    low, high = min(known), max(known)
    return Scale(low, max(high, low + least), start, end)


def logarithmic(values: Iterable[float], *, start: float, end: float) -> Scale:
    """Holds all values above 0, from a power of ten to a power of ten."""
    known = [value for value in values if value > 0] or [1.0]
    low = floor(log10(min(known)))
    high = max(low + 1, ceil(log10(max(known))))
    return Scale(10.0**low, 10.0**high, start, end, is_log=True)


def ticks(scale: Scale, *, count: int) -> list[float]:
    """Round values, about `count` of them; whole ones, as offsets and counts are."""
    if scale.is_log:
        return [10.0**power for power in range(*_powers(scale))]
    step = _round_step((scale.high - scale.low) / max(1, count))
    return _multiples(scale, max(1.0, step))


def time_ticks(scale: Scale, *, count: int) -> list[float]:
    """Round times, at most about `count`."""
    span = scale.high - scale.low
    return _multiples(scale, _time_step(span, count))


def time_label(at_s: float, scale: Scale, *, count: int) -> str:
    """The label of a tick of time."""
    span = scale.high - scale.low
    step = _time_step(span, count)
    sign, value = ("−" if at_s < 0 else ""), abs(at_s)
    if step >= 3600:
        return f"{sign}{value / 3600:g} h"
    if step >= 60:
        return f"{sign}{value / 60:g} min"
    if max(abs(scale.low), abs(scale.high)) <= 180:
        return f"{sign}{value:g} s"
    return f"{sign}{int(value // 60)}:{value % 60:0{4 if step < 1 else 2}.{int(step < 1)}f}"


def _powers(scale: Scale) -> tuple[int, int]:
    return round(log10(scale.low)), round(log10(scale.high)) + 1


def _time_step(span: float, count: int) -> float:
    wanted = span / max(1, count)
    return next((step for step in _TIME_STEPS if step >= wanted), _round_step(wanted))


def _round_step(wanted: float) -> float:
    power = 10.0 ** floor(log10(wanted))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= wanted * 0.7)


def _multiples(scale: Scale, step: float) -> list[float]:
    first, last = ceil(scale.low / step - 1e-9), floor(scale.high / step + 1e-9)
    return [round(number * step, 6) for number in range(first, last + 1)]
