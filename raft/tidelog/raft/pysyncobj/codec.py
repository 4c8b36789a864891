"""PySyncObj's flat message dicts to protobuf and back: the kinds it writes or reads itself.

It decides nothing. Snapshots in the library's form, forwarded commands, changes of membership and
pieces of large entries have no form here, so that no peer can send them and no bug of ours can.
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
    """The message as the library reads it. Errors: `ValueError` for a kind that it does not."""
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
