"""Raft messages that no voter wrote: of another cluster whose log looks alike, and forged ones.

Makes messages, sends none. Numbers are those that hurt: near the true ones, and near the ends. What
only the sender's own log can say (entries behind the receiver's last, a vote that is counted, an
acknowledgement) is not forged in the name of the own cluster: a voter believes it, decision 0025.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from google.protobuf.descriptor import FieldDescriptor

from tidelog.v1.raft_pb2 import AppendEntries, LogEntry, PreVoteReply, RaftMessage, RequestVote

FAR = (0, 2**20, 2**31, 2**32, 2**44, 2**53, 2**61, 2**62 - 1, 2**62, 2**63 - 1, -1, -(2**63))
"""Beyond the last accepted one, 2**62 - 1, too: those end at the edge."""
FOREIGN_LEAD = 3
"""Terms by which the log of another cluster is ahead: enough to win each vote."""
_ANY = RaftMessage.DESCRIPTOR.oneofs_by_name["body"].fields
_BODIES = tuple(field.name for field in _ANY if field.name != "hello")


BELIEVED = frozenset({"vote_granted", "append_entries_reply", "install_snapshot_reply"})
"""Messages that a voter counts in its own term: forged in distant terms only."""


class Random(Protocol):
    """As `random.Random`."""

    def randrange(self, start: int, stop: int, /) -> int:
        """At least `start`, below `stop`."""


@dataclass(frozen=True, slots=True)
class Aim:
    """A message's receiver as far as a forger can know it, and in whose name it is written."""

    cluster_id: str
    sender_id: int
    receiver_id: int
    term: int
    last_index: int
    last_term: int
    incarnation: int = 1

    def envelope(self, *, term: int, incarnation: int | None = None) -> RaftMessage:
        """A message without a body."""
        return RaftMessage(
            cluster_id=self.cluster_id,
            sender_id=self.sender_id,
            receiver_id=self.receiver_id,
            incarnation=self.incarnation if incarnation is None else incarnation,
            term=term,
        )


def leap(aim: Aim, random: Random) -> RaftMessage:
    """A term and an incarnation from nowhere, said by a leader, or by who answers a pre-vote."""
    term = (2**62 - 1, 2**61, aim.term + 2**32)[random.randrange(0, 3)]
    incarnation = (2**61, 2**62 - 1, aim.incarnation)[random.randrange(0, 3)]
    message = aim.envelope(term=term, incarnation=incarnation)
    if random.randrange(0, 3):
        message.append_entries.CopyFrom(AppendEntries(round=1))
    else:
        message.pre_vote_reply.CopyFrom(PreVoteReply(asked_term=aim.term, is_granted=True))
    return message


def imitate(aim: Aim, random: Random, *, first: bytes) -> RaftMessage:
    """The word of another cluster's leader, whose log matches the receiver's by chance.

    `first` begins its term, a command follows; or it asks for the receiver's vote.
    """
    term = max(aim.term, aim.last_term) + FOREIGN_LEAD
    message = aim.envelope(term=term)
    if not random.randrange(0, 4):
        vote = RequestVote(last_log_index=aim.last_index + 9, last_log_term=term - 1)
        message.request_vote.CopyFrom(vote)
        return message
    entries = [LogEntry(term=term, command=first), LogEntry(term=term, command=b"\0foreign")]
    message.append_entries.CopyFrom(
        AppendEntries(
            previous_index=aim.last_index,
            previous_term=aim.last_term,
            commit_index=aim.last_index + len(entries),
            entries=entries,
        )
    )
    return message


def forge(aim: Aim, random: Random) -> RaftMessage:
    """Any body, each number of it near the truth or far from it."""
    name = _BODIES[random.randrange(0, len(_BODIES))]
    term = _far(random) if name in BELIEVED else _number(random, aim.term)
    message = aim.envelope(term=term, incarnation=_number(random, aim.incarnation))
    body = getattr(message, name)
    body.SetInParent()
    for field in body.DESCRIPTOR.fields:
        if field.cpp_type == FieldDescriptor.CPPTYPE_INT64:
            near = aim.last_term if field.name.endswith("term") else aim.last_index
            setattr(body, field.name, _number(random, near))
        elif field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            setattr(body, field.name, bool(random.randrange(0, 2)))
        elif field.name == "data":
            body.data = bytes(random.randrange(0, 40))
    if name == "append_entries" and body.previous_index == aim.last_index:
        body.commit_index = 0
    elif name == "append_entries":
        for _ in range(random.randrange(0, 3)):
            body.entries.add(term=_number(random, aim.last_term), command=b"\0forged")
    return message


def _number(random: Random, near: int) -> int:
    if random.randrange(0, 2):
        return max(0, near + random.randrange(-1, 2))
    return _far(random)


def _far(random: Random) -> int:
    return FAR[random.randrange(0, len(FAR))]
