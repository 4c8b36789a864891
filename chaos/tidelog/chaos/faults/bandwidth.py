"""Fault: each connection carries only so many kilobytes (1000 bytes) a second, one way.

Per connection, not per link: a client that opens more gets more. What waits fills the sockets
between, and then the sender has to wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.faults.toxin import Toxin
from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """See the module."""

    kind: ClassVar[str] = "bandwidth"
    reach: Reach
    kilobytes_per_s: int

    def __post_init__(self) -> None:
        require(
            self.kilobytes_per_s > 0,
            f"kilobytes_per_s must be above 0, not {self.kilobytes_per_s}: 0 would mean no limit",
        )

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().spread(scene, str(self))

    async def heal(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().clear(scene, str(self))

    def _toxin(self) -> Toxin:
        return Toxin(self.kind, self.reach, {"rate": self.kilobytes_per_s})

    def __str__(self) -> str:
        return f"{self.kilobytes_per_s} KB/s"
