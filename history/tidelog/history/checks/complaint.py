"""Complaint of a check: an anomaly, and the calls that prove it. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.history.history import Assignment, Call, Committed, Deletion, Poll, Transaction


@dataclass(frozen=True, slots=True)
class Complaint:
    """An anomaly; `kind` is a name from the table in `docs/HISTORY.md`."""

    kind: str
    what: str
    operations: tuple[Call, ...]
    """The calls that cannot all have happened so, were the promise kept."""

    def __str__(self) -> str:
        """For people, on one line."""
        proof = ", ".join(map(_show, self.operations))
        return f"{self.kind}: {self.what} [{proof}]"


def _show(call: Call) -> str:
    match call:
        case Poll():
            return f"poll {call.number} of {call.process}"
        case Committed():
            return f"look-up {call.number} of {call.process}: {call.offset}"
        case Assignment():
            return f"{call.change} {call.number} of {call.process} at {call.at_s:g}"
        case Transaction():
            return f"transaction {call.number} of {call.process}: {call.outcome}"
        case Deletion():
            start = "" if call.offset is None else f", the log starts at {call.offset}"
            return f"deletion {call.number} below {call.before}: {call.outcome}{start}"
    at = "" if call.offset is None else f" at {call.offset}"
    kind = type(call).__name__.lower()
    return f"{kind} {call.number} of {call.process}: {call.outcome}{at}"
