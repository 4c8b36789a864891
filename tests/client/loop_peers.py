"""Calls between nodes on the loop of a test: real handlers, no sockets, no latency.

Requests and responses travel as bytes, so that nothing is shared. As over gRPC: a caller that gives
up cancels the handler, the end of a process breaks the calls in flight.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from contextlib import aclosing
from contextvars import ContextVar, copy_context
from typing import Any

from tidelog.core.errors import (
    CallFailedError,
    CallUnauthorizedError,
    TidelogError,
    UnreachableError,
)
from tidelog.net.call import LOCAL_CALL
from tidelog.net.handlers import serve_of
from tidelog.net.listeners import one_listener
from tidelog.net.transport import Dialled, DialOutcome
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import NodeStatusRequest
from tidelog.v1.methods import NODE_STATUS, Method, Request, Response

_host: ContextVar[Host | None] = ContextVar("host", default=None)


class Host:
    """A process of a node: its address, its services and its tasks."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.services: Mapping[str, object] | None = None
        """None until it listens, and after its end."""
        self.tasks: set[asyncio.Task[Any]] = set()
        self.call = LOCAL_CALL._replace(listener=one_listener(address)[0])

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` as a task of the process; so are the tasks that it starts."""
        context = copy_context()
        context.run(_host.set, self)
        task = asyncio.get_running_loop().create_task(work, context=context)
        self._keep(task)
        return task

    def end(self) -> None:
        """End the process: its calls break, its tasks are cancelled."""
        self.services = None
        for task in list(self.tasks):
            task.cancel()

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def keep_tasks_of_hosts() -> None:
    """Have the running loop note which host each new task is of."""

    def new_task(
        loop: asyncio.AbstractEventLoop,
        work: Any,  # a coroutine or, of old code, a generator
        **options: Any,
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **options)
        context = options.get("context")
        host = _host.get() if context is None else context.get(_host)
        if host is not None:
            host._keep(task)
        return task

    asyncio.get_running_loop().set_task_factory(new_task)


class LoopPeers:
    """`Peers` of nodes, and `Transport` of clients, to the hosts in a dictionary by address."""

    def __init__(self, hosts: Mapping[str, Host]) -> None:
        self._hosts = hosts

    async def call(
        self, address: str, method: Method[Request, Response], request: Request, *, timeout_ms: int
    ) -> Response:
        """See `tidelog.net.transport.Transport.call`."""
        host, serve = self._served(address, method)
        copied = method.request_type.FromString(request.SerializeToString())
        task = host.begin(serve(copied, host.call))
        try:
            await asyncio.wait((task,), timeout=timeout_ms / 1000)
        finally:
            is_done = task.done()
            task.cancel()
        if not is_done:
            raise CallFailedError(f"{method.path} at {address} did not answer in {timeout_ms} ms")
        if task.cancelled():
            raise CallFailedError(f"connection to {address} broke", is_broken=True)
        error = task.exception()
        if error is not None:
            raise _failure(method, error)
        return method.response_type.FromString(task.result().SerializeToString())

    async def open_stream(self, address: str, method: Method[Request, Response]) -> LoopStream:
        """See `tidelog.net.transport.Transport.open_stream`."""
        host, serve = self._served(address, method)
        return LoopStream(host, method, lambda requests: serve(requests, host.call))

    async def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncGenerator[Response, None]:
        """See `tidelog.net.peers.Peers.stream`."""
        host, serve = self._served(address, method)
        copied = method.request_type.FromString(request.SerializeToString())
        stream = LoopStream(host, method, lambda _: serve(copied, host.call))
        try:
            while True:
                try:
                    response = await stream.receive()
                except EndOfStreamError:
                    return
                yield response
        finally:
            stream.close()

    async def dial(self, address: str, *, timeout_ms: int) -> Dialled:
        """See `tidelog.net.peers.Peers.dial`."""
        try:
            status = await self.call(
                address, NODE_STATUS, NodeStatusRequest(), timeout_ms=timeout_ms
            )
        except UnreachableError:
            return Dialled(DialOutcome.REFUSED)
        except CallFailedError:
            return Dialled(DialOutcome.SILENT)
        return Dialled(DialOutcome.ANSWERED, status.incarnation_id)

    def _served(self, address: str, method: Method[Any, Any]) -> tuple[Host, Callable[..., Any]]:
        host = self._hosts.get(address)
        if host is None or host.services is None:
            raise UnreachableError(f"{address} refuses connections", is_broken=True)
        service = host.services.get(method.service)
        if service is None:
            raise CallFailedError(f"{address} has no {method.path}")
        return host, serve_of(service, method.name)


class MachinePeers(LoopPeers):
    """`Peers` of a node that may hear nothing new, or reach nobody."""

    def __init__(self, hosts: Mapping[str, Host]) -> None:
        super().__init__(hosts)
        self.has_news = asyncio.Event()
        """Unset, answers on streams wait; the metadata is one."""
        self.has_news.set()
        self.is_cut_off = False

    async def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncGenerator[Response, None]:
        """See `LoopPeers.stream`."""
        async with aclosing(super().stream(address, method, request)) as responses:
            async for response in responses:
                await self.has_news.wait()
                yield response

    def _served(self, address: str, method: Method[Any, Any]) -> tuple[Host, Callable[..., Any]]:
        if self.is_cut_off:
            raise UnreachableError(f"{address} is not reached")
        return super()._served(address, method)


class EndOfStreamError(CallFailedError):
    """The handler ended the stream."""


class LoopStream:
    """See `tidelog.net.transport.Stream`."""

    def __init__(
        self,
        host: Host,
        method: Method[Any, Any],
        serve: Callable[[AsyncIterator[Any]], AsyncIterator[Any]],
    ) -> None:
        self._method = method
        self._requests: asyncio.Queue[bytes] = asyncio.Queue()
        self._responses: asyncio.Queue[bytes | TidelogError] = asyncio.Queue()
        self._end: TidelogError | None = None
        self._task = host.begin(self._pump(serve))

    async def send(self, request: Any) -> None:
        """See `Stream.send`."""
        if self._end is not None:
            raise self._end
        self._requests.put_nowait(request.SerializeToString())

    async def receive(self) -> Any:
        """See `Stream.receive`."""
        if self._end is None:
            item = await self._responses.get()
            if isinstance(item, bytes):
                return self._method.response_type.FromString(item)
            self._end = item
        raise self._end

    def close(self) -> None:
        """See `Stream.close`."""
        if self._end is None:
            self._end = CallFailedError(f"{self._method.path} was given up")
            self._responses.put_nowait(self._end)
        self._task.cancel()

    async def _pump(self, serve: Callable[[AsyncIterator[Any]], AsyncIterator[Any]]) -> None:
        end: TidelogError = EndOfStreamError(f"{self._method.path} ended")
        try:
            async for response in serve(self._arriving()):
                self._responses.put_nowait(response.SerializeToString())
        except asyncio.CancelledError:
            end = CallFailedError(f"{self._method.path} broke", is_broken=True)
            raise
        except Exception as error:  # noqa: BLE001  # the edge of calls
            end = _failure(self._method, error)
        finally:
            self._responses.put_nowait(end)

    async def _arriving(self) -> AsyncGenerator[Any, None]:
        while True:
            yield self._method.request_type.FromString(await self._requests.get())


def _failure(method: Method[Any, Any], error: BaseException) -> TidelogError:
    is_refused = getattr(error, "code", None) == common_pb2.CLUSTER_AUTHORIZATION_FAILED
    kind = CallUnauthorizedError if is_refused else CallFailedError
    return kind(f"{method.path} failed: {error}")
