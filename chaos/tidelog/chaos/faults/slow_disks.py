"""Fault: every sync of some nodes' disks takes long, all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidelog.chaos.faults.fault import FaultError
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(frozen=True, slots=True)
class SlowDisks:
    """See the module. What was written is as safe as ever once its sync has ended."""

    node_ids: Sequence[int]
    sync_s: float
    kind: str = field(default="slow_disks", kw_only=True)
    label: str = field(default="", kw_only=True)
    """For people, instead of the latency."""

    def __post_init__(self) -> None:
        if not self.sync_s > 0:
            raise FaultError(f"slow_disks: {self.sync_s} s a sync must be above 0")

    @property
    def _words(self) -> str:
        return self.label or f"{self.sync_s:g} s a sync"

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        run.strike(self.kind, self._words, *self.node_ids)
        for node_id in self.node_ids:
            await run.cluster.slow_disk(node_id, self.sync_s)

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        for node_id in self.node_ids:
            await run.cluster.slow_disk(node_id, None)
        run.over(self.kind, self._words, *self.node_ids)
