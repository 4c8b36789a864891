"""Fault: nodes stand in a ring, and what each says to the next is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.chaos.faults.cuts import Cuts
from tidelog.chaos.faults.fault import require
from tidelog.chaos.story.cluster_port import Path
from tidelog.chaos.story.scenario_run import ScenarioRun

RING_MIN = 3
BOTH_WAYS_MIN = 4
"""A ring of three cut both ways is no ring: nobody hears anybody."""


@dataclass(slots=True)
class RingPartition:
    """See the module. With `is_both_ways` no node hears its next either."""

    kind: ClassVar[str] = "ring_partition"
    node_ids: tuple[int, ...]
    is_both_ways: bool = field(default=False, kw_only=True)
    _cuts: Cuts = field(default_factory=Cuts, init=False)

    def __post_init__(self) -> None:
        size, least = len(self.node_ids), BOTH_WAYS_MIN if self.is_both_ways else RING_MIN
        require(size >= least, f"such a ring takes {least} nodes at least, not {self.node_ids}")
        require(len({*self.node_ids}) == size, f"twice in the ring: {self.node_ids}")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        await self._cuts.cut(
            run, self._paths(), kind=self.kind, what=str(self), nodes=self.node_ids
        )

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        await self._cuts.mend(run)

    def __str__(self) -> str:
        arrow = " ◀▶ " if self.is_both_ways else " ▶ "
        return arrow.join(map(str, (*self.node_ids, self.node_ids[0])))

    def _paths(self) -> tuple[Path, ...]:
        following = (*self.node_ids[1:], self.node_ids[0])
        there = tuple(zip(self.node_ids, following, strict=True))
        return (*there, *(path[::-1] for path in there)) if self.is_both_ways else there
