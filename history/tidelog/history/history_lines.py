"""A history as JSON lines: what each says, what is wrong with one that says something else. Pure.

`docs/HISTORY.md` describes them. The shapes of calls are those of `history`.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from sys import intern
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from tidelog.core.errors import TidelogError
from tidelog.history.history import (
    Assignment,
    Call,
    Commit,
    Committed,
    Deletion,
    History,
    Keeping,
    Outcome,
    Poll,
    Send,
    Transaction,
    Whole,
)

VERSION = 1
Seconds = Annotated[float, Meta(ge=0)]
NO_OVERLAPS: Mapping[str, float] = {}
NO_KEEPING: Mapping[str, Keeping] = {}
T = TypeVar("T")


class HistoryFormatError(TidelogError):
    """A line is not what `docs/HISTORY.md` says. Its text names the line, from 1 on."""


class _Header(Struct, omit_defaults=True):
    version: Whole
    lossy_topics: list[str]
    overlaps_s: dict[str, Seconds] = {}
    keeping: dict[str, Keeping] = {}
    wall_s: Seconds = 0.0


Begun: TypeAlias = Send | Commit | Transaction | Deletion
"""Calls that may be written before they have ended."""


class CommitBegun(Struct, tag="commit_begun"):
    """The moment from which a transaction that was written before it ended may be committed."""

    number: Whole
    at_s: float


class End(Struct, tag="end", omit_defaults=True):
    """The end of a call that was written before it ended."""

    number: Whole
    outcome: Outcome
    ended_s: float | None = None
    offset: Whole | None = None
    reason: str = ""


_HEADER = msgspec.json.Decoder(_Header)
Line: TypeAlias = Call | CommitBegun | End
_CALL: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_ENCODER = msgspec.json.Encoder()


# Writing


def to_lines(history: History) -> Iterator[str]:
    """The history as JSON lines, without line ends."""
    yield header_line(
        history.lossy_topics,
        history.overlaps_s,
        keeping=history.keeping,
        wall_s=history.wall_s,
    )
    yield from map(line_of, history.sends)
    yield from map(line_of, history.polls)
    yield from map(line_of, history.commits)
    yield from map(line_of, history.committed)
    yield from map(line_of, history.assignments)
    yield from map(line_of, history.transactions)
    yield from map(line_of, history.deletions)


def header_line(
    lossy_topics: Iterable[str],
    overlaps_s: Mapping[str, float] = NO_OVERLAPS,
    *,
    keeping: Mapping[str, Keeping] = NO_KEEPING,
    wall_s: float = 0.0,
) -> str:
    """The first line."""
    header = _Header(VERSION, sorted(lossy_topics), dict(overlaps_s), dict(keeping), wall_s)
    return _ENCODER.encode(header).decode()


def line_of(call: Call) -> str:
    """A call; one that is written in two steps has ended, or has not yet."""
    return _ENCODER.encode(call).decode()


def commit_begun_line(number: int, at_s: float) -> str:
    """The moment from which the transaction of this number, not ended, may be committed."""
    return _ENCODER.encode(CommitBegun(number, at_s)).decode()


def end_line(call: Begun) -> str:
    """The end of a call that was written before it ended."""
    offset = call.offset if isinstance(call, Send | Deletion) else None
    end = End(call.number, call.outcome, call.ended_s, offset, call.reason)
    return _ENCODER.encode(end).decode()


def call_or_end_of(line: bytes | str) -> Line:
    """Parse a line of a call, of its commit's begin or its end. Errors: `HistoryFormatError`."""
    return _decode(_CALL, line)


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
    _check_transactions(reader.history)
    return reader.history


