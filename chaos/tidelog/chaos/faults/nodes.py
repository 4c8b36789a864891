"""Faults of one node's process: killed, terminated, paused, or started again on an empty disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from tidelog.chaos.story.cluster_port import ClusterPort
from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class NodeFault(ABC):
    """A fault of node `node_id` (see `Fault`). A node that is down already stays down."""

    node_id: int
    kind: str = field(default="", kw_only=True)

    @abstractmethod
    async def strike(self, cluster: ClusterPort) -> None:
        """Let it happen."""

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        scene.cluster.count(self.kind, f"node {self.node_id}", self.node_id)
        await self.strike(scene.cluster)

    async def heal(self, scene: Scene) -> None:
        """Start the node if it is down; return before it is ready."""
        await scene.cluster.start(self.node_id)
        scene.cluster.over(self.kind, f"node {self.node_id}", self.node_id)


@dataclass(frozen=True, slots=True)
class Kill(NodeFault):
    """The process ends at once (SIGKILL) and is down until healed. Its page cache stays."""

    kind: str = field(default="kill", kw_only=True)

    async def strike(self, cluster: ClusterPort) -> None:
        """See `NodeFault`."""
        await cluster.kill(self.node_id)


@dataclass(frozen=True, slots=True)
class Terminate(NodeFault):
    """The process is asked to end (SIGTERM), ends in order and is down until healed."""

    kind: str = field(default="terminate", kw_only=True)

    async def strike(self, cluster: ClusterPort) -> None:
        """See `NodeFault`."""
        await cluster.stop(self.node_id)


@dataclass(frozen=True, slots=True)
class EmptyDisk(NodeFault):
    """The process is killed, its disk replaced by an empty one; it is down until healed.

    What the node had acknowledged is gone from it: a `DamageBudget` says whether that may be.
    Healed, it fetches everything from the others.
    """

    kind: str = field(default="empty_disk", kw_only=True)

    async def strike(self, cluster: ClusterPort) -> None:
        """See `NodeFault`."""
        await cluster.kill(self.node_id)
        await cluster.wipe(self.node_id)


@dataclass(frozen=True, slots=True)
class Pause(NodeFault):
    """The process stands still (SIGSTOP) with its connections open, and goes on (SIGCONT) healed.

    It knows nothing of the time that went by.
    """

    kind: str = field(default="pause", kw_only=True)

    async def strike(self, cluster: ClusterPort) -> None:
        """See `NodeFault`."""
        await cluster.pause(self.node_id)

    async def heal(self, scene: Scene) -> None:
        """See `Fault`."""
        if scene.cluster.is_up(self.node_id):
            await scene.cluster.resume(self.node_id)
        scene.cluster.over(self.kind, f"node {self.node_id}", self.node_id)
