# pyright: strict
"""A node in a process of its own, which SIGKILL and SIGSTOP reach."""

from __future__ import annotations

import asyncio
import signal

from tidelog.chaos.sockets.guardian import MARK
from tidelog.core.errors import TidelogError
from tidelog.net.transport import Transport
from tidelog.node.local_cluster import process
from tidelog.node.local_cluster.errors import LocalClusterError
from tidelog.node.local_cluster.plan import NodePlan
from tidelog.node.local_cluster.process import Started
from tidelog.v1.admin_pb2 import NodeStatusRequest
from tidelog.v1.methods import NODE_STATUS

STATUS_TIMEOUT_MS = 1_000
STOP_S_MAX = 15.0
POLL_S = 0.02


class ProcessNode:
    """See `ClusterNode`. A process that outlives its test is ended by the cluster's guardian."""

    def __init__(self, plan: NodePlan, transport: Transport) -> None:
        self.plan = plan
        self._transport = transport
        self._started: Started | None = None
        self._failure: str | None = None

    @property
    def is_running(self) -> bool:
        """See `ClusterNode`."""
        return self._started is not None and self._started.process.poll() is None

    @property
    def failure(self) -> str | None:
        """See `ClusterNode`."""
        started = self._started
        if started is not None and started.process.poll() is not None:
            self._failure = process.last_words(self.plan, started)
        return self._failure

    async def is_ready(self) -> bool:
        """See `ClusterNode`."""
        if not self.is_running:
            return False
        try:
            status = await self._transport.call(
                self.plan.address,
                NODE_STATUS,
                NodeStatusRequest(),
                timeout_ms=STATUS_TIMEOUT_MS,
            )
        except TidelogError:
            return False
        return status.ready

    async def start(self) -> None:
        """See `ClusterNode`."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + process.ENDING_TIMEOUT_S
        while (error := process.taken_port(self.plan)) is not None:
            if loop.time() > until_s:
                raise error
            await asyncio.sleep(POLL_S)
        self._started = process.start(self.plan, {MARK: str(self.plan.folder)})

    async def kill(self) -> None:
        """See `ClusterNode`."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """See `ClusterNode`."""
        self.resume()
        if not await self._end(signal.SIGTERM):
            await self._end(signal.SIGKILL)
            raise LocalClusterError(
                f"node {self.plan.node_id} did not stop within {STOP_S_MAX:g} s: it was killed"
            )

    def pause(self) -> None:
        """See `ClusterNode`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """See `ClusterNode`."""
        self._signal(signal.SIGCONT)

    async def _end(self, number: signal.Signals) -> bool:
        """Send the signal and wait; True once the process has ended."""
        started = self._started
        if started is None or self.failure is not None:
            return True
        self._signal(number)
        loop = asyncio.get_running_loop()
        until_s = loop.time() + STOP_S_MAX
        while started.process.poll() is None:
            if loop.time() > until_s:
                return False
            await asyncio.sleep(POLL_S)
        self._started = None
        return True

    def _signal(self, number: signal.Signals) -> None:
        if self._started is not None and self._started.process.poll() is None:
            self._started.process.send_signal(number)
