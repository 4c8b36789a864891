"""A node with its listeners: what serves it, in the order in which it starts and ends.

Owns no signal, no logging and no process: `process` has those for a process of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.core.env import Disk
from tidelog.core.system import SystemClock, SystemRandom, boot_id, process_id
from tidelog.core.workers import ThreadWorkers
from tidelog.net.grpc_server import GrpcServer
from tidelog.net.grpc_streams import connect
from tidelog.net.listeners import grpc_listeners, kafka_listeners
from tidelog.net.peers import OwnPeers
from tidelog.net.strangers import Strangers
from tidelog.net.tcp_server import TcpServer
from tidelog.net.transport import Transport
from tidelog.node.config import NodeConfig
from tidelog.node.http_produce.posts import RecordPosts, producer_for
from tidelog.node.ports import Ports
from tidelog.node.server import Node, build_node
from tidelog.raft.stream_transport import RaftPeerHandler, RaftStreamTransport

if TYPE_CHECKING:
    from tidelog.node.http import HttpServer

STOP_GRACE_S = 0.5
HEALTH_INTERVAL_S = 0.25


@dataclass(frozen=True, slots=True)
class Outside:
    """The outside of a node on this machine. `on_fatal` ends the node: see `Ports`."""

    disk: Disk
    peers: OwnPeers
    raft_voters: Mapping[int, str]
    """Addresses at which voters are reached, which may differ from the configured ones."""
    on_fatal: Callable[[BaseException], None]


class ServedNode:
    """A node with its listeners.

    The calls of its life in order: `listen`, `node.start`, `stop_node`, `close`; or, as if its
    process were killed, `hang_up` at any time.
    """

    def __init__(self, config: NodeConfig, outside: Outside) -> None:
        strangers = Strangers()
        transport = _raft_transport(config, outside.raft_voters, strangers)
        self._workers = ThreadWorkers(config.replica.inspection_threads)
        self._peers = outside.peers
        self.node = build_node(config, self._ports(outside, transport, strangers))
        if transport is not None:
            self.node.services["tidelog.v1.RaftPeer"] = RaftPeerHandler(transport)
        self.server = GrpcServer(
            listeners=grpc_listeners(config.listeners),
            services=self.node.services,
            on_fatal=outside.on_fatal,
            max_idle_ms=config.connections_max_idle_ms,
            unread=self.node.unread,
            unfinished=self.node.unfinished,
            turns=self.node.turns,
        )
        self._kafka = _kafka_listeners(config, self.node)
        self._posts = _record_posts(config, outside.peers)
        self._http = _http_server(config, self.node, self._posts, outside.on_fatal)

    async def listen(self) -> None:
        """Bind every listener and serve. Raises `PortTakenError`, `OSError`."""
        await self.server.start()
        for listener in self._kafka:
            await listener.start()
        if self._http is not None:
            await self._http.start()

    async def keep_health(self, ended: asyncio.Event) -> None:
        """Keep gRPC's health service in step with the node's readiness, until `ended`."""
        was_ready: bool | None = None
        while not ended.is_set():
            if was_ready != (was_ready := self.node.is_ready()):
                await self.server.set_healthy(healthy=was_ready)
            try:
                await asyncio.wait_for(ended.wait(), HEALTH_INTERVAL_S)
            except TimeoutError:
                continue

    async def stop_node(self) -> None:
        """Hand over what it leads, and close its logs; its listeners still answer."""
        await self.server.set_healthy(healthy=False)
        if self._posts is not None:
            await self._posts.close()
        await self.node.stop()

    async def close(self) -> None:
        """Close every listener and every connection; running calls have `STOP_GRACE_S`."""
        await self._close_kafka(STOP_GRACE_S)
        await self.server.stop(grace_s=STOP_GRACE_S)
        await self._close_rest()

    async def hang_up(self) -> None:
        """Break every connection at once; nothing of the node is stopped in order."""
        await self._close_kafka(0.0)
        await self.server.hang_up()
        await self._close_rest()

    async def _close_kafka(self, grace_s: float) -> None:
        for listener in self._kafka:
            listener.stop()
        if self.node.kafka is not None:
            await self.node.kafka.stop(grace_s=grace_s)

    async def _close_rest(self) -> None:
        if self._http is not None:
            await self._http.stop()
        await self._peers.close()
        self._workers.close()

    def _ports(
        self, outside: Outside, transport: RaftStreamTransport | None, strangers: Strangers
    ) -> Ports:
        return Ports(
            clock=SystemClock(),
            disk=outside.disk,
            random=SystemRandom(),
            peers=outside.peers,
            raft_transport=transport,
            on_fatal=outside.on_fatal,
            process_id=process_id(),
            workers=self._workers,
            boot_id=boot_id(),
            strangers=strangers,
        )


def _raft_transport(
    config: NodeConfig, voters: Mapping[int, str], strangers: Strangers
) -> RaftStreamTransport | None:
    if not config.is_controller:
        return None
    return RaftStreamTransport(
        node_id=config.node_id,
        voters=voters,
        connect=connect,
        config=config.raft,
        strangers=strangers,
    )


def _record_posts(config: NodeConfig, transport: Transport) -> RecordPosts | None:
    if not config.http_produce.is_enabled:
        return None
    producer = producer_for(config.http_produce, config.address, transport)
    return RecordPosts(producer, config.http_produce)


def _kafka_listeners(config: NodeConfig, node: Node) -> list[TcpServer]:
    kafka = node.kafka
    if kafka is None:
        return []
    return [TcpServer(one, kafka.acceptor(one)) for one in kafka_listeners(config.listeners)]


def _http_server(
    config: NodeConfig,
    node: Node,
    posts: RecordPosts | None,
    on_fatal: Callable[[BaseException], None],
) -> HttpServer | None:
    if config.http_port is None:
        return None
    # Late: a node without this port, as in a test, starts without aiohttp's tenth of a second.
    from tidelog.node.http import HttpServer
    from tidelog.node.metrics import registry_for

    return HttpServer(
        host=grpc_listeners(config.listeners)[0].bind.rpartition(":")[0],
        port=config.http_port,
        registry=registry_for(node.stats, node.client_stats),
        is_ready=node.is_ready,
        max_idle_ms=config.connections_max_idle_ms,
        on_fatal=on_fatal,
        posts=posts,
        families=node.families,
    )
