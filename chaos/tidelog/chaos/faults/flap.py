"""Fault made of another: it comes and goes, `times` times."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import Fault, lasting, require
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.core.chance import SeededRandom


@dataclass(frozen=True, slots=True)
class Flap:
    """See the module. `inject` returns after the last time; it is healed then.

    How long each lasts, and each pause, is even between 0.5 and 1.5 of the mean; `seed` decides.
    """

    kind: ClassVar[str] = "flap"
    fault: Fault
    times: int
    down_s: float
    up_s: float
    seed: int = 0

    def __post_init__(self) -> None:
        require(self.times > 0, f"a flap takes place once at least, not {self.times} times")
        require(self.down_s > 0 and self.up_s > 0, f"{self.down_s} s down, {self.up_s} s up")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        random = SeededRandom(self.seed)
        for _ in range(self.times):
            async with lasting(run, self.fault):
                await asyncio.sleep(self.down_s * random.uniform(0.5, 1.5))
            await asyncio.sleep(self.up_s * random.uniform(0.5, 1.5))

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        await self.fault.heal(run)
