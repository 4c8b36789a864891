"""Faults of simulated machines: power cuts, and processes that end within a disk's operation.

The cluster's budget decides whether power may go; without room these raise `FaultError`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidelog.chaos.faults.fault import require
from tidelog.chaos.faults.nodes import NodeFault
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(slots=True)
class PowerCut(NodeFault):
    """The machine loses power, and all that was not synced; it is down until healed."""

    kind: str = field(default="power_cut", kw_only=True)
    _is_cut: bool = field(default=False, init=False)

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`; `FaultError`: the budget has no room."""
        self._is_cut = await run.machines.cut_power(self.node_id)
        require(self._is_cut, f"node {self.node_id} must keep its power: records would be lost")
        self.count(run.cluster)

    async def heal(self, run: ScenarioRun) -> None:
        """See `NodeFault`; a node that kept its power is left alone."""
        if self._is_cut:
            self._is_cut = False
            await NodeFault.heal(self, run)


@dataclass(slots=True)
class EndAtWrite:
    """The process ends within its disk's nth operation from now, if that comes before `heal`.

    Killed, or with the machine's power. It is down then like a process that crashed: a supervisor
    may start it.
    """

    node_id: int
    operation: int
    has_power_cut: bool
    _is_armed: bool = field(default=False, init=False)

    @property
    def kind(self) -> str:
        """See `Fault`."""
        return "crash_at_write" if self.has_power_cut else "kill_at_write"

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`; `FaultError`: the budget has no room for a power cut."""
        machines = run.machines
        self._is_armed = await machines.end_at(
            self.node_id, self.operation, has_power_cut=self.has_power_cut
        )
        require(self._is_armed, f"node {self.node_id} must keep its power: records would be lost")
        run.cluster.count(self.kind, str(self), self.node_id)

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        if self._is_armed:
            self._is_armed = False
            await run.machines.spare(self.node_id)
            run.cluster.over(self.kind, str(self), self.node_id)

    def __str__(self) -> str:
        return f"node {self.node_id}, operation {self.operation} from now"
