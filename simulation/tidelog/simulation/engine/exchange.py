"""Common part of calls and streams over the simulated network: two ends, and how each ends.

As over gRPC: giving up ends the handler, a crash breaks the exchange, a refusal ends it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Coroutine
from typing import Any, Generic

from tidelog.core.errors import CallFailedError, CallUnauthorizedError, TidelogError
from tidelog.simulation.engine.network import Host, SimNetwork
from tidelog.v1 import common_pb2
from tidelog.v1.methods import Method, Request, Response


class Exchange(Generic[Request, Response]):
    """A call or stream on a connection of its own; each method says on which loop it runs."""

    def __init__(
        self,
        *,
        network: SimNetwork,
        caller: Host,
        server: Host,
        address: str,
        method: Method[Request, Response],
    ) -> None:
        self._network = network
        self._caller = caller
        self._server = server
        self._address = address
        self._method = method
        self._connection = network.connect((caller, server), self._on_broken)
        # At the caller: serialized responses, then an error or None for the end. Bounded by what a
        # handler sends ahead of its reader: the metadata log, or what a protocol leaves unanswered.
        self._responses: asyncio.Queue[bytes | TidelogError | None] = asyncio.Queue()
        # At the server:
        self._work: Coroutine[Any, Any, None] | None = None
        self._task: asyncio.Task[None] | None = None

    # At either end

    def _on_broken(self, end: Host) -> None:
        if end is self._server:
            self._on_cancel()
        else:
            self._responses.put_nowait(
                CallFailedError(f"connection to {self._address} broke", is_broken=True)
            )

    # At the caller

    def _on_response(self, item: bytes | TidelogError | None) -> None:
        self._responses.put_nowait(item)

    # At the server

    def _on_cancel(self) -> None:
        self._network.forget(self._connection)
        if self._task is None or self._work is None:
            return
        if self._task.cancel() and inspect.getcoroutinestate(self._work) == inspect.CORO_CREATED:
            self._work.close()  # It came so late that the caller's leave came with it.

    def _begin(self, work: Coroutine[Any, Any, None], *, name: str) -> None:
        """Let the handler work."""
        self._work = work
        self._task = self._server.loop.create_task(self._guard(work), name=name)

    async def _guard(self, work: Awaitable[None]) -> None:
        """The work of a handler, whose failure the caller hears of."""
        try:
            await work
        except TidelogError as error:
            self._network.note_error(self._server, error)
            is_refused = error.code == common_pb2.CLUSTER_AUTHORIZATION_FAILED
            kind = CallUnauthorizedError if is_refused else CallFailedError
            self._fail(kind(f"{self._method.path} failed: {error}"))
        except Exception as error:  # noqa: BLE001  # the RPC edge
            self._network.scheduler.record_failure(self._server.name, repr(error))
            self._fail(CallFailedError(f"{self._method.path} failed: {error}"))

    def _tap(self, request: object, response: object) -> None:
        if self._network.tap is not None:
            self._network.tap(self._server, request, response)

    def _respond(self, response: Response) -> None:
        if not isinstance(response, self._method.response_type):
            raise TypeError(f"{self._method.path} answered {response!r}")
        self._reply(self._method.name, response.SerializeToString(deterministic=True))

    def _fail(self, error: TidelogError) -> None:
        self._reply("failed", error)

    def _reply(self, label: str, item: bytes | TidelogError | None) -> None:
        content = item if isinstance(item, bytes) else b""
        self._connection.send(self._server, label, content, lambda: self._on_response(item))
