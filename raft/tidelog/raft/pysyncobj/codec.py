"""Conversion of PySyncObj's flat message dicts to protobuf and back.

Covers the kinds the library writes or reads itself; decides nothing. Snapshots in the library's
format, forwarded commands, membership changes and pieces of large entries are not supported, so
that neither a peer nor a bug here can send them.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import Any

from tidelog.v1.raft_pb2 import AppendEntries, RaftMessage

Message = dict[str, Any]  # the library's own form: a str `type`, an int `term`, fields by type


def encode(message: Message, envelope: RaftMessage) -> None:
    """Fill the body of `envelope`, which names sender, receiver, incarnation and term."""
    match message:
        case {"type": "append_entries", "entries": entries}:
            _encode_append(message, entries, envelope.append_entries)
        case {"type": "request_vote"}:
            envelope.request_vote.last_log_index = message["last_log_index"]
            envelope.request_vote.last_log_term = message["last_log_term"]
        case {"type": "response_vote"}:
            envelope.vote_granted.SetInParent()
        case _:
            raise ValueError(f"no wire form for PySyncObj's message {message!r}")


def _encode_append(message: Message, entries: list[Any], body: AppendEntries) -> None:
    body.previous_index = message["prevLogIdx"]
    body.previous_term = message["prevLogTerm"]
    body.commit_index = message["commit_index"]
    for command, _, term in entries:
        body.entries.add(command=command, term=term)


def decode(envelope: RaftMessage) -> Message:
    """Decode a message for the library. Raises `ValueError` for a kind it does not read."""
    match envelope.WhichOneof("body"):
        case "request_vote":
            return {
                "type": "request_vote",
                "term": envelope.term,
                "last_log_index": envelope.request_vote.last_log_index,
                "last_log_term": envelope.request_vote.last_log_term,
            }
        case "vote_granted":
            return {"type": "response_vote", "term": envelope.term}
        case kind:
            raise ValueError(f"PySyncObj does not read {kind!r}")
