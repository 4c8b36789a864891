"""Real nodes on a thread of their own, for clients that are on threads, too.

What a test itself asks of the cluster takes no time. Between such steps the time of the nodes goes
by as the machine's, which is that of the clients: one that waits for records does not spin.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tests.client.driven_cluster import DrivenCluster
from tests.client.real_cluster import started
from tests.virtual_loop import VirtualLoop

from tidelog.core.errors import UnreachableError
from tidelog.net.transport import Stream
from tidelog.v1.methods import Method, Request, Response

T = TypeVar("T")


class ThreadedCluster(DrivenCluster):
    """A `Transport` for clients on any loop; get one that runs by `threaded_cluster`."""

    def __init__(self) -> None:
        self._loop = VirtualLoop()
        self._steps = 0
        """Steps of the test that wait; while there are any, time jumps."""
        self._thread = threading.Thread(target=self._loop.run_forever, name="nodes", daemon=True)
        self._thread.start()

    def start(self, **options: Any) -> None:
        """Start the nodes, with the options of `started`."""
        self.nodes = self.run(started(**options))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """See `DrivenCluster.run`."""
        return asyncio.run_coroutine_threadsafe(self._step(work), self._loop).result()

    def close(self) -> None:
        """End the nodes and the thread."""
        self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def call(
        self, address: str, method: Method[Request, Response], request: Request, *, timeout_ms: int
    ) -> Response:
        """See `Transport`."""
        return await self.hand_over(
            self.nodes.call(address, method, request, timeout_ms=timeout_ms)
        )

    async def open_stream(
        self, address: str, method: Method[Request, Response]
    ) -> Stream[Request, Response]:
        """See `Transport`."""
        return _HandedStream(self, await self.hand_over(self.nodes.open_stream(address, method)))

    async def hand_over(self, work: Coroutine[Any, Any, T]) -> T:
        """Have the thread of the nodes do work of a client; a client that gives up cancels it."""
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop is closed
            work.close()
            raise UnreachableError("the nodes have ended") from None
        return await asyncio.wrap_future(future)

    def end_stream(self, stream: Stream[Any, Any]) -> None:
        """Close a stream on the thread of the nodes."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(stream.close)

    async def _step(self, work: Coroutine[Any, Any, T]) -> T:
        self._steps += 1
        self._loop.keep_pace(False)
        try:
            return await work
        finally:
            self._steps -= 1
            self._loop.keep_pace(self._steps == 0)


class _HandedStream(Stream[Any, Any]):
    def __init__(self, cluster: ThreadedCluster, stream: Stream[Any, Any]) -> None:
        self._cluster = cluster
        self._stream = stream

    async def send(self, request: Any) -> None:
        await self._cluster.hand_over(self._stream.send(request))

    async def receive(self) -> Any:
        return await self._cluster.hand_over(self._stream.receive())

    def close(self) -> None:
        self._cluster.end_stream(self._stream)


async def _cancel_others() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def threaded_cluster(**options: Any) -> Iterator[ThreadedCluster]:
    """A cluster that serves, with the options of `started`, and ends with the block."""
    cluster = ThreadedCluster()
    try:
        cluster.start(**options)
        yield cluster
    finally:
        cluster.close()
