"""Fault: a closed connection is closed on the far side only after a delay: it is half open.

Data passes as ever. Whoever did not close believes in the connection until then, and nothing
answers what it says: only its own keepalive can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.faults.toxin import Toxin
from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class SlowClose:
    """See the module."""

    kind: ClassVar[str] = "slow_close"
    reach: Reach
    delay_ms: int

    def __post_init__(self) -> None:
        require(self.delay_ms > 0, f"delay_ms must be above 0, not {self.delay_ms}")

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().spread(scene, str(self))

    async def heal(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().clear(scene, str(self))

    def _toxin(self) -> Toxin:
        return Toxin(self.kind, self.reach, {"delay": self.delay_ms})

    def __str__(self) -> str:
        return f"{self.delay_ms} ms"
