"""A node's gRPC listeners: serve handlers by service descriptors, with health and reflection.

Transports messages and never interprets them: method handlers are built from the service
descriptors, so a new RPC needs a callable in its handler (`handlers`) and no change here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import grpc
import grpc.aio
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor
from grpc_health.v1 import health, health_pb2
from grpc_reflection.v1alpha import reflection

from tidelog.core.logs import get_logger
from tidelog.core.turns import SharedTurns
from tidelog.net.grpc_channels import KEEPALIVE
from tidelog.net.grpc_connections import (
    connections_at,
    connections_of,
    descriptors_max,
    resident_bytes,
)
from tidelog.net.grpc_edge import Edge
from tidelog.net.handlers import counts_itself, serve_of
from tidelog.net.listeners import Listener, PortTakenError
from tidelog.net.unfinished_requests import UnfinishedLimits, UnfinishedRequests
from tidelog.net.unread_responses import NodeResponses, UnreadLimits, UnreadResponses

log = get_logger(__name__)

# Maximum size of a request; gRPC checks it before it allocates the message.
RECEIVE_BYTES_MAX = 16 * 1024 * 1024
CONCURRENT_STREAMS_MAX = 1_000
"""Maximum calls in flight on one connection; a client's library holds back the rest."""
PENDING_CALLS, PENDING_CALLS_MAX = 4_000, 8_000
"""Limits of calls waiting for the loop, 13 KiB each: gRPC cancels some above the first, then all.

gRPC's defaults, 1,000 and 3,000, would hit callers of a node that was paused for a second.
"""
HANDSHAKE_MS_MAX = 10_000
"""Maximum time until a new connection has completed the HTTP/2 handshake."""
MAX_IDLE_MS = 600_000
HANG_UP_S_MAX = 1.0
LOOK_S = 0.25
"""Interval of checks for connections that hold too much."""
LOOKS_PER_TIMEOUT = 4
"""Checks of incomplete requests per timeout, even if memory has not grown."""
REST_PER_DESCRIPTOR_MS = 0.05
"""Interval of these checks while memory has grown, per descriptor: 50 times a check's duration."""
GROWN_BYTES_MIN = 16 << 20
"""Growth of the process's memory that triggers them: less cannot be an attack."""
SERVER_OPTIONS = (
    # Without it two servers share one port and each gets some of the connections.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", RECEIVE_BYTES_MAX),
    ("grpc.max_send_message_length", -1),
    *KEEPALIVE,
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    # A node too busy to read in time finds several seconds' pings at once, and would close a
    # healthy connection with all its calls: any number of pings is allowed.
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.max_concurrent_streams", CONCURRENT_STREAMS_MAX),
    ("grpc.server.max_pending_requests", PENDING_CALLS),
    ("grpc.server.max_pending_requests_hard_limit", PENDING_CALLS_MAX),
)


