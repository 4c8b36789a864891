"""A history as JSON lines: what each says, and what is wrong with one that says something else.

Pure. Lines as `docs/HISTORY.md` has them are read without a call per field; whatever looks unusual
is read again field by field by `JsonLine`, which accepts it or says what is wrong.
"""

from __future__ import annotations

import json
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Iterable, Iterator, Mapping
from math import inf
from operator import itemgetter
from sys import intern
from typing import Any, get_args

from tidelog.chaos.history import History, Outcome, Poll, Send
from tidelog.chaos.json_line import OFFSET_MAX, HistoryFormatError, JsonLine

VERSION = 1
_OUTCOMES: dict[str, Outcome] = {outcome: outcome for outcome in get_args(Outcome)}
_ACKS = (-1, 0, 1)
_OPTIONAL = frozenset({"reason", "is_final", "is_rewound"})
_PLACE = ("process", "number", "topic", "incarnation", "partition")
_SEND_FIELDS = itemgetter(
    *_PLACE, "value", "acks", "is_idempotent", "invoked_s", "ended_s", "outcome", "offset"
)
_POLL_FIELDS = itemgetter(*_PLACE, "invoked_s", "ended_s", "position", "records")


def to_lines(history: History) -> Iterator[str]:
    """The history as JSON lines, without line ends."""
    yield header_line(history.lossy_topics)
    yield from map(line_of, history.sends)
    yield from map(line_of, history.polls)


def from_lines(lines: Iterable[str]) -> History:
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


# Writing


def header_line(lossy_topics: Iterable[str]) -> str:
    """The first line."""
    return _dump({"version": VERSION, "lossy_topics": sorted(lossy_topics)})


def line_of(call: Send | Poll) -> str:
    """A poll; a send that ended, or that has not yet."""
    if isinstance(call, Send):
        return _dump({"type": "send", **_fields(call), "value": _encode(call.value)})
    records = [[offset, _encode(value)] for offset, value in call.records]
    return _dump({"type": "poll", **_fields(call), "records": records})


def end_line(send: Send) -> str:
    """How a send ended that was written before it did."""
    names = ("number", "ended_s", "outcome", "offset", "reason")
    return _dump({"type": "end", **{name: getattr(send, name) for name in names}})


def _fields(call: Send | Poll) -> dict[str, Any]:
    """All but those that mean the same when they are missing."""
    values = {name: getattr(call, name) for name in call.__slots__}
    return {name: value for name, value in values.items() if value or name not in _OPTIONAL}


def _dump(values: Mapping[str, object]) -> str:
    return json.dumps(values, separators=(",", ":"))


def _encode(value: bytes) -> str:
    return b64encode(value).decode()


# Reading


class _Reader:
    """Takes line by line; raises `HistoryFormatError` without a line number."""

    def __init__(self) -> None:
        self.history = History()
        self.has_header = False
        self._values: set[bytes] = set()
        self._open: dict[int, Send] = {}
        """By number: sends that had not ended when they were written."""
        self._decode = json.JSONDecoder().raw_decode

    def take(self, line: str) -> None:
        """One line that says something."""
        values = self._parse(line)
        if not self.has_header:
            self.history.lossy_topics, self.has_header = _lossy_topics(JsonLine(values)), True
            return
        match values.get("type"):
            case "send":
                self._add(_plain_send(values) or _send(JsonLine(values)))
            case "poll":
                self.history.polls.append(_plain_poll(values) or _poll(JsonLine(values)))
            case "end":
                self._end(JsonLine(values))
            case _:
                other = JsonLine(values).word("type")
                raise HistoryFormatError(f"type is {other!r}, not send, end or poll")

    def _parse(self, line: str) -> dict[str, Any]:
        try:
            values, end = self._decode(line)
            if end < len(line) and not line[end:].isspace():
                values = json.loads(line)  # which says what follows
        except (ValueError, RecursionError) as error:
            try:
                values = json.loads(line)  # which takes space in front, too
            except (ValueError, RecursionError):
                raise HistoryFormatError(f"not JSON: {error}") from None
        if not isinstance(values, dict):
            raise HistoryFormatError("not a JSON object")
        return values

    def _add(self, send: Send) -> None:
        if send.value in self._values:
            raise HistoryFormatError("another send has the same value")
        self._values.add(send.value)
        if send.ended_s is None and self._open.setdefault(send.number, send) is not send:
            raise HistoryFormatError("another send without an end has the same number")
        self.history.sends.append(send)

    def _end(self, line: JsonLine) -> None:
        send = self._open.pop(line.whole("number"), None)
        if send is None:
            raise HistoryFormatError("no send of this number is without an end")
        send.ended_s, send.outcome, send.offset, send.reason = _ending(line, send.invoked_s)


