"""Fault: a disk takes only so many bytes more. It loses nothing it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import require
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(frozen=True, slots=True)
class DiskFull:
    """See the module. The cluster decides which nodes have such a disk."""

    kind: ClassVar[str] = "disk_full"
    node_id: int
    room_bytes: int = 0

    def __post_init__(self) -> None:
        require(self.room_bytes >= 0, f"room_bytes is negative: {self.room_bytes}")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        run.cluster.count(self.kind, str(self), self.node_id)
        await run.cluster.fill(self.node_id, room_bytes=self.room_bytes)

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`; the node reopens its logs by itself (decision 0013)."""
        await run.cluster.make_room(self.node_id)
        run.cluster.over(self.kind, str(self), self.node_id)

    def __str__(self) -> str:
        return f"node {self.node_id}, {self.room_bytes} bytes left"
