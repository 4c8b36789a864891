"""Fault: what is said on some paths arrives late, by seconds; nothing is lost. On every cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.chaos.faults.fault import require
from tidelog.chaos.story.cluster_port import Path
from tidelog.chaos.story.paths import words_for
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(slots=True)
class Delay:
    """See the module; `tidelog.chaos.faults.reach` makes paths out of sides."""

    paths: tuple[Path, ...]
    kind: str = field(default="delay", kw_only=True)
    label: str = field(default="", kw_only=True)
    """For people, instead of the paths."""
    _is_on: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        require(self.paths, "no path to delay")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        require(not self._is_on, f"{self.kind} strikes already: {self}")
        self._is_on = True
        run.cluster.count(self.kind, str(self))
        await run.cluster.delay(self.paths)

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`; a delay that was taken back may be another fault's by now."""
        if self._is_on:
            self._is_on = False
            await run.cluster.hasten(self.paths)
            run.cluster.over(self.kind, str(self))

    def __str__(self) -> str:
        return self.label or words_for(self.paths)
