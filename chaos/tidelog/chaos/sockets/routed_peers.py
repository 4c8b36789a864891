"""Calls by true addresses that take the caller's own proxies: what makes one node's links its own.

Nodes and clients know each other by the addresses nodes listen on. Here each call is sent to the
proxy of its link instead, by the address called and the role that serves it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Generic

from google.protobuf.message import Message

from tidelog.chaos.topology import Role
from tidelog.core.errors import UnreachableError
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.peers import OwnPeers
from tidelog.net.transport import Dialled, DialOutcome, Stream
from tidelog.v1.data_pb2 import ProduceAnswers, ProduceRequest
from tidelog.v1.methods import Method, Request, Response

Routes = Mapping[tuple[str, Role], str]
"""The proxy's address of each address and role."""
Tap = Callable[[str, Message, Message | None], None]
"""Called with the address a request is sent to; later with it, the request and the response.

On a stream of Produce requests it is the one answered, on any other the one sent last.
"""


def role_of(service: str, request: object = None) -> Role:
    """Role that serves a request; `Node` is served by every node, as the broker it is.

    A change of `Admin` that a node has passed on goes to a controller (decision 0038).
    """
    is_passed_on = getattr(request, "from_broker", False) or getattr(request, "forwarded", False)
    return "controller" if is_passed_on or service == "tidelog.v1.Controller" else "broker"


class RoutedTransport:
    """`Peers` and `Transport` of one source of links. `close` it."""

    def __init__(
        self,
        routes: Routes,
        *,
        own_address: str | None = None,
        tap: Tap | None = None,
        transport: OwnPeers | None = None,
    ) -> None:
        self._routes = routes
        self._own_address = own_address
        self._tap = tap
        self._transport = transport or GrpcTransport()

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        """See `Transport.call`."""
        proxy = self._route(address, role_of(method.service, request))
        if self._tap is not None:
            self._tap(address, request, None)
        response = await self._transport.call(proxy, method, request, timeout_ms=timeout_ms)
        if self._tap is not None:
            self._tap(address, request, response)
        return response

    def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncIterator[Response]:
        """See `Peers.stream`."""
        proxy = self._route(address, role_of(method.service))
        return self._transport.stream(proxy, method, request)

    async def open_stream(
        self, address: str, method: Method[Request, Response]
    ) -> Stream[Request, Response]:
        """See `Transport.open_stream`."""
        proxy = self._route(address, role_of(method.service))
        stream = await self._transport.open_stream(proxy, method)
        return stream if self._tap is None else _TappedStream(stream, address, self._tap)

    async def dial(self, address: str, *, timeout_ms: int) -> Dialled:
        """See `Peers.dial`: only brokers are dialled.

        A proxy accepts on behalf of a node that is down, and closes at once: refused all the same.
        """
        try:
            proxy = self._route(address, "broker")
        except UnreachableError:
            return Dialled(DialOutcome.SILENT)
        return await self._transport.dial(proxy, timeout_ms=timeout_ms)

    async def close(self) -> None:
        """End all calls."""
        await self._transport.close()

    def _route(self, address: str, role: Role) -> str:
        if address == self._own_address:
            return address
        proxy = self._routes.get((address, role))
        if proxy is None:
            raise UnreachableError(f"no link leads to the {role} at {address}")
        return proxy


class _TappedStream(Generic[Request, Response]):
    """Tells of both directions; Produce requests are found again by their correlation ids."""

    def __init__(self, stream: Stream[Request, Response], address: str, tap: Tap) -> None:
        self._stream = stream
        self._address = address
        self._tap = tap
        self._newest: Message | None = None
        self._produced: dict[int, ProduceRequest] = {}

    async def send(self, request: Request) -> None:
        """See `Stream.send`."""
        self._tap(self._address, request, None)
        self._newest = request
        if isinstance(request, ProduceRequest):
            self._produced[request.correlation_id] = request
        await self._stream.send(request)

    async def receive(self) -> Response:
        """See `Stream.receive`."""
        response = await self._stream.receive()
        if isinstance(response, ProduceAnswers):
            for answer in response.answers:
                self._tap(self._address, self._produced.pop(answer.correlation_id), answer)
        elif self._newest is not None:
            self._tap(self._address, self._newest, response)
        return response

    def close(self) -> None:
        """See `Stream.close`."""
        self._stream.close()
