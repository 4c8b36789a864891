"""Fault: a node is killed, its disk replaced by an empty one, and it is down until healed.

What it had acknowledged is gone from it: a `Budget` says whether that may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class EmptyDisk:
    """See the module."""

    kind: ClassVar[str] = "empty_disk"
    node_id: int

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        scene.ground.count(self.kind, f"node {self.node_id}", self.node_id)
        await scene.ground.kill(self.node_id)
        await scene.ground.wipe(self.node_id)

    async def heal(self, scene: Scene) -> None:
        """Start it, with nothing; it fetches everything from the others."""
        if not scene.ground.is_up(self.node_id):
            await scene.ground.start(self.node_id)
        scene.ground.over(self.kind, f"node {self.node_id}", self.node_id)