class GrpcServer:
    """Server of all services of a node, at each of its listeners."""

    def __init__(
        self,
        *,
        listeners: Sequence[Listener],
        services: Mapping[str, object],
        on_fatal: Callable[[BaseException], None],
        unread: NodeResponses | None = None,
        unfinished: UnfinishedRequests | None = None,
        turns: SharedTurns | None = None,
        max_idle_ms: int = MAX_IDLE_MS,
    ) -> None:
        self._unread = unread or NodeResponses(UnreadLimits(), _loop_ms)
        self._unfinished = unfinished or UnfinishedRequests(UnfinishedLimits())
        self._quiet_bytes = self._looked_ms = 0
        self._ports: frozenset[int] = frozenset()
        self._hanging_up: asyncio.Task[None] | None = None
        self._health = health.aio.HealthServicer()
        self._services = sorted(services)
        options = (
            *SERVER_OPTIONS,
            ("grpc.max_connection_idle_ms", max_idle_ms),
            ("grpc.server_handshake_timeout_ms", min(max_idle_ms, HANDSHAKE_MS_MAX)),
        )
        self._servers: dict[Listener, grpc.aio.Server] = {}
        shared = turns or SharedTurns()
        for listener in listeners:
            server = self._servers[listener] = grpc.aio.server(options=options)
            edge = Edge(listener, on_fatal, self._unread, self._unfinished, shared)
            self._add_services(server, edge, services)

    async def start(self) -> None:
        """Bind and serve. Raises `PortTakenError`."""
        self._ports = frozenset(_bind(server, one.bind) for one, server in self._servers.items())
        for server in self._servers.values():
            await server.start()
        self._hanging_up = asyncio.create_task(self._hang_up_forever(), name="unread-responses")

    async def set_healthy(self, *, healthy: bool) -> None:
        """Set the answer of the standard gRPC health service, for the server and each service."""
        serving, not_serving = (
            health_pb2.HealthCheckResponse.SERVING,
            health_pb2.HealthCheckResponse.NOT_SERVING,
        )
        for name in ("", *self._services):
            await self._health.set(name, serving if healthy else not_serving)

    async def stop(self, *, grace_s: float) -> None:
        """Refuse further calls; running ones have `grace_s` seconds."""
        if self._hanging_up is not None:
            self._hanging_up.cancel()
        await asyncio.gather(*(server.stop(grace_s) for server in self._servers.values()))

    async def hang_up(self) -> None:
        """Break every connection at once, as the end of a process does, and stop.

        Calls whose connection is gone end by themselves; `HANG_UP_S_MAX` bounds the wait for them.
        """
        stopping = asyncio.gather(self.stop(grace_s=HANG_UP_S_MAX))
        await asyncio.sleep(0)  # no listener any more
        async with connections_at(self._ports) as connections:
            for one in connections.values():
                one.hang_up()
        await stopping

    def _add_services(
        self, server: grpc.aio.Server, edge: Edge, services: Mapping[str, object]
    ) -> None:
        for name, handler in sorted(services.items()):
            server.add_generic_rpc_handlers((_generic_handler(edge, name, handler),))
        names = [*self._services, health.SERVICE_NAME, reflection.SERVICE_NAME]
        libraries = {
            health.SERVICE_NAME: self._health,
            reflection.SERVICE_NAME: reflection.aio.ReflectionServicer(names),
        }
        for name, servicer in libraries.items():
            server.add_generic_rpc_handlers((_library_handler(edge, name, servicer),))

    async def _hang_up_forever(self) -> None:
        """Close connections with unread responses or incomplete requests that make no progress.

        gRPC does not end a call whose response is not read: only closing its connection frees it.
        """
        while True:
            await asyncio.sleep(LOOK_S)
            for responses in (self._unread.fetches, self._unread.others):
                if late := responses.late_owners():
                    await _hang_up(responses, late)
            await self._look_for_unfinished()

    async def _look_for_unfinished(self) -> None:
        """Check incomplete requests by the kernel's byte counts, which is too expensive often.

        So it runs when memory has grown since the last good check, and rarely otherwise: freed
        memory that is reused shows no growth.
        """
        resident, now_ms = resident_bytes(), _loop_ms()
        self._quiet_bytes = min(resident, self._quiet_bytes or resident)
        has_grown = resident - self._quiet_bytes >= GROWN_BYTES_MIN
        rest_ms = self._unfinished.timeout_ms / LOOKS_PER_TIMEOUT
        if has_grown:
            rest_ms = min(rest_ms, descriptors_max() * REST_PER_DESCRIPTOR_MS)
        if now_ms - self._looked_ms < rest_ms:
            return
        self._looked_ms = now_ms
        async with connections_at(self._ports) as connections:
            traffic = {peer: one.traffic() for peer, one in connections.items()}
            for peer in self._unfinished.look(traffic, now_ms):
                log.warning("incomplete request: connection closed", connection=peer)
                connections[peer].hang_up()
        if self._unfinished.size_bytes < GROWN_BYTES_MIN // 2:
            self._quiet_bytes = resident


def _bind(server: grpc.aio.Server, address: str) -> int:
    """Bind the address; returns its port. Raises `PortTakenError`."""
    try:
        port = server.add_insecure_port(address)
    except RuntimeError:
        port = 0
    if port == 0:
        raise PortTakenError(address)
    return port


def _generic_handler(edge: Edge, service: str, handler: object) -> grpc.GenericRpcHandler:
    descriptor = descriptor_pool.Default().FindServiceByName(service)

    def method(one: MethodDescriptor) -> grpc.RpcMethodHandler[Any, Any]:
        counts = counts_itself(handler, one.name)
        return edge.handler(one, serve_of(handler, one.name), counts_itself=counts)

    methods = {one.name: method(one) for one in descriptor.methods}
    return grpc.method_handlers_generic_handler(service, methods)


def _library_handler(edge: Edge, service: str, servicer: object) -> grpc.GenericRpcHandler:
    """Build the handler of a service implemented by a gRPC library, behind the same edge."""
    descriptor = descriptor_pool.Default().FindServiceByName(service)
    methods = {
        one.name: edge.library_handler(one, getattr(servicer, one.name))
        for one in descriptor.methods
    }
    return grpc.method_handlers_generic_handler(service, methods)


async def _hang_up(responses: UnreadResponses, late: Collection[str]) -> None:
    async with connections_of(late) as connections:
        taken = {peer: one.traffic().taken_bytes for peer, one in connections.items()}
        for peer in responses.find_stalled(taken):
            log.warning("unread responses: connection closed", connection=peer)
            connections[peer].hang_up()


def _loop_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)
