"""Fault made of others: some begin one by one, in any order, and end one by one in another.

FoundationDB's swizzle-clogging, and CockroachDB's: what goes first need not come back first, so
nodes meet others whose view is older and newer than theirs.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.chaos.faults.fault import Fault, require
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.core.chance import SeededRandom, shuffled

AT_LEAST = 2


@dataclass(slots=True)
class Swizzle:
    """See the module: a drawn subset of `faults`, two at least; up to `gap_s_max` between two."""

    kind: ClassVar[str] = "swizzle"
    faults: tuple[Fault, ...]
    gap_s_max: float
    seed: int = 0
    _struck: list[Fault] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        require(len(self.faults) >= AT_LEAST, f"a swizzle takes {AT_LEAST} faults at least")
        require(self.gap_s_max >= 0, f"gap_s_max is negative: {self.gap_s_max}")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`; returns when the last of them has begun."""
        random = SeededRandom(self.seed)
        chosen = random.randrange(AT_LEAST, len(self.faults) + 1)
        for fault in shuffled(random, list(self.faults))[:chosen]:
            self._struck.append(fault)
            await fault.inject(run)
            await asyncio.sleep(random.uniform(0, self.gap_s_max))

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`; returns when the last of them has ended."""
        random = SeededRandom(self.seed).fork("heal")
        for fault in shuffled(random, self._struck):
            await fault.heal(run)
            self._struck.remove(fault)
            await asyncio.sleep(random.uniform(0, self.gap_s_max))
