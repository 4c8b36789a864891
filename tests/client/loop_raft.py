"""Raft's messages between the controllers of a test: at once and in order, until a process ends."""

from __future__ import annotations

from tidelog.raft.transport import RaftReceiver
from tidelog.v1.raft_pb2 import RaftMessage


class LoopRaft:
    """The `RaftTransport` of a controller's process; all controllers share `receivers`."""

    def __init__(self, node_id: int, receivers: dict[int, RaftReceiver]) -> None:
        self._node_id = node_id
        self._receivers = receivers
        self._own: RaftReceiver | None = None

    async def start(self, receiver: RaftReceiver) -> None:
        """See `RaftTransport`."""
        for peer_id, peer in self._receivers.items():
            receiver.on_connected(peer_id)
            peer.on_connected(self._node_id)
        self._own = self._receivers[self._node_id] = receiver

    async def stop(self) -> None:
        """See `RaftTransport`."""
        self.cut()

    def cut(self) -> None:
        """Lose all that is sent from now on, here and by the others."""
        if self._own is not None:
            self._own = None
            del self._receivers[self._node_id]
            for peer in self._receivers.values():
                peer.on_disconnected(self._node_id)

    def send(self, peer_id: int, message: RaftMessage) -> bool:
        """See `RaftTransport`."""
        peer = self._receivers.get(peer_id)
        if peer is None or self._own is None:
            return False
        peer.on_message(self._node_id, RaftMessage.FromString(message.SerializeToString()))
        return True
