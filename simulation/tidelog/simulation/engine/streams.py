"""Streams over the simulated network: messages both ways on one connection, in order or broken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing

from tidelog.core.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.simulation.engine.exchange import Exchange
from tidelog.simulation.engine.network import Host, SimNetwork
from tidelog.v1.data_pb2 import ProduceAnswers, ProduceRequest
from tidelog.v1.methods import Method, Request, Response

Serve = Callable[[AsyncIterator[Request]], AsyncGenerator[Response, None]]


class SimStream(Exchange[Request, Response]):
    """See `tidelog.net.transport.Stream` for the caller's end."""

    def __init__(
        self,
        *,
        network: SimNetwork,
        caller: Host,
        server: Host,
        address: str,
        method: Method[Request, Response],
        serve: Callable[[], Serve[Request, Response]],
    ) -> None:
        super().__init__(
            network=network, caller=caller, server=server, address=address, method=method
        )
        # At the caller:
        self._end: TidelogError | None = None
        # At the server:
        self._serve = serve
        self._requests: asyncio.Queue[bytes] = asyncio.Queue()
        self._newest: Request | None = None
        self._produced: dict[int, ProduceRequest] = {}

    # At the caller

    async def send(self, request: Request) -> None:
        """See `Stream.send`."""
        if self._end is not None:
            raise self._end
        content = request.SerializeToString(deterministic=True)
        self._connection.send(
            self._caller, self._method.name, content, lambda: self._on_request(content)
        )

    async def receive(self) -> Response:
        """See `Stream.receive`."""
        if self._end is not None:
            raise self._end
        try:
            item = await self._responses.get()
        except asyncio.CancelledError:
            self.close()
            raise
        if isinstance(item, bytes):
            return self._method.response_type.FromString(item)
        self._end = item or CallFailedError(f"{self._method.path} ended")
        raise self._end

    def close(self) -> None:
        """See `Stream.close`."""
        if self._end is None:
            self._end = CallFailedError(f"{self._method.path} was given up")
            self._connection.send(self._caller, "cancel", b"", self._on_cancel)

    def _on_response(self, item: bytes | TidelogError | None) -> None:
        super()._on_response(item)
        if not isinstance(item, bytes):
            self._network.forget(self._connection)

    # At the server

    def _on_request(self, content: bytes) -> None:
        if self._server.services is None:
            self._fail(UnreachableError(f"{self._address} does not listen yet"))
            return
        self._requests.put_nowait(content)
        if self._task is None:
            name = f"{self._method.name}<{self._caller.name}"
            self._begin(self._pump(), name=name)

    async def _pump(self) -> None:
        async with aclosing(self._serve()(self._arriving())) as responses:
            async for response in responses:
                self._tap_answer(response)
                self._respond(response)
        self._reply("end", None)

    async def _arriving(self) -> AsyncIterator[Request]:
        while True:
            request = self._method.request_type.FromString(await self._requests.get())
            self._tap(request, None)
            self._newest = request
            if isinstance(request, ProduceRequest):
                self._produced[request.correlation_id] = request
            yield request

    def _tap_answer(self, response: Response) -> None:
        if isinstance(response, ProduceAnswers):
            for answer in response.answers:
                self._tap(self._produced.pop(answer.correlation_id), answer)
        else:
            self._tap(self._newest, response)
