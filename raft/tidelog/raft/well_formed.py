"""Plausibility check of a message: could a voter have sent it? Decides nothing else.

A voter's numbers are not negative and grow with events, so that none ever approaches the wire
type's maximum; the terms of consecutive entries do not decrease and do not exceed their leader's. A
message that violates this is from a foreign or a broken process, and processing it might stop the
voter.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor

from tidelog.v1.raft_pb2 import AppendEntries, InstallSnapshot, RaftMessage

NUMBER_MAX = 2**62
"""Bound above every term, index, round and incarnation there will ever be."""


def fault(message: RaftMessage) -> str | None:
    """Describe the message's fault; None if it has none, or its kind is unknown to this version."""
    kind = message.WhichOneof("body")
    body = None if kind is None else getattr(message, kind)
    numbers = [message.incarnation, message.term]
    for field, value in [] if body is None else body.ListFields():
        if field.cpp_type == FieldDescriptor.CPPTYPE_INT64:
            numbers.append(value)
    if not all(0 <= number < NUMBER_MAX for number in numbers):
        return f"a number in it is below 0 or not below {NUMBER_MAX}"
    if isinstance(body, AppendEntries):
        return _entries_fault(body, message.term)
    if isinstance(body, InstallSnapshot):
        return _piece_fault(body, message.term)
    return None


def _entries_fault(body: AppendEntries, term: int) -> str | None:
    before = body.previous_term
    for entry in body.entries:
        if not before <= entry.term <= term:
            return f"an entry of term {entry.term} follows one of term {before} in term {term}"
        before = entry.term
    return None


def _piece_fault(body: InstallSnapshot, term: int) -> str | None:
    if body.last_term > term or body.offset + len(body.data) > body.total_bytes:
        return "a piece of a snapshot is outside of it, or of a future term"
    return None
