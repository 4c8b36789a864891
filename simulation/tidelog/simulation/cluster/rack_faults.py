"""The fault of a rack: all of its brokers are gone at once.

Each way in which a rack is lost: its processes are killed, stand still, or are cut off from all
other nodes. The victims are those that the configuration puts into one rack.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from tidelog.chaos.faults.drawer import Kind, Span
from tidelog.chaos.faults.fault import lasting
from tidelog.chaos.faults.nodes import Pause
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.simulation.cluster.fault_actions import FaultActions, SwarmDraw

LOST_S = Span(0.2, 6.0)
"""At most longer than any session."""


class RackFaults:
    """The kinds, for `Faults`; none where the cluster has no racks."""

    def __init__(self, actions: FaultActions, run: ScenarioRun) -> None:
        self._actions = actions
        self._run = run
        self._racks = actions.simulation.config.racks
        self.kinds: list[Kind[SwarmDraw]] = []
        if self._racks:
            self.kinds = [
                Kind("rack_killed", self._kill),
                Kind("rack_paused", self._pause),
                Kind("rack_cut_off", self._cut_off),
            ]

    def _draw(self, kind: str) -> list[int]:
        """Draw a rack, and count its loss."""
        rack = self._actions.one_of(sorted({*self._racks.values()}))
        lost = [one for one in self._racks if self._racks[one] == rack]
        self._actions.count(kind, f"{rack}: nodes {lost}")
        return lost

    async def _kill(self) -> None:
        lost = [one for one in self._draw("rack_killed") if self._actions.kill(one)]
        await self._actions.last(*LOST_S)
        for node_id in lost:
            self._actions.simulation.start(node_id)

    async def _pause(self) -> None:
        async with AsyncExitStack() as pauses:
            for node_id in self._draw("rack_paused"):
                await pauses.enter_async_context(lasting(self._run, Pause(node_id)))
            await self._actions.last(*LOST_S)

    async def _cut_off(self) -> None:
        lost = self._draw("rack_cut_off")
        links = self._actions.links_between(lost, self._actions.others(*lost))
        await self._actions.cut(links, *LOST_S)
