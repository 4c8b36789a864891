# pyright: strict
"""A node of a test's cluster, in this process or in one of its own. All on the cluster's loop."""

from __future__ import annotations

from typing import Protocol

from tidelog.node.local_cluster.plan import NodePlan


class ClusterNode(Protocol):
    """A node that starts and ends any number of times, on the same data."""

    plan: NodePlan

    @property
    def is_running(self) -> bool:
        """True from a start to the end, paused or not."""
        ...

    @property
    def failure(self) -> str | None:
        """Why the node ended by itself; None if it did not."""
        ...

    async def is_ready(self) -> bool:
        """True when it serves: see `Node.is_ready`."""
        ...

    async def start(self) -> None:
        """Start it. Raises `PortTakenError`, `TidelogError`."""

    async def kill(self) -> None:
        """End it at once; what it wrote stays in the page cache."""

    async def stop(self) -> None:
        """End it in order: its leaderships are handed over, its logs closed."""

    def pause(self) -> None:
        """Stop it where it is. Raises `LocalClusterError`: only a process can be paused."""

    def resume(self) -> None:
        """Let it go on."""