def _plain_send(values: Mapping[str, Any]) -> Send | None:
    """None where anything is not as most lines have it."""
    try:
        fields = _SEND_FIELDS(values)
    except KeyError:
        return None
    process, number, topic, incarnation, partition, value, acks, is_idempotent = fields[:8]
    invoked_s, ended_s, outcome, offset = fields[8:]
    reason = values.get("reason", "")
    if not (
        _is_place(process, number, topic, incarnation, partition)
        and type(acks) is int
        and acks in _ACKS
        and type(is_idempotent) is bool
        and type(invoked_s) is float
        and (type(ended_s) is float or (ended_s is None and outcome == "unknown"))
        and -inf < invoked_s <= (invoked_s if ended_s is None else ended_s) < inf
        and outcome in _OUTCOMES
        and (offset is None or (type(offset) is int and 0 <= offset <= OFFSET_MAX))
        and type(reason) is str
    ):
        return None
    try:
        value = a2b_base64(value, strict_mode=True)
    except (ValueError, TypeError):
        return None
    return Send(
        intern(process),
        number,
        intern(topic),
        incarnation,
        partition,
        value,
        acks,
        is_idempotent,
        invoked_s,
        ended_s,
        _OUTCOMES[outcome],
        offset,
        intern(reason),
    )


def _plain_poll(values: Mapping[str, Any]) -> Poll | None:
    """None where anything is not as most lines have it."""
    try:
        fields = _POLL_FIELDS(values)
    except KeyError:
        return None
    process, number, topic, incarnation, partition, invoked_s, ended_s, position, served = fields
    is_final, is_rewound = values.get("is_final", False), values.get("is_rewound", False)
    if not (
        _is_place(process, number, topic, incarnation, partition)
        and type(invoked_s) is type(ended_s) is float
        and -inf < invoked_s <= ended_s < inf
        and type(position) is int
        and 0 <= position <= OFFSET_MAX
        and type(is_final) is type(is_rewound) is bool
        and type(served) is list
    ):
        return None
    records = []
    try:
        for offset, value in served:
            if type(offset) is not int or not 0 <= offset <= OFFSET_MAX:
                return None
            records.append((offset, a2b_base64(value, strict_mode=True)))
    except (ValueError, TypeError):
        return None
    return Poll(
        intern(process),
        number,
        intern(topic),
        incarnation,
        partition,
        invoked_s,
        ended_s,
        position,
        tuple(records),
        is_final,
        is_rewound,
    )


def _is_place(process: Any, number: Any, topic: Any, incarnation: Any, partition: Any) -> bool:
    return (
        type(process) is type(topic) is str
        and type(number) is type(incarnation) is type(partition) is int
        and 0 <= number <= OFFSET_MAX
        and 0 <= incarnation <= OFFSET_MAX
        and 0 <= partition <= OFFSET_MAX
    )


def _lossy_topics(line: JsonLine) -> set[str]:
    if line.whole("version") != VERSION:
        raise HistoryFormatError(f"version is {line.whole('version')}, only {VERSION} is known")
    topics = line.array("lossy_topics")
    if not all(isinstance(topic, str) for topic in topics):
        raise HistoryFormatError("lossy_topics are not all texts")
    return set(topics)


def _send(line: JsonLine) -> Send:
    acks, invoked_s = line.whole("acks", least=-1), line.seconds("invoked_s")
    if acks > 1:
        raise HistoryFormatError(f"acks is {acks}, not -1, 0 or 1")
    ended_s, outcome, offset, reason = _ending(line, invoked_s)
    return Send(
        **_place(line),
        value=line.value("value"),
        acks=acks,
        is_idempotent=line.flag("is_idempotent"),
        invoked_s=invoked_s,
        ended_s=ended_s,
        outcome=outcome,
        offset=offset,
        reason=reason,
    )


def _ending(line: JsonLine, invoked_s: float) -> tuple[float | None, Outcome, int | None, str]:
    outcome, ended_s = line.word("outcome"), None
    if outcome not in _OUTCOMES:
        raise HistoryFormatError(f"outcome is {outcome!r}, not one of {', '.join(_OUTCOMES)}")
    if line.has("ended_s"):
        ended_s = line.seconds("ended_s", least=invoked_s)
    elif outcome != "unknown":
        raise HistoryFormatError(f"ended_s is missing, though the outcome is {outcome}")
    offset = line.whole("offset") if line.has("offset") else None
    reason = line.word("reason") if line.has("reason") else ""
    return ended_s, _OUTCOMES[outcome], offset, reason


def _poll(line: JsonLine) -> Poll:
    return Poll(
        **_place(line),
        invoked_s=line.seconds("invoked_s"),
        ended_s=line.seconds("ended_s", least=line.seconds("invoked_s")),
        position=line.whole("position"),
        records=line.records("records"),
        is_final=line.flag("is_final"),
        is_rewound=line.flag("is_rewound"),
    )


def _place(line: JsonLine) -> dict[str, Any]:
    return {
        "process": line.word("process"),
        "number": line.whole("number"),
        "topic": line.word("topic"),
        "incarnation": line.whole("incarnation"),
        "partition": line.whole("partition"),
    }
