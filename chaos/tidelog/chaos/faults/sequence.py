"""Fault made of others: one after another, each healed before the next."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import Fault, lasting, require
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(frozen=True, slots=True)
class Step:
    """A fault, how long it lasts, and the quiet after it."""

    fault: Fault
    last_s: float
    quiet_s: float = 0.0

    def __post_init__(self) -> None:
        is_well = self.last_s >= 0 and self.quiet_s >= 0
        require(is_well, f"lasts {self.last_s} s, then {self.quiet_s} s of quiet")


@dataclass(frozen=True, slots=True)
class Sequence:
    """See the module. `inject` returns after the last step."""

    kind: ClassVar[str] = "sequence"
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        require(self.steps, "a sequence of nothing")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        for step in self.steps:
            async with lasting(run, step.fault):
                await asyncio.sleep(step.last_s)
            await asyncio.sleep(step.quiet_s)

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`: of all, for one that was cut short."""
        for step in self.steps:
            await step.fault.heal(run)
