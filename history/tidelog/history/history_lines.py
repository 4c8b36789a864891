"""A history as JSON lines: what each says, what is wrong with one that says something else. Pure.

`docs/HISTORY.md` describes them. The shapes of calls are `Send`'s and `Poll`'s own.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator
from sys import intern
from typing import TypeVar

import msgspec
from msgspec import Struct

from tidelog.core.errors import TidelogError
from tidelog.history.history import History, Outcome, Poll, Send, Whole

VERSION = 1
T = TypeVar("T")


class HistoryFormatError(TidelogError):
    """A line is not what `docs/HISTORY.md` says. Its text names the line, from 1 on."""


class _Header(Struct):
    version: Whole
    lossy_topics: list[str]


class _End(Struct, tag="end", omit_defaults=True):
    """The end of a send that was written before it ended."""

    number: Whole
    outcome: Outcome
    ended_s: float | None = None
    offset: Whole | None = None
    reason: str = ""


_HEADER = msgspec.json.Decoder(_Header)
_CALL = msgspec.json.Decoder(Send | Poll | _End)
_ENCODER = msgspec.json.Encoder()


# Writing


def to_lines(history: History) -> Iterator[str]:
    """The history as JSON lines, without line ends."""
    yield header_line(history.lossy_topics)
    yield from map(line_of, history.sends)
    yield from map(line_of, history.polls)


def header_line(lossy_topics: Iterable[str]) -> str:
    """The first line."""
    return _ENCODER.encode(_Header(VERSION, sorted(lossy_topics))).decode()


def line_of(call: Send | Poll) -> str:
    """A poll; a send that ended, or that has not yet."""
    return _ENCODER.encode(call).decode()


def end_line(send: Send) -> str:
    """The end of a send that was written before it ended."""
    end = _End(send.number, send.outcome, send.ended_s, send.offset, send.reason)
    return _ENCODER.encode(end).decode()


# Reading


def from_lines(lines: Iterable[bytes | str]) -> History:
    """Read JSON lines; blank ones count but say nothing. Errors: `HistoryFormatError`."""
    reader = _Reader()
    for number, line in enumerate(lines, start=1):
        if line and not line.isspace():
            try:
                reader.take(line)
            except HistoryFormatError as error:
                raise HistoryFormatError(f"line {number}: {error}") from None
    if not reader.has_header:
        raise HistoryFormatError("line 1: no header, the history is empty")
    return reader.history


class _Reader:
    """Takes line by line; raises `HistoryFormatError` without a line number."""

    def __init__(self) -> None:
        self.history = History()
        self.has_header = False
        self._values: set[bytes] = set()
        self._open: dict[int, Send] = {}
        """By number: sends that had not ended when they were written."""

    def take(self, line: bytes | str) -> None:
        """Read a line that is not empty."""
        if not self.has_header:
            self._begin(_decode(_HEADER, line))
            return
        call = _decode(_CALL, line)
        if isinstance(call, _End):
            self._end(call)
            return
        call.process, call.topic = intern(call.process), intern(call.topic)
        if isinstance(call, Send):
            self._add(call)
        else:
            _check_times(call.invoked_s, call.ended_s)
            self.history.polls.append(call)

    def _begin(self, header: _Header) -> None:
        if header.version != VERSION:
            raise HistoryFormatError(f"version is {header.version}, only {VERSION} is known")
        self.history.lossy_topics, self.has_header = set(header.lossy_topics), True

    def _add(self, send: Send) -> None:
        _check_ending(send)
        if send.value in self._values:
            raise HistoryFormatError("another send has the same value")
        self._values.add(send.value)
        if send.ended_s is None and self._open.setdefault(send.number, send) is not send:
            raise HistoryFormatError("another send without an end has the same number")
        self.history.sends.append(send)

    def _end(self, end: _End) -> None:
        send = self._open.pop(end.number, None)
        if send is None:
            raise HistoryFormatError("no send of this number is without an end")
        send.ended_s, send.outcome = end.ended_s, end.outcome
        send.offset, send.reason = end.offset, end.reason
        _check_ending(send)


def _decode(decoder: msgspec.json.Decoder[T], line: bytes | str) -> T:
    try:
        return decoder.decode(line)
    except msgspec.ValidationError as error:
        raise HistoryFormatError(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise HistoryFormatError(f"not JSON: {error}") from None


def _check_ending(send: Send) -> None:
    send.reason = intern(send.reason)
    if send.ended_s is not None:
        _check_times(send.invoked_s, send.ended_s)
    elif send.outcome != "unknown":
        raise HistoryFormatError(f"ended_s is missing, though the outcome is {send.outcome}")


def _check_times(invoked_s: float, ended_s: float) -> None:
    if ended_s < invoked_s:
        raise HistoryFormatError(f"ended_s is {ended_s}: before invoked_s, which is {invoked_s}")
