"""Fault: a blackhole. What is said is dropped, without an error; connects succeed.

With `reach` one way only the answers, or only the requests, are lost. `close_after_ms` 0: until it
is healed; else each connection is closed after that time, whether anything was said or not. To heal
it closes all connections it lay on, as their streams have holes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.faults.toxin import Toxin
from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class Timeout:
    """See the module."""

    kind: ClassVar[str] = "timeout"
    reach: Reach
    close_after_ms: int = 0

    def __post_init__(self) -> None:
        require(self.close_after_ms >= 0, f"close_after_ms is negative: {self.close_after_ms}")

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().spread(scene, str(self))

    async def heal(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().clear(scene, str(self))

    def _toxin(self) -> Toxin:
        return Toxin(self.kind, self.reach, {"timeout": self.close_after_ms})

    def __str__(self) -> str:
        return f"closed after {self.close_after_ms} ms" if self.close_after_ms else "nothing passes"
