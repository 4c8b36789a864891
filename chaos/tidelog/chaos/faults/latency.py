"""Fault: what is said arrives late, in order. Calls become slow; nothing breaks by itself.

A proxy answers connects itself: those stay fast. It holds up to 1024 reads of a connection, each
at most 32 KiB; more than that a latency the sender feels as back pressure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.faults.toxin import Toxin
from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class Latency:
    """See the module."""

    kind: ClassVar[str] = "latency"
    reach: Reach
    latency_ms: int
    jitter_ms: int = 0
    """Of each chunk, evenly: `latency_ms` ± `jitter_ms`."""

    def __post_init__(self) -> None:
        require(self.latency_ms > 0, f"latency_ms must be above 0, not {self.latency_ms}")
        require(
            0 <= self.jitter_ms <= self.latency_ms,
            f"jitter_ms must be in [0, {self.latency_ms}], not {self.jitter_ms}",
        )

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().spread(scene, str(self))

    async def heal(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().clear(scene, str(self))

    def _toxin(self) -> Toxin:
        return Toxin(self.kind, self.reach, {"latency": self.latency_ms, "jitter": self.jitter_ms})

    def __str__(self) -> str:
        return f"{self.latency_ms} ± {self.jitter_ms} ms"
