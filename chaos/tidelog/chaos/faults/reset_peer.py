"""Fault: what is said next is dropped and the connection closed `after_ms` later, over and over.

Connections opened while it lasts end with a TCP reset on both sides, whatever their share in
`toxicity`; those opened before are closed as usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.faults.toxin import Toxin
from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class ResetPeer:
    """See the module."""

    kind: ClassVar[str] = "reset_peer"
    reach: Reach
    after_ms: int = 0

    def __post_init__(self) -> None:
        require(self.after_ms >= 0, f"after_ms is negative: {self.after_ms}")

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().spread(scene, str(self))

    async def heal(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().clear(scene, str(self))

    def _toxin(self) -> Toxin:
        return Toxin(self.kind, self.reach, {"timeout": self.after_ms})

    def __str__(self) -> str:
        return f"after {self.after_ms} ms"
