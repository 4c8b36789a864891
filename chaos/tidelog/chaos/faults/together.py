"""Fault made of others: all at once, injected in order and healed in the opposite one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import Fault, require
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(frozen=True, slots=True)
class Together:
    """See the module."""

    kind: ClassVar[str] = "together"
    faults: tuple[Fault, ...]

    def __post_init__(self) -> None:
        require(self.faults, "nothing together")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`; with the first that cannot, the rest does not happen."""
        for fault in self.faults:
            await fault.inject(run)

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        for fault in reversed(self.faults):
            await fault.heal(run)
