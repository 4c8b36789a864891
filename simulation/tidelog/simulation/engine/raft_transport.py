"""Raft messages over the simulated network: the `RaftTransport` port, one connection a direction.

Owns this node's outgoing connections and which incoming one is the newest of each peer; never
decides what a message means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from tidelog.core.errors import KafkaError
from tidelog.core.logs import get_logger
from tidelog.net.strangers import Strangers
from tidelog.raft.config import RaftConfig
from tidelog.raft.hello import check_cluster, check_hello, hello_of
from tidelog.raft.transport import RaftReceiver
from tidelog.raft.well_formed import fault
from tidelog.simulation.engine.network import Connection, Host, SimNetwork
from tidelog.v1.raft_pb2 import RaftMessage

logger = get_logger(__name__)

CONNECT_TIMEOUT_S = 1.0
RECONNECT_INTERVAL_S = 0.1


class SimRaftTransport:
    """Transport of one voter. Voters share `directory`, the host of each node id."""

    def __init__(
        self,
        *,
        network: SimNetwork,
        host: Host,
        node_id: int,
        voter_ids: Iterable[int],
        directory: dict[int, SimRaftTransport],
        config: RaftConfig | None = None,
    ) -> None:
        self.host = host
        self.strangers = Strangers()
        self._config = config or RaftConfig()
        self._network = network
        self._node_id = node_id
        self._peer_ids = sorted(set(voter_ids) - {node_id})
        self._directory = directory
        self._receiver: RaftReceiver | None = None
        self._outgoing: dict[int, Connection] = {}
        self._newest_incoming: dict[int, Connection] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._refusals: dict[int, str] = {}
        """The last reason given for each peer."""

    async def start(self, receiver: RaftReceiver) -> None:
        """See `RaftTransport.start`."""
        self._receiver = receiver
        self._directory[self._node_id] = self
        self._tasks = [
            asyncio.create_task(self._keep_connected(peer_id), name=f"raft>{peer_id}")
            for peer_id in self._peer_ids
        ]

    async def stop(self) -> None:
        """See `RaftTransport.stop`."""
        self._receiver = None
        for task in self._tasks:
            task.cancel()
        for connection in self._outgoing.values():
            connection.reset(self.host)
        self._outgoing.clear()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def send(self, peer_id: int, message: RaftMessage) -> bool:
        """See `RaftTransport.send`."""
        connection = self._outgoing.get(peer_id)
        if connection is None:
            return False
        content = message.SerializeToString(deterministic=True)
        peer = self._directory[peer_id]
        connection.send(
            self.host, "raft", content, lambda: peer.on_arrival(self._node_id, connection, content)
        )
        return True

    # Outgoing, on this node's loop

    async def _keep_connected(self, peer_id: int) -> None:
        while True:
            broken = asyncio.Event()
            connection = await self._connect(peer_id, broken)
            if connection is not None and self._receiver is not None:
                self._outgoing[peer_id] = connection
                self._receiver.on_connected(peer_id)
                await broken.wait()
                del self._outgoing[peer_id]
                self._receiver.on_disconnected(peer_id)
            await asyncio.sleep(RECONNECT_INTERVAL_S)

    async def _connect(self, peer_id: int, broken: asyncio.Event) -> Connection | None:
        peer = self._directory.get(peer_id)
        if peer is None or self._network.host_at(peer.host.address) is not peer.host:
            return None
        accepted: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def on_broken(end: Host) -> None:
            if end is self.host:
                broken.set()

        connection = self._network.connect((self.host, peer.host), on_broken)
        hello = hello_of(self._node_id, receiver_id=peer_id, config=self._config)
        content = hello.SerializeToString(deterministic=True)

        def on_answer(refusal: str) -> None:
            if not accepted.done():
                accepted.set_result(refusal)

        connection.send(
            self.host, "hello", content, lambda: peer.on_hello(content, connection, on_answer)
        )
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                refusal = await accepted
        except TimeoutError:
            refusal = ""
        else:
            if not refusal:
                return connection
        self._log_refusal(peer_id, refusal)
        self._network.forget(connection)
        return None

    def _log_refusal(self, peer_id: int, reason: str) -> None:
        """Log it once, as a real node does."""
        if reason and self._refusals.get(peer_id) != reason:
            self._refusals[peer_id] = reason
            logger.warning(
                "a voter refuses the raft stream of this node", peer_id=peer_id, reason=reason
            )

    # Incoming, called on this node's loop by the network

    def on_hello(
        self, content: bytes, connection: Connection, on_answer: Callable[[str], None]
    ) -> None:
        """A peer connects: what still comes over its older connection is dropped, and that breaks.

        As at a real node, whose peer is told: a hello that came so late that the peer had given it
        up and connected again would mute it for good. `on_answer` is called on the peer's loop with
        why it is refused, or nothing.
        """
        hello = RaftMessage.FromString(content)
        if self._receiver is None:
            return
        refusal = self._refusal_of(hello)
        if refusal:
            connection.send(self.host, "refusal", refusal.encode(), lambda: on_answer(refusal))
            return
        older = self._newest_incoming.get(hello.sender_id)
        self._newest_incoming[hello.sender_id] = connection
        if older is not None:
            older.reset(self.host)
        connection.send(self.host, "welcome", b"", lambda: on_answer(""))

    def _refusal_of(self, hello: RaftMessage) -> str:
        try:
            check_cluster(hello, self._config, self.strangers)
            check_hello(hello, node_id=self._node_id, peer_ids=self._peer_ids, config=self._config)
        except KafkaError as error:
            return error.message
        return ""

    def on_arrival(self, peer_id: int, connection: Connection, content: bytes) -> None:
        """A message of a peer; as at a real node's edge, one that no voter writes ends here."""
        message = RaftMessage.FromString(content)
        is_heard = self._newest_incoming.get(peer_id) is connection and not fault(message)
        if self._receiver is not None and is_heard:
            self._receiver.on_message(peer_id, message)
