"""One JSON line of a history, field by field, each checked as it is asked for.

Owns what is said of a field that is not as `docs/HISTORY.md` describes it. Pure.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from math import inf
from typing import Any

from tidelog.log.errors import TidelogError

OFFSET_MAX = (1 << 63) - 1


class HistoryFormatError(TidelogError):
    """A line is not what `docs/HISTORY.md` says. Its text names the line, from 1 on."""


class JsonLine:
    """One line's JSON object. Every method raises `HistoryFormatError`, without a line number."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._values.get(name) is not None

    def word(self, name: str) -> str:
        """A text."""
        value = self._values.get(name)
        if not isinstance(value, str):
            raise HistoryFormatError(f"{name} is no text")
        return value

    def whole(self, name: str, *, least: int = 0) -> int:
        """A whole number of at most 63 bits."""
        return _whole(name, self._values.get(name), least=least)

    def seconds(self, name: str, *, least: float = -inf) -> float:
        """A point in time."""
        value = self._values.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise HistoryFormatError(f"{name} is no number")
        if not (-inf < value < inf and value >= least):
            raise HistoryFormatError(f"{name} is {value}: no time, or before the call was made")
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false; a missing field is false."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise HistoryFormatError(f"{name} is neither true nor false")
        return value

    def array(self, name: str) -> list[Any]:
        """An array of anything."""
        value = self._values.get(name)
        if not isinstance(value, list):
            raise HistoryFormatError(f"{name} is no array")
        return value

    def value(self, name: str) -> bytes:
        """Bytes, as base64."""
        return _decode(self.word(name))

    def records(self, name: str) -> tuple[tuple[int, bytes], ...]:
        """An array of [offset, value]."""
        return tuple(map(_record, self.array(name)))


def _whole(name: str, value: object, *, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise HistoryFormatError(f"{name} is no whole number")
    if not least <= value <= OFFSET_MAX:
        raise HistoryFormatError(f"{name} is not in {least}..{OFFSET_MAX}")
    return value


def _record(entry: object) -> tuple[int, bytes]:
    match entry:
        case [offset, str(value)]:
            return _whole("a record's offset", offset), _decode(value)
    raise HistoryFormatError("a record is not [offset, value]")


def _decode(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise HistoryFormatError("a value is not base64") from None
