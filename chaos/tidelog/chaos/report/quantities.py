"""Numbers as people read them, each with its unit. Pure."""

from __future__ import annotations

_MINUTE_S, _HOUR_S = 60, 3600


def group_digits(value: float) -> str:
    """1,234,567."""
    return f"{value:,.0f}"


def seconds(value: float) -> str:
    """A duration: `340 ms`, `8.4 s`, `12 min 5 s`, `2 h 3 min`."""
    if value < 0.9995:
        return f"{value * 1000:.0f} ms" if value else "0 s"
    if value < 99.95:
        return f"{value:.1f}".removesuffix(".0") + " s"
    minutes, rest = divmod(round(value), _MINUTE_S)
    if value < _HOUR_S:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, _MINUTE_S)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def milliseconds(value: float) -> str:
    """A duration: `0.4 ms`, `12 ms`, `4.1 s`."""
    if value >= 1000:
        return seconds(value / 1000)
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f}".removesuffix(".0") + " ms"


def moment(at_s: float) -> str:
    """A point in time since the load began: `12.3 s`, `12:05.3`, `1:12:05`."""
    sign, tenths = ("−" if at_s < -0.05 else ""), round(abs(at_s) * 10)
    minutes, rest = divmod(tenths, _MINUTE_S * 10)
    if minutes < 2:
        return f"{sign}{tenths / 10:.1f} s"
    if minutes < 60:
        return f"{sign}{minutes}:{rest / 10:04.1f}"
    return f"{sign}{minutes // 60}:{minutes % 60:02}:{rest // 10:02}"


def pluralize(number: int, one: str, many: str | None = None) -> str:
    """`1 anomaly`, `2 anomalies`."""
    return f"{group_digits(number)} {one if number == 1 else many or one + 's'}"
