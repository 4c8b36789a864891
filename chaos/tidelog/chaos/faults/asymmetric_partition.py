"""Fault: what one side says never arrives at the other; what the other says does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.chaos.faults.cuts import Cuts
from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.reach import one_way
from tidelog.chaos.story.cluster_port import Path, Side
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(slots=True)
class AsymmetricPartition:
    """See the module: `silent` are not heard by `deaf`."""

    kind: ClassVar[str] = "asymmetric_partition"
    silent: tuple[Side, ...]
    deaf: tuple[Side, ...]
    _cuts: Cuts = field(default_factory=Cuts, init=False)

    def __post_init__(self) -> None:
        require(self._paths(), f"two sides, please: {self.silent} and {self.deaf}")
        require(not {*self.silent} & {*self.deaf}, f"on both sides: {self}")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        await self._cuts.cut(
            run, self._paths(), kind=self.kind, what=str(self), nodes=self._nodes()
        )

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        await self._cuts.mend(run)

    def __str__(self) -> str:
        return f"{self.silent} not heard by {self.deaf}"

    def _paths(self) -> tuple[Path, ...]:
        return one_way(self.silent, self.deaf)

    def _nodes(self) -> tuple[int, ...]:
        return tuple(side for side in self.silent if isinstance(side, int))
