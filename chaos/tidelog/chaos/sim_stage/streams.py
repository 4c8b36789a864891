"""Streams over the simulated network: messages both ways on one connection, in order or broken.

As over gRPC: whoever gives up ends the handler, a crash breaks the stream, a refusal ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Generic

from tidelog.chaos.sim_stage.network import Host, SimNetwork
from tidelog.log.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.v1.data_pb2 import ProduceAnswers, ProduceRequest, ProduceResponse
from tidelog.v1.methods import Method, Request, Response

Serve = Callable[[AsyncIterator[Request]], AsyncGenerator[Response, None]]


class SimStream(Generic[Request, Response]):
    """One stream, seen from both ends; see `tidelog.log.transport.Stream` for the caller's."""

    def __init__(
        self,
        *,
        network: SimNetwork,
        caller: Host,
        server: Host,
        method: Method[Request, Response],
        serve: Callable[[], Serve[Request, Response]],
    ) -> None:
        self._network = network
        self._caller = caller
        self._server = server
        self._method = method
        self._serve = serve
        self._connection = network.connect((caller, server), self._on_broken)
        # At the caller. What waits is bounded by what the protocols on it leave unanswered.
        self._responses: asyncio.Queue[bytes | TidelogError] = asyncio.Queue()
        self._end: TidelogError | None = None
        # At the server:
        self._requests: asyncio.Queue[bytes] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
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
        self._end = item
        raise item

    def close(self) -> None:
        """See `Stream.close`."""
        if self._end is None:
            self._end = CallFailedError(f"{self._method.path} was given up")
            self._connection.send(self._caller, "cancel", b"", self._on_cancel)

    def _on_broken(self, end: Host) -> None:
        if end is self._server:
            self._on_cancel()
        else:
            self._responses.put_nowait(
                CallFailedError(f"connection to {self._server.address} broke", is_broken=True)
            )

    def _on_end(self, error: TidelogError) -> None:
        self._network.forget(self._connection)
        self._responses.put_nowait(error)

    # At the server

    def _on_request(self, content: bytes) -> None:
        if self._server.services is None:
            self._fail(UnreachableError(f"{self._server.address} does not listen yet"))
            return
        self._requests.put_nowait(content)
        if self._task is None:
            name = f"{self._method.name}<{self._caller.name}"
            self._task = self._server.loop.create_task(self._run(), name=name)

    def _on_cancel(self) -> None:
        self._network.forget(self._connection)
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            async with aclosing(self._serve()(self._arriving())) as responses:
                async for response in responses:
                    self._respond(response)
        except TidelogError as error:
            self._network.note_error(self._server, error)
            self._fail(CallFailedError(f"{self._method.path} failed: {error}"))
        except Exception as error:  # noqa: BLE001  # the RPC edge
            self._network.scheduler.record_failure(self._server.name, repr(error))
            self._fail(CallFailedError(f"{self._method.path} failed: {error}"))

    async def _arriving(self) -> AsyncIterator[Request]:
        while True:
            request = self._method.request_type.FromString(await self._requests.get())
            self._tap(request, None)
            self._newest = request
            if isinstance(request, ProduceRequest):
                self._produced[request.correlation_id] = request
            yield request

    def _respond(self, response: Response) -> None:
        if not isinstance(response, self._method.response_type):
            raise TypeError(f"{self._method.path} answered {response!r}")
        if isinstance(response, ProduceAnswers):
            for answer in response.answers:
                self._tap(self._produced.pop(answer.correlation_id), answer)
        else:
            self._tap(self._newest, response)
        content = response.SerializeToString(deterministic=True)
        self._connection.send(
            self._server,
            self._method.name,
            content,
            lambda: self._responses.put_nowait(content),
        )

    def _tap(self, request: object, response: Response | ProduceResponse | None) -> None:
        if self._network.tap is not None:
            self._network.tap(self._server, request, response)

    def _fail(self, error: TidelogError) -> None:
        self._connection.send(self._server, "failed", b"", lambda: self._on_end(error))
