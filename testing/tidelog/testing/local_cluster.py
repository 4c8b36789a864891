# pyright: strict
"""A cluster of real nodes for a test, in the test's process or in processes of its own."""

from __future__ import annotations

import asyncio
import tempfile
import weakref
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from tidelog.client.sync import LoopThread
from tidelog.node.local_cluster.errors import LocalClusterError
from tidelog.testing.cluster_node import ClusterNode
from tidelog.testing.cluster_nodes import ClusterNodes, ClusterSettings, remove_folder
from tidelog.testing.plans import check_configs, check_sizes
from tidelog.testing.shared_loop import CLUSTERS_LOOP, end_given_up

T = TypeVar("T")
PREFIX = "tidelog-test-"


class LocalCluster:
    """A cluster of real nodes: `with LocalCluster() as cluster`, or `async with`.

    - `brokers`: 1 to 16 nodes, with the ids 1, 2, …; the first three are controllers, too.
    - `controllers`: so many further nodes are the controllers instead, and no brokers.
    - `configs`: a node's configuration by Kafka's keys (docs/CONFIGURATION.md), the same for all.
    - `folder`: of the nodes' data, new or empty; None: a temporary one. It is removed at the end
      unless `keep`, or unless a node failed.
    - `processes`: each node is a process of its own, which can be paused and gets SIGKILL; else all
      are in this process, on a loop and a thread that all clusters share, and nothing else.
    - `security`: must be None: listeners have no TLS and no authentication yet.

    Methods block the caller and may be called from any thread, in a coroutine too. Raises
    `LocalClusterError`, which says what to change.
    """

    def __init__(
        self,
        *,
        brokers: int = 3,
        controllers: int | None = None,
        configs: Mapping[str, object] | None = None,
        folder: str | Path | None = None,
        processes: bool = False,
        security: None = None,
        keep: bool = False,
    ) -> None:
        if security is not None:
            raise LocalClusterError(f"security={security!r}: None is all there is yet")
        check_sizes(brokers, controllers)
        check_configs(configs or {})
        given = None if folder is None else _checked(Path(folder))
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX)) if given is None else given
        """The folder of the nodes' data and logs."""
        self._settings = ClusterSettings(
            brokers, controllers, dict(configs or {}), self.folder, processes, keep
        )
        self._nodes = ClusterNodes(self._settings)
        self._loop: LoopThread | None = None
        self._remove = weakref.finalize(self, remove_folder, self._settings)
        self._give_up: weakref.finalize[..., LocalCluster] | None = None

    # Its life

    def __enter__(self) -> Self:
        self.start_all()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close(has_failed=exc_info[0] is not None)

    async def __aenter__(self) -> Self:
        self._begin()
        try:
            await asyncio.wrap_future(self._running().submit(self._nodes.start()))
        except BaseException:
            await self._close(has_failed=True)
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._close(has_failed=exc_info[0] is not None)

    def start_all(self) -> None:
        """Start every node and wait until all are ready, as `with` does; `close` ends them."""
        self._begin()
        try:
            self._run(self._nodes.start())
        except BaseException:
            self.close(has_failed=True)
            raise

    def close(self, *, has_failed: bool = False) -> None:
        """End every node and remove the folder, unless it is kept; a second call does nothing.

        Raises `LocalClusterError` if a node failed, unless the test did anyway (`has_failed`).
        """
        if self._loop is not None:
            try:
                self._run(self._nodes.close())
            finally:
                self._end(has_failed=has_failed)

    async def _close(self, *, has_failed: bool) -> None:
        if self._loop is not None:
            try:
                await asyncio.wrap_future(self._loop.submit(self._nodes.close()))
            finally:
                self._end(has_failed=has_failed)

    def _begin(self) -> None:
        if self._loop is not None:
            raise LocalClusterError("the cluster runs already")
        if not self._remove.alive:
            raise LocalClusterError("the cluster has ended: make a new LocalCluster")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._loop = CLUSTERS_LOOP.take()
        self._give_up = weakref.finalize(self, end_given_up, self._loop, self._nodes)
        self._give_up.atexit = False

    def _end(self, *, has_failed: bool) -> None:
        loop, self._loop = self._loop, None
        if self._give_up is not None:
            self._give_up.detach()
        if loop is not None:
            CLUSTERS_LOOP.give_back(loop)
        if self._nodes.failures():
            self._remove.detach()
        else:
            self._remove()
        if not has_failed:
            self._nodes.check()

    def check(self) -> None:
        """Raise `LocalClusterError`, with its reason, if a node has ended by itself."""
        self._nodes.check()

    # Where it is

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers for Tidelog's clients, separated by commas."""
        return ",".join(plan.address for plan in self._nodes.brokers)

    @property
    def kafka_bootstrap(self) -> str:
        """The addresses of all brokers for Kafka's own clients, separated by commas."""
        return ",".join(plan.kafka_address or "" for plan in self._nodes.brokers)

    @property
    def addresses(self) -> dict[int, str]:
        """The address of each node, host:port, by id."""
        return {plan.node_id: plan.address for plan in self._nodes.plans}

    @property
    def node_ids(self) -> list[int]:
        """The ids of all nodes."""
        return [plan.node_id for plan in self._nodes.plans]

    def logs(self, node_id: int) -> str:
        """Return the log of a node, of all its lives."""
        path = self._node(node_id).plan.log_path
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    # Done to nodes

    def kill(self, node_id: int) -> None:
        """End a node at once, as SIGKILL does: no goodbye; what it wrote stays."""
        self._run(self._running_node(node_id).kill())

    def stop(self, node_id: int) -> None:
        """End a node in order: it hands over its leaderships and closes its logs."""
        self._run(self._running_node(node_id).stop())

    def start(self, node_id: int) -> None:
        """Start a node that was killed or stopped, and wait until it is ready."""
        if self._node(node_id).is_running:
            raise LocalClusterError(f"node {node_id} runs already")
        self._run(self._start(node_id))

    def pause(self, node_id: int) -> None:
        """Stop a node where it is, as SIGSTOP does. Only with `processes`."""
        self._running_node(node_id).pause()

    def resume(self, node_id: int) -> None:
        """Let a paused node go on, as SIGCONT does. Only with `processes`."""
        self._running_node(node_id).resume()

    async def _start(self, node_id: int) -> None:
        await self._node(node_id).start()
        await self._nodes.wait_until_ready(node_id)

    # Topics

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = 0,
        replication_factor: int = 0,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic; 0 is the cluster's default. Raises as `Admin.create_topic`."""
        self._run(self._create(name, partitions, replication_factor, configs or {}))

    async def _create(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        async with self._nodes.admin() as admin:
            await admin.create_topic(
                name,
                partitions=partitions,
                replication_factor=replication_factor,
                configs=configs,
            )

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the node that leads a partition; None while nobody does."""
        return self._run(self._leader(topic, partition))

    async def _leader(self, topic: str, partition: int) -> int | None:
        async with self._nodes.admin() as admin:
            return (await admin.describe_topic(topic)).partitions[partition].leader

    def wait_until_in_sync(self, timeout_s: float = 30.0) -> None:
        """Wait until every partition has a leader, and every running replica is in its ISR."""
        self._run(self._nodes.until(self._nodes.is_in_sync, timeout_s, "replicas are not in sync"))

    # Inner

    def _node(self, node_id: int) -> ClusterNode:
        node = self._nodes.nodes.get(node_id)
        if node is None:
            raise LocalClusterError(f"there is no node {node_id}: the nodes are {self.node_ids}")
        return node

    def _running_node(self, node_id: int) -> ClusterNode:
        node = self._node(node_id)
        if not node.is_running:
            raise LocalClusterError(f"node {node_id} does not run: start it first")
        return node

    def _running(self) -> LoopThread:
        if self._loop is None:
            raise LocalClusterError("the cluster does not run: use it within its `with` block")
        return self._loop

    def _run(self, work: Coroutine[Any, Any, T]) -> T:  # Any: what it may be sent
        try:
            loop = self._running()
        except LocalClusterError:
            work.close()
            raise
        return loop.run(work)


def _checked(folder: Path) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LocalClusterError(f"{folder} is not an empty folder: choose another, or none")
    return folder.absolute()
