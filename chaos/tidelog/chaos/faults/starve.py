"""Fault: processes get a share of a processor and no more, as beside other work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import FaultError
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(frozen=True, slots=True)
class Starve:
    """See the module. `share` is of one processor, each node's its own."""

    kind: ClassVar[str] = "starve"
    node_ids: Sequence[int]
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise FaultError(f"starve: a share of {self.share} must lie between 0 and 1")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        ways = [await run.cluster.starve(node_id, self.share) for node_id in self.node_ids]
        what = f"{self.share:.0%} of a processor a node ({', '.join(sorted(set(ways)))})"
        run.facts["held by"] = what
        run.cluster.count(self.kind, what, *self.node_ids)

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        for node_id in self.node_ids:
            await run.cluster.feed(node_id)
        run.cluster.over(self.kind, run.facts.get("held by", ""), *self.node_ids)