class _Reader:
    """Takes line by line; raises `HistoryFormatError` without a line number."""

    def __init__(self) -> None:
        self.history = History()
        self.has_header = False
        self._values: set[bytes] = set()
        self._open: dict[int, Begun] = {}
        """By number: calls that had not ended when they were written."""

    def take(self, line: bytes | str) -> None:
        """Read a line that is not empty."""
        if not self.has_header:
            self._begin(_decode(_HEADER, line))
            return
        call = _decode(_CALL, line)
        if isinstance(call, End):
            self._end(call)
            return
        if isinstance(call, CommitBegun):
            self._begin_commit(call)
            return
        call.process = intern(call.process)
        if not isinstance(call, Transaction):
            call.topic = intern(call.topic)
        self._check(call)
        self.history.add(call)

    def _begin(self, header: _Header) -> None:
        if header.version != VERSION:
            raise HistoryFormatError(f"version is {header.version}, only {VERSION} is known")
        self.history.lossy_topics, self.has_header = set(header.lossy_topics), True
        self.history.overlaps_s = header.overlaps_s
        self.history.keeping, self.history.wall_s = header.keeping, header.wall_s

    def _check(self, call: Call) -> None:
        match call:
            case Send():
                _check_ending(call)
                if call.value in self._values:
                    raise HistoryFormatError("another send has the same value")
                self._values.add(call.value)
                self._note_open(call)
            case Commit() | Transaction() | Deletion():
                _check_ending(call)
                self._note_open(call)
            case Poll():
                _check_times(call.invoked_s, call.ended_s)
                if call.parts and len(call.parts) != len(call.records):
                    counted = f"{len(call.parts)} parts of {len(call.records)} records"
                    raise HistoryFormatError(f"{counted}: note those of each, or none")
            case Committed():
                _check_times(call.invoked_s, call.ended_s)
            case Assignment():
                pass

    def _note_open(self, call: Begun) -> None:
        if call.ended_s is None and self._open.setdefault(call.number, call) is not call:
            kind = type(call).__name__.lower()
            raise HistoryFormatError(f"another {kind} without an end has the same number")

    def _begin_commit(self, begun: CommitBegun) -> None:
        call = self._open.get(begun.number)
        if not isinstance(call, Transaction):
            raise HistoryFormatError("no transaction of this number is without an end")
        call.commit_begun_s = begun.at_s
        _check_ending(call)

    def _end(self, end: End) -> None:
        call = self._open.pop(end.number, None)
        if call is None:
            raise HistoryFormatError("no send of this number, or other call, is without an end")
        call.ended_s, call.outcome, call.reason = end.ended_s, end.outcome, end.reason
        if isinstance(call, Send | Deletion):
            call.offset = end.offset
        _check_ending(call)


def _decode(decoder: msgspec.json.Decoder[T], line: bytes | str) -> T:
    try:
        return decoder.decode(line)
    except msgspec.ValidationError as error:
        raise HistoryFormatError(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise HistoryFormatError(f"not JSON: {error}") from None


def _check_transactions(history: History) -> None:
    known = {one.number for one in history.transactions}
    for call in chain[Send | Poll | Commit](history.sends, history.polls, history.commits):
        if call.transaction is not None and call.transaction not in known:
            kind, number = type(call).__name__.lower(), call.transaction
            what = f"{kind} {call.number} is of transaction {number}, which is nowhere"
            raise HistoryFormatError(f"{what}: write a line of type transaction for it")


def _check_ending(call: Begun) -> None:
    call.reason = intern(call.reason)
    if isinstance(call, Transaction):
        _check_commit_begun(call)
    if call.ended_s is not None:
        _check_times(call.invoked_s, call.ended_s)
    elif call.outcome != "unknown":
        raise HistoryFormatError(f"ended_s is missing, though the outcome is {call.outcome}")


def _check_commit_begun(call: Transaction) -> None:
    if call.commit_begun_s is not None:
        if call.commit_begun_s < call.invoked_s:
            raise HistoryFormatError("commit_begun_s is before invoked_s")
    elif call.outcome == "ok":
        raise HistoryFormatError("commit_begun_s is missing, though the outcome is ok")


def _check_times(invoked_s: float, ended_s: float) -> None:
    if ended_s < invoked_s:
        raise HistoryFormatError(f"ended_s is {ended_s}: before invoked_s, which is {invoked_s}")
