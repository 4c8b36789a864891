"""What clients did and saw, for the checks: every call that ended, and every one that did not.

Decides nothing. `docs/HISTORY.md` describes the JSON lines that `to_lines` writes and `from_lines`
reads: the first says the version and the lossy topics, each other one is a send or a poll.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, cast, get_args

from tidelog.chaos.json_line import HistoryFormatError, JsonLine

Outcome = Literal["ok", "fail", "unknown"]
"""Done, definitely not done, or nobody knows."""

VERSION = 1
ACKS_ALL = -1


@dataclass(frozen=True, slots=True)
class Send:
    """One record given to a producer. Times are seconds of one clock for the whole history."""

    process: str
    """The producer; its sends to one partition are in sent order by `number`."""
    number: int
    """The place in the order of all calls."""
    topic: str
    incarnation: int
    """Grows each time the topic is created again."""
    partition: int
    value: bytes
    """Unique in the whole history."""
    acks: int
    """-1 all, 1 leader, 0 none."""
    is_idempotent: bool
    invoked_s: float
    ended_s: float | None
    """None if it never ended."""
    outcome: Outcome
    offset: int | None = None
    """Where it was acknowledged to be."""
    reason: str = ""
    """Why it failed, or why nobody knows."""


@dataclass(frozen=True, slots=True)
class Poll:
    """What one call of a consumer brought of one partition, maybe nothing."""

    process: str
    number: int
    topic: str
    incarnation: int
    partition: int
    invoked_s: float
    ended_s: float
    position: int
    """Asked from this offset on."""
    records: tuple[tuple[int, bytes], ...]
    """(offset, value) in the order served."""
    is_final: bool = False
    """Read in the calm at the end; a process's last final poll reached the high watermark."""
    is_rewound: bool = False
    """The consumer was told before this poll that its position is gone."""


@dataclass(slots=True)
class History:
    """All sends and polls. Of no topic are records deleted but by unclean elections."""

    sends: list[Send] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    lossy_topics: set[str] = field(default_factory=set)
    """Unclean elections are allowed: what they lose is counted, not complained about."""

    def to_lines(self) -> Iterator[str]:
        """The history as JSON lines, without line ends."""
        yield _dump({"version": VERSION, "lossy_topics": sorted(self.lossy_topics)})
        yield from map(line_of, self.sends)
        yield from map(line_of, self.polls)

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> Self:
        """Read JSON lines; blank ones count but say nothing. Errors: `HistoryFormatError`."""
        history, values, header = cls(), set[bytes](), False
        for line_number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                parsed = JsonLine(line)
                if not header:
                    header, history.lossy_topics = True, _lossy_topics(parsed)
                else:
                    _add(history, values, parsed)
            except HistoryFormatError as error:
                raise HistoryFormatError(f"line {line_number}: {error}") from None
        if not header:
            raise HistoryFormatError("line 1: no header, the history is empty")
        return history


def line_of(call: Send | Poll) -> str:
    """A call as the history has it, without the line's end."""
    if isinstance(call, Send):
        return _dump({"type": "send", **_fields(call), "value": _encode(call.value)})
    records = [[offset, _encode(value)] for offset, value in call.records]
    return _dump({"type": "poll", **_fields(call), "records": records})


def _add(history: History, values: set[bytes], line: JsonLine) -> None:
    match line.word("type"):
        case "send":
            send = _send(line)
            if send.value in values:
                raise HistoryFormatError("another send has the same value")
            values.add(send.value)
            history.sends.append(send)
        case "poll":
            history.polls.append(_poll(line))
        case other:
            raise HistoryFormatError(f"type is {other!r}, not send or poll")


def _lossy_topics(line: JsonLine) -> set[str]:
    if line.whole("version") != VERSION:
        raise HistoryFormatError(f"version is {line.whole('version')}, only {VERSION} is known")
    topics = line.array("lossy_topics")
    if not all(isinstance(topic, str) for topic in topics):
        raise HistoryFormatError("lossy_topics are not all texts")
    return set(topics)


def _send(line: JsonLine) -> Send:
    acks, outcome, ended_s = line.whole("acks", least=-1), line.word("outcome"), None
    if acks > 1:
        raise HistoryFormatError(f"acks is {acks}, not -1, 0 or 1")
    if outcome not in get_args(Outcome):
        raise HistoryFormatError(
            f"outcome is {outcome!r}, not one of {', '.join(get_args(Outcome))}"
        )
    if line.has("ended_s"):
        ended_s = line.seconds("ended_s", least=line.seconds("invoked_s"))
    elif outcome != "unknown":
        raise HistoryFormatError(f"ended_s is missing, though the outcome is {outcome}")
    return Send(
        **_place(line),
        value=line.value("value"),
        acks=acks,
        is_idempotent=line.flag("is_idempotent"),
        invoked_s=line.seconds("invoked_s"),
        ended_s=ended_s,
        outcome=cast("Outcome", outcome),
        offset=line.whole("offset") if line.has("offset") else None,
        reason=line.word("reason") if line.has("reason") else "",
    )


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


def _fields(call: Send | Poll) -> dict[str, Any]:
    return {name: getattr(call, name) for name in call.__slots__}


def _dump(values: Mapping[str, object]) -> str:
    return json.dumps(values, separators=(",", ":"))


def _encode(value: bytes) -> str:
    return b64encode(value).decode()
