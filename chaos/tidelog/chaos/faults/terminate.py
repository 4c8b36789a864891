"""Fault: a process is asked to end (SIGTERM), ends in order and is down until healed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class Terminate:
    """See the module. A node that is down already stays so."""

    kind: ClassVar[str] = "terminate"
    node_id: int

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        scene.ground.count(self.kind, f"node {self.node_id}", self.node_id)
        await scene.ground.stop(self.node_id)

    async def heal(self, scene: Scene) -> None:
        """See `Fault`; returns before it is ready."""
        if not scene.ground.is_up(self.node_id):
            await scene.ground.start(self.node_id)
        scene.ground.over(self.kind, f"node {self.node_id}", self.node_id)
