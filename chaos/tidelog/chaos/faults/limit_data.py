"""Fault: a connection passes so many bytes one way, then it is closed: in the midst of a message.

Counted per connection, from when it began or the fault did, whichever was later; so for as long as
it lasts every new connection ends in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.faults.toxin import Toxin
from tidelog.chaos.story.scene import Scene


@dataclass(frozen=True, slots=True)
class LimitData:
    """See the module."""

    kind: ClassVar[str] = "limit_data"
    reach: Reach
    limit_bytes: int

    def __post_init__(self) -> None:
        require(self.limit_bytes >= 0, f"limit_bytes is negative: {self.limit_bytes}")

    async def inject(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().spread(scene, str(self))

    async def heal(self, scene: Scene) -> None:
        """See `Fault`."""
        await self._toxin().clear(scene, str(self))

    def _toxin(self) -> Toxin:
        return Toxin(self.kind, self.reach, {"bytes": self.limit_bytes})

    def __str__(self) -> str:
        return f"{self.limit_bytes} bytes"
