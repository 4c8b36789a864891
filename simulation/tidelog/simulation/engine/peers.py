"""Calls over the simulated network: the `Peers` port of brokers, and the client's `Transport`.

Requests and responses travel as bytes, so that nothing is shared. As over gRPC: a caller that gives
up cancels the handler, a crash breaks the calls in flight, a handler's refusal fails the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from tidelog.core.errors import (
    CallFailedError,
    TidelogError,
    UnreachableError,
)
from tidelog.net.transport import Dialled, DialOutcome
from tidelog.simulation.engine.exchange import Exchange
from tidelog.simulation.engine.network import Host, SimNetwork
from tidelog.simulation.engine.serving import find_handler
from tidelog.simulation.engine.streams import SimStream
from tidelog.v1.admin_pb2 import NodeStatusRequest
from tidelog.v1.methods import NODE_STATUS, Method, Request, Response

CONNECT_TIMEOUT_S = 1.5


class SimPeers:
    """A host's way to the others. Give it to `build_node`, or to a client as its transport."""

    def __init__(self, *, network: SimNetwork, host: Host) -> None:
        self._network = network
        self._host = host

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        """See `tidelog.net.peers.Peers.call`."""
        responses = self.stream(address, method, request)
        try:
            async with asyncio.timeout(timeout_ms / 1000), aclosing(responses):
                return await anext(responses)
        except TimeoutError:
            raise CallFailedError(
                f"{method.path} at {address} did not answer within {timeout_ms} ms"
            ) from None

    async def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncGenerator[Response, None]:
        """See `tidelog.net.peers.Peers.stream`."""
        server = self._network.reached(self._host, address)
        if server is None:
            await self._fail_to_connect(address)
            raise UnreachableError(f"{address} is silent")
        call = _Call(
            network=self._network,
            caller=self._host,
            server=server,
            address=address,
            method=method,
        )
        call.send_request(request)
        try:
            while (response := await call.next_response()) is not None:
                yield response
        finally:
            call.give_up()

    async def open_stream(
        self, address: str, method: Method[Request, Response]
    ) -> SimStream[Request, Response]:
        """See `tidelog.net.transport.Transport.open_stream`."""
        server = self._network.reached(self._host, address)
        if server is None or server.services is None:
            await self._fail_to_connect(address)
            raise UnreachableError(f"{address} is silent")
        return SimStream(
            network=self._network,
            caller=self._host,
            server=server,
            address=address,
            method=method,
            serve=lambda: find_handler(server, address, method),
        )

    async def dial(self, address: str, *, timeout_ms: int) -> Dialled:
        """See `tidelog.net.peers.Peers.dial`."""
        if self._network.refuses(self._host, address):
            await asyncio.sleep(2 * self._network.latency_s())
            return Dialled(DialOutcome.REFUSED)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                status = await self.call(
                    address, NODE_STATUS, NodeStatusRequest(), timeout_ms=timeout_ms
                )
        except (TimeoutError, UnreachableError, CallFailedError):
            return Dialled(DialOutcome.SILENT)
        return Dialled(DialOutcome.ANSWERED, status.incarnation_id)

    async def _fail_to_connect(self, address: str) -> None:
        if not self._network.refuses(self._host, address):
            await asyncio.sleep(CONNECT_TIMEOUT_S)
            return
        await asyncio.sleep(2 * self._network.latency_s())
        raise UnreachableError(f"{address} refuses connections", is_broken=True)


class _Call(Exchange[Request, Response]):
    """A request, answered once or by a stream."""

    # At the caller

    _is_over = False

    def send_request(self, request: Request) -> None:
        content = request.SerializeToString(deterministic=True)
        if self._network.comes_late(
            self._caller, self._method.name, lambda: self._arrive_late(content)
        ):
            return
        self._connection.send(
            self._caller, self._method.name, content, lambda: self._on_request(content)
        )
        if not self._method.is_response_stream and self._network.repeats_one():
            self._network.scheduler.deliver(
                self._server.loop,
                lambda: self._on_unheard("repeat", self._server, content),
                delay_s=2 * self._network.latency_s(),
            )

    async def next_response(self) -> Response | None:
        item = await self._responses.get()
        self._is_over = self._is_last(item)
        if isinstance(item, bytes):
            return self._method.response_type.FromString(item)
        if item is None:
            return None
        raise item

    def give_up(self) -> None:
        """Nobody waits any more; cancel the server's handler unless it has finished."""
        if not self._is_over:
            self._is_over = True
            self._connection.send(self._caller, "cancel", b"", self._on_cancel)

    def _on_response(self, item: bytes | TidelogError | None) -> None:
        super()._on_response(item)
        if self._is_last(item):
            self._network.forget(self._connection)

    def _is_last(self, item: bytes | TidelogError | None) -> bool:
        return not (isinstance(item, bytes) and self._method.is_response_stream)

    # At the server

    def _on_request(self, content: bytes) -> None:
        if self._server.services is None:
            self._fail(UnreachableError(f"{self._address} does not listen yet"))
            return
        handler = find_handler(self._server, self._address, self._method)
        request = self._method.request_type.FromString(content)
        self._tap(request, None)
        name = f"{self._method.name}<{self._caller.name}"
        self._begin(self._serve(handler, request), name=name)

    def _arrive_late(self, content: bytes) -> None:
        """Deliver the request to the process that is at the address by now."""
        server = self._network.host_at(self._address)
        if server is not None:
            self._network.scheduler.deliver(
                server.loop,
                lambda: self._on_unheard("late", server, content),
                delay_s=self._network.latency_s(),
            )

    def _on_unheard(self, how: str, server: Host, content: bytes) -> None:
        """A request that came late, or once more; nobody waits for what it is answered."""
        scheduler = self._network.scheduler
        if server.services is None or self._network.is_cut(self._caller, server):
            return
        scheduler.trace.record(scheduler.now_s, how, self._method.name)
        handler = find_handler(server, self._address, self._method)
        request = self._method.request_type.FromString(content)
        name = f"{self._method.name}<<{self._caller.name}"
        if self._network.tap is not None:
            self._network.tap(server, request, None)
        server.loop.create_task(self._run_unheard(server, handler, request), name=name)

    async def _run_unheard(
        self, server: Host, handler: Callable[[Request], Awaitable[Response]], request: Request
    ) -> None:
        try:
            response = await handler(request)
            if self._network.tap is not None:
                self._network.tap(server, request, response)
        except TidelogError as error:
            self._network.note_error(server, error)

    async def _serve(self, handler: Callable[[Request], Any], request: Request) -> None:
        # a handler returns an awaitable response or, of a streaming method, a generator of them
        if self._method.is_response_stream:
            await self._pump(handler(request))
            return
        response = await handler(request)
        self._tap(request, response)
        self._respond(response)

    async def _pump(self, responses: AsyncGenerator[Response, None]) -> None:
        async with aclosing(responses):
            async for response in responses:
                self._respond(response)
        self._reply("end", None)
