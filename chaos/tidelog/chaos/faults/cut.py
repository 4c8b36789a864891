"""Fault: nothing that is said on some paths arrives, without an error; on every cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.chaos.faults.cuts import Cuts
from tidelog.chaos.faults.fault import require
from tidelog.chaos.story.cluster_port import Path
from tidelog.chaos.story.paths import words_for
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(slots=True)
class Cut:
    """See the module; `tidelog.chaos.faults.reach` makes paths out of sides."""

    paths: tuple[Path, ...]
    kind: str = field(default="cut", kw_only=True)
    label: str = field(default="", kw_only=True)
    """For people, instead of the paths."""
    _cuts: Cuts = field(default_factory=Cuts, init=False)

    def __post_init__(self) -> None:
        require(self.paths, "no path to cut")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        await self._cuts.cut(run, self.paths, kind=self.kind, what=str(self), nodes=())

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        await self._cuts.mend(run)

    def __str__(self) -> str:
        return self.label or words_for(self.paths)
