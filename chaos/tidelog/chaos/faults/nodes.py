"""Faults of one node's process: killed, terminated, paused, or started again on an empty disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from tidelog.chaos.story.cluster_port import ClusterPort
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(slots=True)
class NodeFault(ABC):
    """A fault of node `node_id` (see `Fault`). A node that is down already stays down."""

    node_id: int
    kind: str = field(default="", kw_only=True)

    @abstractmethod
    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`; it calls `count`."""

    def count(self, cluster: ClusterPort) -> None:
        """Note that it strikes."""
        cluster.count(self.kind, f"node {self.node_id}", self.node_id)

    async def heal(self, run: ScenarioRun) -> None:
        """Start the node if it is down; return before it is ready."""
        await run.cluster.start(self.node_id)
        run.cluster.over(self.kind, f"node {self.node_id}", self.node_id)


@dataclass(slots=True)
class Kill(NodeFault):
    """The process ends at once (SIGKILL) and is down until healed. Its page cache stays.

    Counted once it has ended; a node that was down already is not counted.
    """

    kind: str = field(default="kill", kw_only=True)

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        if await run.cluster.kill(self.node_id):
            self.count(run.cluster)


@dataclass(slots=True)
class Terminate(NodeFault):
    """The process is asked to end (SIGTERM), ends in order and is down until healed."""

    kind: str = field(default="terminate", kw_only=True)

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        self.count(run.cluster)
        await run.cluster.stop(self.node_id)


@dataclass(slots=True)
class EmptyDisk(NodeFault):
    """The process is killed, its disk replaced by an empty one; it is down until healed.

    What the node had acknowledged is gone from it: the `Budget` says whether that may be.
    Healed, it fetches everything from the others.
    """

    kind: str = field(default="empty_disk", kw_only=True)

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        self.count(run.cluster)
        await run.cluster.kill(self.node_id)
        await run.cluster.wipe(self.node_id)


@dataclass(slots=True)
class Pause(NodeFault):
    """The process stands still (SIGSTOP) with its connections open, and goes on (SIGCONT) healed.

    It knows nothing of the time that went by. A process that is paused already stays so as long as
    the fault that paused it lasts; the node's next process is left alone.
    """

    kind: str = field(default="pause", kw_only=True)
    _process: int | None = field(default=None, init=False)
    """The process that this fault paused."""

    @property
    def has_struck(self) -> bool:
        """True if it paused a process and was not healed since."""
        return self._process is not None

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        self.count(run.cluster)
        self._process = await run.cluster.pause(self.node_id)

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        if self._process is not None and run.cluster.is_up(self.node_id):
            await run.cluster.resume(self.node_id, self._process)
        self._process = None
        run.cluster.over(self.kind, f"node {self.node_id}", self.node_id)
