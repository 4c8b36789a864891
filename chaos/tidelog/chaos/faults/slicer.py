"""Fault: what is said arrives in small pieces, each its own write, `delay_us` apart.

Nothing is lost: it finds who believes that a read gives a whole message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.faults.toxin import Toxin
from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class Slicer:
    """See the module."""

    kind: ClassVar[str] = "slicer"
    reach: Reach
    average_bytes: int = 64
    variation_bytes: int = 32
    delay_us: int = 100

    def __post_init__(self) -> None:
        require(self.average_bytes > 0, f"average_bytes must be above 0: {self.average_bytes}")
        require(
            0 <= self.variation_bytes < self.average_bytes,
            f"variation_bytes must be in [0, {self.average_bytes}), not {self.variation_bytes}",
        )
        require(self.delay_us >= 0, f"delay_us is negative: {self.delay_us}")

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().spread(scene, str(self))

    async def heal(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().clear(scene, str(self))

    def _toxin(self) -> Toxin:
        return Toxin(
            self.kind,
            self.reach,
            {
                "average_size": self.average_bytes,
                "size_variation": self.variation_bytes,
                "delay": self.delay_us,
            },
        )

    def __str__(self) -> str:
        return f"{self.average_bytes} ± {self.variation_bytes} bytes, {self.delay_us} µs apart"
