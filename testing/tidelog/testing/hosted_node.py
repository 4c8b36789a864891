# pyright: strict
"""A node in this process, on the loop of its cluster: no signals, no logging of the process's.

Its tasks are those begun in its context, so that it can be ended among others on the same loop.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from contextvars import Context, ContextVar, copy_context
from types import CoroutineType
from typing import Any

from tidelog.core.errors import TidelogError
from tidelog.core.logs import get_logger, log_to
from tidelog.core.system import lock_directory
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.node.data_directory import format_or_check
from tidelog.node.local_cluster.errors import LocalClusterError
from tidelog.node.local_cluster.plan import NodePlan
from tidelog.node.served_node import Outside, ServedNode
from tidelog.testing.hosted_disk import HostedDisk
from tidelog.testing.node_lines import NodeLines

END_S_MAX = 2.0
"""The time that cancelled tasks of a killed node have."""

_tasks: ContextVar[set[asyncio.Task[Any]] | None] = ContextVar("tidelog-node-tasks", default=None)
log = get_logger(__name__)


def create_noted_task(
    loop: asyncio.AbstractEventLoop,
    coroutine: Any,  # a coroutine or an old generator, as asyncio's task factories take
    **options: Any,
) -> asyncio.Task[Any]:
    """Create a task, and note it as the context's node's: the task factory of a cluster's loop."""
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **options)
    tasks = _tasks.get()
    if tasks is not None:
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    return task


class HostedNode:
    """See `ClusterNode`."""

    def __init__(self, plan: NodePlan) -> None:
        self.plan = plan
        self.failure: str | None = None
        self._life: _Life | None = None

    @property
    def is_running(self) -> bool:
        """See `ClusterNode`."""
        return self._life is not None and not self._life.is_over

    async def is_ready(self) -> bool:
        """See `ClusterNode`."""
        life = self._life
        return life is not None and not life.is_over and life.is_ready

    async def start(self) -> None:
        """See `ClusterNode`."""
        life = self._life = _Life(self.plan, self)
        try:
            await life.run(life.begin())
        except BaseException:
            await self.kill()
            raise

    async def kill(self) -> None:
        """See `ClusterNode`."""
        life, self._life = self._life, None
        if life is not None:
            await life.end_at_once()

    async def stop(self) -> None:
        """See `ClusterNode`."""
        life, self._life = self._life, None
        if life is not None:
            await life.end_in_order()

    def pause(self) -> None:
        """See `ClusterNode`."""
        raise LocalClusterError(
            f"node {self.plan.node_id} is in the test's own process, which cannot be paused in"
            " part: use LocalCluster(processes=True), or the fixture tidelog_processes"
        )

    resume = pause


class _Life:
    """A life of the node, from its start to its end."""

    def __init__(self, plan: NodePlan, node: HostedNode) -> None:
        self.is_over = False
        self._plan = plan
        self._node = node
        self._context = copy_context()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._lines = NodeLines(plan.log_path)
        self._disk = HostedDisk()
        self._locks = ExitStack()
        self._served: ServedNode | None = None
        self._ended = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None
        self._health: asyncio.Task[None] | None = None

    @property
    def is_ready(self) -> bool:
        return self._served is not None and self._served.node.is_ready()

    async def run(self, work: Any) -> None:  # a coroutine
        """Do `work` in the context of the node."""
        self._context.run(_tasks.set, self._tasks)
        await asyncio.get_running_loop().create_task(work, context=self._context)

    async def begin(self) -> None:
        config = self._plan.config
        with log_to(self._lines):
            await format_or_check(self._disk, config)
            self._locks.enter_context(lock_directory(config.data_dir))
            outside = Outside(self._disk, GrpcTransport(), config.controller_voters, self._on_fatal)
            self._served = ServedNode(config, outside)
            await self._served.listen()
            await self._served.node.start()
            log.info("started", node_id=config.node_id, address=config.address)
            self._health = asyncio.create_task(self._served.keep_health(self._ended), name="health")

    async def end_in_order(self) -> None:
        self._ended.set()
        try:
            if self._served is not None and not self.is_over:
                await self.run(self._close(self._served))
        finally:
            await self._end()

    async def _close(self, served: ServedNode) -> None:
        with log_to(self._lines):
            await served.stop_node()
            await served.close()
            log.info("stopped", node_id=self._plan.node_id)

    async def end_at_once(self) -> None:
        self.is_over = True
        self._ended.set()
        if self._ending is not None:
            await self._ending
        else:
            await self._die()

    async def _end(self) -> None:
        self.is_over = True
        try:
            await self._end_tasks()
        finally:
            self._disk.release()
            self._locks.close()
            self._lines.close()

    async def _end_tasks(self) -> None:
        """Cancel what runs, and what that begins at its end, as reports of a peer that is gone."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + END_S_MAX
        while (left := [one for one in self._tasks if not one.done()]) and loop.time() < until_s:
            for task in left:
                # Those of gRPC's own end with their connections, and complain when cancelled.
                if isinstance(task.get_coro(), CoroutineType):
                    task.cancel()
            ended, _ = await asyncio.wait(left, timeout=until_s - loop.time())
            for task in ended:
                if not task.cancelled():
                    task.exception()  # of a node that has ended: nobody else asks

    def _on_fatal(self, error: BaseException) -> None:
        """End the node, as its process would end: a crash is safe, going on is not."""
        if self.is_over:
            return
        self.is_over = True
        self._lines("critical", "fatal", {"error": str(error)})
        self._node.failure = str(error) if isinstance(error, TidelogError) else repr(error)
        loop = asyncio.get_running_loop()
        self._ending = loop.create_task(self._die(), context=Context())

    async def _die(self) -> None:
        try:
            if self._served is not None:
                await self._served.hang_up()
        finally:
            await self._end()
