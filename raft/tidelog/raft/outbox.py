"""Messages of one step, each stamped with cluster, sender, incarnation and current term.

Owns which of them wait for the disk: a promise waits until all earlier writes are stored. A hint
promises nothing except that its sender is alive in this term, and leaves at once if no crash can
make that untrue.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.raft.durable_state import DurableLog
from tidelog.v1.raft_pb2 import RaftMessage


class Outbox:
    """Messages added by `promise` and `hint`, removed by `take_promises` and `take_hints`."""

    def __init__(self, log: DurableLog, *, cluster_id: str) -> None:
        self._log = log
        self._cluster_id = cluster_id
        self._promises: list[RaftMessage] = []
        self._hints: list[RaftMessage] = []

    def promise(self, peer_id: int) -> RaftMessage:
        """Create a message to this voter that waits for the disk; the caller fills its body."""
        message = self._new_message(peer_id)
        self._promises.append(message)
        return message

    def hint(self, peer_id: int) -> RaftMessage:
        """Create a message to this voter that depends on nothing but the stamp being durable.

        Until it is, no other voter hears of a term or an incarnation that a crash would lose.
        """
        if not self._log.is_stamp_durable:
            return self.promise(peer_id)
        message = self._new_message(peer_id)
        self._hints.append(message)
        return message

    def take_promises(self) -> list[RaftMessage]:
        """Take the messages that wait for the disk, in the order they were created."""
        messages, self._promises = self._promises, []
        return messages

    def take_hints(self) -> list[RaftMessage]:
        """Take the messages that do not wait, in the order they were created."""
        messages, self._hints = self._hints, []
        return messages

    def _new_message(self, peer_id: int) -> RaftMessage:
        return RaftMessage(
            cluster_id=self._cluster_id,
            sender_id=self._log.node_id,
            receiver_id=peer_id,
            incarnation=self._log.incarnation,
            term=self._log.term,
        )
