# pyright: strict
"""The nodes of a test's cluster, on one loop: their start, their ends, and when they rest."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidelog.chaos.sockets import guardian
from tidelog.client.admin import Admin
from tidelog.client.admin.descriptions import TopicDescription
from tidelog.client.errors import TidelogError
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.listeners import PortTakenError
from tidelog.node.local_cluster.errors import LocalClusterError, TakenPortError
from tidelog.node.local_cluster.plan import NodePlan
from tidelog.testing.cluster_node import ClusterNode
from tidelog.testing.hosted_node import HostedNode, create_noted_task
from tidelog.testing.plans import make_plans
from tidelog.testing.process_node import ProcessNode

READY_S_MAX = 60.0
LOOK_S = 0.01
PORT_TRIES_MAX = 5


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The choices of a test, see `LocalCluster`."""

    brokers: int
    controllers: int | None
    configs: Mapping[str, object]
    folder: Path
    processes: bool
    keep: bool


def remove_folder(settings: ClusterSettings) -> None:
    """Remove the folder of a cluster that has ended, unless it is kept."""
    if not settings.keep:
        shutil.rmtree(settings.folder, ignore_errors=True)


class ClusterNodes:
    """From `start` to `close`, on the loop that `start` was called on."""

    def __init__(self, settings: ClusterSettings) -> None:
        self.settings = settings
        self.nodes: dict[int, ClusterNode] = {}
        self._cluster_id = secrets.token_urlsafe(16)
        self._transport = GrpcTransport()
        self._guardian: subprocess.Popen[bytes] | None = None

    @property
    def plans(self) -> list[NodePlan]:
        """The plans of all nodes, by id."""
        return [node.plan for node in self.nodes.values()]

    @property
    def brokers(self) -> list[NodePlan]:
        """The plans of the brokers, by id."""
        return [plan for plan in self.plans if plan.config.is_broker]

    def failures(self) -> dict[int, str]:
        """Why nodes ended by themselves, by node."""
        found = {node_id: node.failure for node_id, node in self.nodes.items()}
        return {node_id: failure for node_id, failure in found.items() if failure is not None}

    async def start(self) -> None:
        """Start every node and wait until all are ready. Raises `LocalClusterError`."""
        asyncio.get_running_loop().set_task_factory(create_noted_task)
        if self.settings.processes:
            self._guardian = _start_guardian(self.settings.folder)
        for left in reversed(range(PORT_TRIES_MAX)):
            try:
                await self._start_all()
                break
            except BaseException as error:
                await self._kill_all()
                if not isinstance(error, PortTakenError | TakenPortError):
                    raise
                if not left:
                    raise LocalClusterError(
                        f"a port was taken {PORT_TRIES_MAX} times, others each time: `ss -ltnp`"
                        f" shows what listens here, end some of it; at last: {error}"
                    ) from error
        await self.until(self._are_ready, READY_S_MAX, "the cluster is not ready")

    async def _start_all(self) -> None:
        settings = self.settings
        plans = make_plans(
            settings.folder,
            cluster_id=self._cluster_id,
            brokers=settings.brokers,
            controllers=settings.controllers,
            configs=settings.configs,
        )
        self.nodes = {plan.node_id: self._node(plan) for plan in plans}
        await _all_done(node.start() for node in self.nodes.values())

    def _node(self, plan: NodePlan) -> ClusterNode:
        if self.settings.processes:
            return ProcessNode(plan, self._transport)
        return HostedNode(plan)

    async def close(self) -> None:
        """End every node: at once, or in order where the folder is kept."""
        try:
            if self.settings.keep and not self.failures():
                await _all_done(node.stop() for node in self.nodes.values())
            else:
                await self._kill_all()
        finally:
            await self._transport.close()
            if self._guardian is not None:
                self._guardian.communicate(guardian.KEEP)

    async def _kill_all(self) -> None:
        await _all_done(node.kill() for node in self.nodes.values())

    # Rest

    async def until(
        self, is_there: Callable[[], Awaitable[bool]], within_s: float, what: str
    ) -> None:
        """Wait for it. Raises `LocalClusterError` when it takes longer, or a node has failed."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + within_s
        while not await is_there():
            self.check()
            if loop.time() > until_s:
                raise LocalClusterError(f"{what} after {within_s:g} s: {self.shown()}")
            await asyncio.sleep(LOOK_S)

    def check(self) -> None:
        """Raise `LocalClusterError` if a node has ended by itself."""
        failures = self.failures()
        for node_id, failure in failures.items():
            raise LocalClusterError(
                f"node {node_id} failed: {failure} (its log: {self.nodes[node_id].plan.log_path})"
            )

    def shown(self) -> str:
        """The state of every node, for people."""
        return ", ".join(
            f"node {node_id} {'runs' if node.is_running else 'does not run'}"
            for node_id, node in self.nodes.items()
        )

    async def _are_ready(self) -> bool:
        running = [node for node in self.nodes.values() if node.is_running]
        return all(await asyncio.gather(*(node.is_ready() for node in running)))

    async def wait_until_ready(self, node_id: int) -> None:
        """Wait until this node serves."""
        node = self.nodes[node_id]
        await self.until(node.is_ready, READY_S_MAX, f"node {node_id} is not ready")

    async def is_in_sync(self) -> bool:
        """True if every partition has a leader, and every replica on a running node is in sync."""
        try:
            topics = await self._topics()
        except TidelogError:
            return False
        running = {node_id for node_id, node in self.nodes.items() if node.is_running}
        return all(
            one.leader in running and running.intersection(one.replicas) <= set(one.isr)
            for topic in topics
            for one in topic.partitions
        )

    async def _topics(self) -> Sequence[TopicDescription]:
        async with self.admin() as admin:
            found = (await admin.describe_topics()).values()
        return [one for one in found if isinstance(one, TopicDescription)]

    def admin(self) -> Admin:
        """Make an admin client of the cluster, on this loop."""
        return Admin([plan.address for plan in self.brokers], transport=self._transport)


async def _all_done(works: Iterable[Awaitable[None]]) -> None:
    """Wait until each has come to its end, then raise the first one's error, if any."""
    for error in await asyncio.gather(*works, return_exceptions=True):
        if error is not None:
            raise error


def _start_guardian(folder: Path) -> subprocess.Popen[bytes]:
    """Start the process that ends the nodes when this process ends, however it does."""
    command = [sys.executable, "-m", guardian.__name__, str(folder)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    )
