"""Durations and sizes with units: `1h`, `7d`, `512MiB`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

import click

_UNITS_MS: Mapping[str, float] = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_UNITS_BYTES: Mapping[str, float] = {
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
_NUMBER_WITH_UNIT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([a-z]+)", re.IGNORECASE)
_BYTE_STEPS = ("B", "KiB", "MiB", "GiB", "TiB")


def parse_duration_ms(text: str) -> int:
    """Parse `90s`, `1.5h` or `7d` into milliseconds. Errors: ValueError."""
    return _parse(text, _UNITS_MS, "a duration such as 30s, 10m, 2h or 7d")


def parse_size_bytes(text: str) -> int:
    """Parse `512MiB` or `1GB` into bytes. Errors: ValueError."""
    return _parse(text, _UNITS_BYTES, "a size such as 64KiB, 512MiB or 1GB")


def _parse(text: str, units: Mapping[str, float], what: str) -> int:
    found = _NUMBER_WITH_UNIT.fullmatch(text.strip())
    unit = None if found is None else units.get(found[2].lower())
    if found is None or unit is None:
        raise ValueError(f"{text!r} is not {what}")
    return round(float(found[1]) * unit)


def config_number(key: str, value: str) -> str:
    """The value of a config as a plain number if it has a unit: by the end of `key`, ms or bytes.

    A value of any other form is returned as it is: the cluster judges it.
    """
    parsers = {".ms": parse_duration_ms, ".bytes": parse_size_bytes}
    for ending, parse in parsers.items():
        if key.endswith(ending) and _NUMBER_WITH_UNIT.fullmatch(value):
            return str(parse(value))
    return value


def size_text(size_bytes: int) -> str:
    """A size for people: `1.5 MiB`."""
    size: float = size_bytes
    for step in _BYTE_STEPS:
        if size < 1024 or step == _BYTE_STEPS[-1]:
            break
        size /= 1024
    return f"{size_bytes} B" if step == "B" else f"{size:.1f} {step}"


class Seconds(click.ParamType[float]):
    """A duration with a unit, or a plain number of seconds."""

    name = "duration"

    def __init__(self, *, min_s: float = 0.0) -> None:
        self._min_s = min_s

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """See `click.ParamType.convert`."""
        try:
            seconds = float(value)
        except ValueError:
            try:
                seconds = parse_duration_ms(str(value)) / 1000
            except ValueError as error:
                self.fail(str(error), param, ctx)
        if not self._min_s <= seconds < float("inf"):
            self.fail(f"{value!r} is less than {self._min_s:g} s", param, ctx)
        return seconds


class Size(click.ParamType[int]):
    """A size with a unit, in bytes."""

    name = "size"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """See `click.ParamType.convert`."""
        try:
            return parse_size_bytes(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
