"""Port for messages between voters. It decides nothing.

In the contract: a message arrives complete or not at all, from the voter that its `sender_id`
names. Intentionally not: delivery, order, freshness; Raft tolerates losses. An implementation must
not keep a superseded connection of a peer alive beside a newer one.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import Protocol

from tidelog.v1 import raft_pb2


class RaftReceiver(Protocol):
    """Callbacks of a transport, on the node's event loop. None of these raises or blocks."""

    def on_message(self, peer_id: int, message: raft_pb2.RaftMessage) -> None:
        """Receive a message from this peer; the receiver keeps it and never changes it."""

    def on_connected(self, peer_id: int) -> None:
        """Learn that messages to this peer can be sent from now on."""

    def on_disconnected(self, peer_id: int) -> None:
        """Learn that messages to this peer would be lost from now on."""


class RaftTransport(Protocol):
    """Messages between this node and the other voters."""

    async def start(self, receiver: RaftReceiver) -> None:
        """Start connecting to every peer and keep retrying; returns at once."""

    async def stop(self) -> None:
        """Close all connections; nothing is delivered afterwards."""

    def send(self, peer_id: int, message: raft_pb2.RaftMessage) -> bool:
        """Queue a message without waiting; False: dropped (no connection, queue full)."""
