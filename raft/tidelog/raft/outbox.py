"""The messages of one step, stamped as they are written: cluster, sender, incarnation and term."""

from __future__ import annotations

from tidelog.raft.durable_state import DurableLog
from tidelog.v1.raft_pb2 import RaftMessage


class Outbox:
    """Grows by `to`, emptied by `take`."""

    def __init__(self, log: DurableLog, *, cluster_id: str) -> None:
        self._log = log
        self._cluster_id = cluster_id
        self._messages: list[RaftMessage] = []

    def to(self, peer_id: int) -> RaftMessage:
        """A new message to this voter; the caller fills its body."""
        message = RaftMessage(
            cluster_id=self._cluster_id,
            sender_id=self._log.node_id,
            receiver_id=peer_id,
            incarnation=self._log.incarnation,
            term=self._log.term,
        )
        self._messages.append(message)
        return message

    def take(self) -> list[RaftMessage]:
        """All messages, in the order they were written."""
        messages, self._messages = self._messages, []
        return messages
