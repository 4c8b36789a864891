"""PySyncObj's flat message dicts to protobuf and back. It decides nothing and knows no library.

Only messages the engine may send or receive have a form here: snapshot transfers, forwarded
commands and membership changes cannot be expressed, so a peer cannot send them.
"""

from __future__ import annotations

from typing import Any

from tidelog.raft.durable_state import WalEntry
from tidelog.v1 import raft_pb2

Message = dict[str, Any]  # PySyncObj's own form: a str `type`, an int `term`, fields by type


def encode(message: Message, envelope: raft_pb2.RaftMessage) -> raft_pb2.RaftMessage:
    """Fill the body of `envelope`, which names sender, receiver, incarnation and term."""
    match message["type"]:
        case "append_entries":
            body = envelope.append_entries
            body.previous_index = message["prevLogIdx"]
            body.previous_term = message["prevLogTerm"]
            body.commit_index = message["commit_index"]
            for command, _, term in message["entries"]:
                body.entries.add(command=command, term=term)
        case "next_node_idx":
            envelope.append_entries_reply.next_index = message["next_node_idx"]
            envelope.append_entries_reply.is_success = message["success"]
            envelope.append_entries_reply.is_reset = message["reset"]
        case "request_vote":
            envelope.request_vote.last_log_index = message["last_log_index"]
            envelope.request_vote.last_log_term = message["last_log_term"]
        case "response_vote":
            envelope.vote_granted.SetInParent()
        case "pre_vote":
            envelope.pre_vote.last_log_index = message["last_log_index"]
            envelope.pre_vote.last_log_term = message["last_log_term"]
        case "pre_vote_reply":
            envelope.pre_vote_reply.asked_term = message["asked_term"]
            envelope.pre_vote_reply.is_granted = message["is_granted"]
        case unknown:
            raise ValueError(f"no wire form for PySyncObj's message {unknown!r}")
    return envelope


def decode(envelope: raft_pb2.RaftMessage) -> Message | None:
    """The message as PySyncObj knows it; None when the body is of a kind this version lacks."""
    kind = envelope.WhichOneof("body")
    decoder = _DECODERS.get(kind or "")
    if decoder is None:
        return None
    return {"term": envelope.term, **decoder(getattr(envelope, kind or ""))}


def _append_entries(body: raft_pb2.AppendEntries) -> Message:
    first = body.previous_index + 1
    return {
        "type": "append_entries",
        "prevLogIdx": body.previous_index,
        "prevLogTerm": body.previous_term,
        "commit_index": body.commit_index,
        "entries": [
            WalEntry(entry.command, first + position, entry.term)
            for position, entry in enumerate(body.entries)
        ],
    }


def _append_entries_reply(body: raft_pb2.AppendEntriesReply) -> Message:
    return {
        "type": "next_node_idx",
        "next_node_idx": body.next_index,
        "success": body.is_success,
        "reset": body.is_reset,
    }


def _last_log(kind: str, body: raft_pb2.RequestVote | raft_pb2.PreVote) -> Message:
    return {
        "type": kind,
        "last_log_index": body.last_log_index,
        "last_log_term": body.last_log_term,
    }


_DECODERS: dict[str, Any] = {  # each takes its own body type
    "append_entries": _append_entries,
    "append_entries_reply": _append_entries_reply,
    "request_vote": lambda body: _last_log("request_vote", body),
    "vote_granted": lambda _: {"type": "response_vote"},
    "pre_vote": lambda body: _last_log("pre_vote", body),
    "pre_vote_reply": lambda body: {
        "type": "pre_vote_reply",
        "asked_term": body.asked_term,
        "is_granted": body.is_granted,
    },
}
