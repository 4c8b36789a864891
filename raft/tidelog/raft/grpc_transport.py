"""Raft messages over gRPC: one stream for each direction of each pair of voters.

Owns this node's streams to its peers and, in `RaftPeerHandler`, the peers' streams to this node. A
stream begins with a `RaftHello`, which a node of another cluster or configuration refuses with an
error. Reads only the sender of later messages, and drops messages that a peer cannot take.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

import grpc
import structlog

from tidelog.core.errors import InvalidRequestError
from tidelog.net.strangers import Strangers
from tidelog.raft.config import RaftConfig
from tidelog.raft.hello import check_cluster, check_hello, hello_of
from tidelog.raft.transport import RaftReceiver
from tidelog.raft.well_formed import fault
from tidelog.v1 import raft_pb2
from tidelog.v1.methods import RAFT_EXCHANGE

logger = structlog.get_logger(__name__)


class GrpcRaftTransport:
    """`RaftTransport` of a real node, whose server must serve a `RaftPeerHandler` for it."""

    def __init__(
        self,
        *,
        node_id: int,
        voters: Mapping[int, str],
        config: RaftConfig | None = None,
        strangers: Strangers | None = None,
    ) -> None:
        self.node_id = node_id
        self._config = config or RaftConfig()
        self._strangers = strangers or Strangers()
        self._links = {
            peer_id: _Link(peer_id, address=address, node_id=node_id, config=self._config)
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

    async def stop(self) -> None:
        """See `RaftTransport`."""
        self._receiver = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

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

    def __init__(self, transport: GrpcRaftTransport) -> None:
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


class _Link:
    """This node's stream to one peer, reconnected until stopped, fed from a bounded queue."""

    def __init__(self, peer_id: int, *, address: str, node_id: int, config: RaftConfig) -> None:
        self.peer_id = peer_id
        self._hello = hello_of(node_id, receiver_id=peer_id, config=config)
        self.is_connected = False
        self._address = address
        self._config = config
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._wake = asyncio.Event()
        self._refusal = ""  # the last reason logged
        self._asked_s: float | None = None  # time of the oldest message the peer has not answered

    def send(self, message: raft_pb2.RaftMessage) -> bool:
        data = message.SerializeToString()
        is_full = self._queued_bytes + len(data) > self._config.max_peer_queue_bytes
        if is_full or not self.is_connected:
            return False
        self._queue.append(data)
        self._queued_bytes += len(data)
        self._wake.set()
        return True

    def on_heard(self) -> None:
        self._asked_s = None

    async def run(self, receiver: RaftReceiver) -> None:
        while True:
            async with grpc.aio.insecure_channel(self._address, self._options()) as channel:
                try:
                    await self._exchange(channel, receiver)
                except (grpc.RpcError, TimeoutError, asyncio.InvalidStateError) as error:
                    logger.debug("raft stream ended", peer_id=self.peer_id, error=repr(error))
            await asyncio.sleep(self._config.reconnect_interval_ms / 1000)

    def _options(self) -> list[tuple[str, int]]:
        interval_ms = self._config.reconnect_interval_ms
        return [
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.enable_http_proxy", 0),
            ("grpc.initial_reconnect_backoff_ms", interval_ms),
            ("grpc.max_reconnect_backoff_ms", interval_ms),
        ]

    async def _exchange(self, channel: grpc.aio.Channel, receiver: RaftReceiver) -> None:
        async with asyncio.timeout(self._config.connect_timeout_ms / 1000):
            await channel.channel_ready()
        call: Any = channel.stream_unary(RAFT_EXCHANGE.path)()  # not typed by gRPC
        call.add_done_callback(lambda _: self._wake.set())
        self._asked_s = None
        try:
            await call.write(self._hello.SerializeToString())
            self.is_connected = True
            receiver.on_connected(self.peer_id)
            while not call.done():
                await self._send_queued(call)
        finally:
            if self.is_connected:
                self.is_connected = False
                receiver.on_disconnected(self.peer_id)
            self._queue.clear()
            self._queued_bytes = 0
            if call.done():
                await self._tell_refusal(call)
            call.cancel()

    async def _tell_refusal(self, call: Any) -> None:
        """Log the peer's reason to refuse this node's streams, once per reason, despite retries."""
        reason = await call.details()
        if await call.code() is grpc.StatusCode.INVALID_ARGUMENT and reason != self._refusal:
            self._refusal = reason
            logger.warning(
                "a voter refuses the raft stream of this node", peer_id=self.peer_id, reason=reason
            )

    async def _send_queued(self, call: Any) -> None:
        await self._wake.wait()
        self._wake.clear()
        stall_s = self._config.stall_timeout_ms / 1000
        while self._queue and not call.done():
            now_s = asyncio.get_running_loop().time()
            if self._asked_s is None:
                self._asked_s = now_s
            elif now_s - self._asked_s > stall_s:
                raise TimeoutError(f"node {self.peer_id} was silent for {stall_s} s")
            data = self._queue.popleft()
            self._queued_bytes -= len(data)
            async with asyncio.timeout(stall_s):
                await call.write(data)
