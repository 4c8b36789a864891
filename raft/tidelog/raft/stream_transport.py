"""Raft messages between processes: one stream for each direction of each pair of voters.

Owns this node's streams to its peers and, in `RaftPeerHandler`, the peers' streams to this node. A
stream begins with a `RaftHello`, which a node of another cluster or configuration refuses with an
error. Reads only the sender of later messages; `peer_link` drops those that a peer cannot take.
Knows no gRPC: streams are the ones of `tidelog.net`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from tidelog.core.background import cancel_tasks, report_failure
from tidelog.core.errors import InvalidRequestError
from tidelog.core.logs import get_logger
from tidelog.net.strangers import Strangers
from tidelog.net.transport import Connect
from tidelog.raft.config import RaftConfig
from tidelog.raft.hello import check_cluster, check_hello
from tidelog.raft.peer_link import PeerLink
from tidelog.raft.transport import RaftReceiver
from tidelog.raft.well_formed import fault
from tidelog.v1 import raft_pb2

logger = get_logger(__name__)


class RaftStreamTransport:
    """`RaftTransport` of a real node, whose server must serve a `RaftPeerHandler` for it."""

    def __init__(
        self,
        *,
        node_id: int,
        voters: Mapping[int, str],
        connect: Connect,
        config: RaftConfig | None = None,
        strangers: Strangers | None = None,
    ) -> None:
        self.node_id = node_id
        self._config = config or RaftConfig()
        self._strangers = strangers or Strangers()
        self._links = {
            peer_id: PeerLink(
                peer_id, address=address, node_id=node_id, config=self._config, connect=connect
            )
            for peer_id, address in voters.items()
            if peer_id != node_id
        }
        self._receiver: RaftReceiver | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, receiver: RaftReceiver) -> None:
        """See `RaftTransport`."""
        self._receiver = receiver
        self._tasks = [
            asyncio.create_task(link.run(receiver), name=f"raft-link-{link.peer_id}")
            for link in self._links.values()
        ]
        for task in self._tasks:
            task.add_done_callback(report_failure)

    async def stop(self) -> None:
        """See `RaftTransport`."""
        self._receiver = None
        await cancel_tasks(self._tasks)

    def send(self, peer_id: int, message: raft_pb2.RaftMessage) -> bool:
        """See `RaftTransport`."""
        return self._links[peer_id].send(message)

    def check_cluster(self, message: raft_pb2.RaftMessage) -> None:
        """Raise `KafkaError` INCONSISTENT_CLUSTER_ID for a message from another cluster's node."""
        check_cluster(message, self._config, self._strangers)

    def check_hello(self, message: raft_pb2.RaftMessage) -> None:
        """Raise `KafkaError` INVALID_REQUEST for a stream that must not continue."""
        check_hello(message, node_id=self.node_id, peer_ids=self._links, config=self._config)

    def on_message(self, message: raft_pb2.RaftMessage) -> None:
        """Pass on a message from another voter."""
        link = self._links[message.sender_id]
        link.on_heard()
        if self._receiver is not None:
            self._receiver.on_message(link.peer_id, message)


class RaftPeerHandler:
    """Server side of RaftPeer: accepts the peers' streams, only the newest of each peer."""

    def __init__(self, transport: RaftStreamTransport) -> None:
        self._transport = transport
        self._streams: dict[int, asyncio.Task[Any]] = {}  # the server's tasks

    async def exchange(
        self, requests: AsyncIterator[raft_pb2.RaftMessage]
    ) -> raft_pb2.RaftExchangeEnd:
        """Receive one peer's messages until a side ends the stream or a newer one supersedes it.

        Raises `KafkaError` INCONSISTENT_CLUSTER_ID for a message from another cluster's node;
        INVALID_REQUEST for a stream without a voter's hello, for a message that is malformed, not
        for this node or not from the peer that opened the stream, and when superseded.
        """
        task = asyncio.current_task()
        peer_id: int | None = None
        try:
            async for message in requests:
                self._transport.check_cluster(message)
                if peer_id is not None:
                    self._check(peer_id, message)
                    self._transport.on_message(message)
                    continue
                self._transport.check_hello(message)
                peer_id = message.sender_id
                if task is not None:
                    self._supersede(peer_id, task)
        except asyncio.CancelledError:
            if peer_id is None or self._streams.get(peer_id) is task:
                raise
            what = f"a newer stream of node {peer_id} to this node replaced this one"
            raise InvalidRequestError(what) from None
        finally:
            if peer_id is not None and self._streams.get(peer_id) is task:
                del self._streams[peer_id]
        return raft_pb2.RaftExchangeEnd()

    def _supersede(self, peer_id: int, task: asyncio.Task[Any]) -> None:
        older = self._streams.get(peer_id)
        if older is not None:
            logger.info("a newer raft stream of a voter replaces the older one", peer_id=peer_id)
            older.cancel()
        self._streams[peer_id] = task

    def _check(self, peer_id: int, message: raft_pb2.RaftMessage) -> None:
        node_id = self._transport.node_id
        what = fault(message)
        if what is not None:
            raise InvalidRequestError(
                f"a raft message that names node {message.sender_id} as its sender is malformed: "
                f"{what}",
            )
        if message.receiver_id != node_id or peer_id != message.sender_id:
            raise InvalidRequestError(
                f"a raft message from node {message.sender_id} to node {message.receiver_id} on "
                f"the stream of node {peer_id} to node {node_id}: check controller voters",
            )
