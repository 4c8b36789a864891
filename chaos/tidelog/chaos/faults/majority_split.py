"""Fault: the cluster falls in two, and fewer than half of the controllers are on one side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.chaos.faults.cuts import Cuts
from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.reach import both_ways
from tidelog.chaos.story.cluster_port import ClusterPort, Path, Side
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(slots=True)
class MajoritySplit:
    """See the module. `minority` are nodes and groups of clients; everyone else is opposite."""

    kind: ClassVar[str] = "majority_split"
    minority: tuple[Side, ...]
    _cuts: Cuts = field(default_factory=Cuts, init=False)

    def __post_init__(self) -> None:
        require(self.minority, "nobody is in the minority")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        cluster = run.cluster
        controllers = [one for one in cluster.controller_ids if one in self.minority]
        is_minority = 2 * len(controllers) < len(cluster.controller_ids)
        require(is_minority, f"{controllers} of {cluster.controller_ids} are no minority")
        await self._cuts.cut(
            run, self._paths(cluster), kind=self.kind, what=str(self), nodes=self._nodes()
        )

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        await self._cuts.mend(run)

    def __str__(self) -> str:
        return f"{self.minority} from everyone else"

    def _paths(self, cluster: ClusterPort) -> tuple[Path, ...]:
        everyone: list[Side] = [*cluster.node_ids, *cluster.client_groups]
        return both_ways(self.minority, [one for one in everyone if one not in self.minority])

    def _nodes(self) -> tuple[int, ...]:
        return tuple(side for side in self.minority if isinstance(side, int))
