"""The port through which voters exchange messages. It decides nothing.

In the contract: a message arrives whole or not at all, from the voter its `sender_id` names.
Intentionally not: delivery, order, freshness; Raft repairs what is lost. An implementation must
not keep a superseded connection of a peer alive beside a newer one.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import Protocol

from tidelog.v1 import raft_pb2


class RaftReceiver(Protocol):
    """What a transport calls, on the node's event loop. None of these raises or blocks."""

    def on_message(self, peer_id: int, message: raft_pb2.RaftMessage) -> None:
        """A message of this peer arrived; the receiver keeps it and never changes it."""

    def on_connected(self, peer_id: int) -> None:
        """Messages to this peer can be sent from now on."""

    def on_disconnected(self, peer_id: int) -> None:
        """Messages to this peer would be lost from now on."""


class RaftTransport(Protocol):
    """Messages between this node and the other voters."""

    async def start(self, receiver: RaftReceiver) -> None:
        """Begin to connect to every peer and keep trying; returns at once."""

    async def stop(self) -> None:
        """Close all connections; nothing is delivered afterwards."""

    def send(self, peer_id: int, message: raft_pb2.RaftMessage) -> bool:
        """Hand over a message without waiting; False: dropped (no connection, queue full)."""

    def is_connected(self, peer_id: int) -> bool:
        """Whether messages to this peer can be sent now."""
