"""Whether a message can be a voter's at all. It decides nothing else, and never acts.

Numbers of a voter are not negative and grow by what happens, so that none ever comes near the end
of what the wire holds; entries follow each other in terms that do not go back and are not ahead of
their leader's. A message that breaks this is of a stranger, or of a broken process: what a voter
would make of it might stop it.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor

from tidelog.v1.raft_pb2 import AppendEntries, InstallSnapshot, RaftMessage

NUMBER_MAX = 2**62
"""Above every term, index, round and incarnation there will ever be."""


def fault(message: RaftMessage) -> str | None:
    """What is wrong with it, for people; None: nothing, or it is of a kind this version lacks."""
    kind = message.WhichOneof("body")
    body = None if kind is None else getattr(message, kind)
    numbers = [message.incarnation, message.term]
    for field, value in [] if body is None else body.ListFields():
        if field.cpp_type == FieldDescriptor.CPPTYPE_INT64:
            numbers.append(value)
    if not all(0 <= number < NUMBER_MAX for number in numbers):
        return f"a number of it is below 0 or not below {NUMBER_MAX}"
    if isinstance(body, AppendEntries):
        return _entries_fault(body, message.term)
    if isinstance(body, InstallSnapshot):
        return _piece_fault(body, message.term)
    return None


def _entries_fault(body: AppendEntries, term: int) -> str | None:
    before = body.previous_term
    for entry in body.entries:
        if not before <= entry.term <= term:
            return f"an entry of term {entry.term} follows one of {before} in term {term}"
        before = entry.term
    return None


def _piece_fault(body: InstallSnapshot, term: int) -> str | None:
    if body.last_term > term or body.offset + len(body.data) > body.total_bytes:
        return "a piece of a snapshot lies outside of it, or in a term to come"
    return None
