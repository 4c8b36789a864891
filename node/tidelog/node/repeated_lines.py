"""Suppression of repeated log lines, which are counted instead. Pure: time is a parameter.

A line equal to an earlier one in the same window is counted, and so is a line whose kind has
reached its limit in the window, since a client's requests must not fill the disk. Counts are logged
at the end of the window: the line again, with its count.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

WINDOW_S = 10.0
KIND_LINES_MAX = 50
"""Maximum number of lines of one kind, equal or not, written in a window."""
WINDOWS_MAX = 1_000
"""Maximum number of different lines compared; others are only limited by their kind."""


class LogLine(NamedTuple):
    """A level and its fields."""

    level: str
    fields: Mapping[str, object]

    @property
    def kind(self) -> tuple[str, str]:
        """Its event, or the library that wrote it."""
        return self.level, str(self.fields.get("logger", self.fields.get("event")))

    @property
    def identity(self) -> tuple[str, str]:
        """Level and fields except the traceback, for comparison."""
        said = {name: self.fields[name] for name in sorted(self.fields) if name != "exc_info"}
        return self.level, repr(said)


@dataclass(slots=True)
class _Window:
    began_s: float
    written: int = 0
    counted: int = 0
    last: LogLine | None = None


class RepeatedLines:
    """Windows of one process's lines."""

    def __init__(
        self,
        *,
        window_s: float = WINDOW_S,
        kind_lines_max: int = KIND_LINES_MAX,
        windows_max: int = WINDOWS_MAX,
    ) -> None:
        self._window_s = window_s
        self._kind_lines_max = kind_lines_max
        self._windows_max = windows_max
        self._lines: dict[tuple[str, str], _Window] = {}
        self._kinds: dict[tuple[str, str], _Window] = {}

    def is_to_write(self, line: LogLine, now_s: float) -> bool:
        """Decide whether to write the line; it is counted if not."""
        identity = line.identity
        equal = self._lines.get(identity)
        if equal is not None:
            equal.counted += 1
            equal.last = line
            return False
        kind = self._kinds.setdefault(line.kind, _Window(now_s))
        if kind.written >= self._kind_lines_max:
            kind.counted += 1
            kind.last = line
            return False
        kind.written += 1
        if len(self._lines) < self._windows_max:
            self._lines[identity] = _Window(now_s)
        return True

    def take_counted(self, now_s: float) -> list[tuple[LogLine, int]]:
        """Take the last line and the count of suppressed lines of each window that has ended."""
        taken = [*self._take_ended(self._lines, now_s)]
        for line, count in self._take_ended(self._kinds, now_s):
            fields = {"event": "lines suppressed", "of": line.kind[1]}
            taken.append((LogLine(line.level, fields), count))
        return taken

    def _take_ended(
        self, windows: dict[tuple[str, str], _Window], now_s: float
    ) -> Iterator[tuple[LogLine, int]]:
        for key, window in list(windows.items()):
            if now_s - window.began_s >= self._window_s:
                del windows[key]
                if window.last is not None:
                    yield window.last, window.counted
