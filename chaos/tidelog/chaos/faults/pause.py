"""Fault: a process stands still (SIGSTOP) with its connections open, then goes on (SIGCONT)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class Pause:
    """See the module. It knows nothing of the time that went by."""

    kind: ClassVar[str] = "pause"
    node_id: int

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        scene.ground.count(self.kind, f"node {self.node_id}", self.node_id)
        await scene.ground.pause(self.node_id)

    async def heal(self, scene: Scene) -> None:
        """See `Fault`."""
        if scene.ground.is_up(self.node_id):
            await scene.ground.resume(self.node_id)
        scene.ground.over(self.kind, f"node {self.node_id}", self.node_id)
