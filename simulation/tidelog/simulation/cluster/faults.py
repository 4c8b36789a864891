"""The storm of the cluster suite: which faults there are, and when each strikes whom.

A seed uses some of the kinds and leaves others out (swarm testing), so that each also strikes
nearly alone. The kinds are those of `process_faults` and `machine_faults`; `endless_faults` last
longer than the product waits and are drawn beside the others, and so are `clones`, nodes of another
cluster that call this one's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tidelog.chaos.faults.drawer import (
    Kind,
    Plan,
    Span,
    possible,
    strike_repeatedly,
    weighted,
)
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.core.chance import SeededRandom, one_of
from tidelog.simulation.cluster.clones import Clones
from tidelog.simulation.cluster.endless_faults import EndlessFaults
from tidelog.simulation.cluster.fault_actions import FaultActions, SwarmDraw
from tidelog.simulation.cluster.late_calls import NEEDS_CALM, LateCallFaults
from tidelog.simulation.cluster.machine_faults import MachineFaults
from tidelog.simulation.cluster.process_faults import LinkAndProcessFaults, calm, strike
from tidelog.simulation.cluster.rack_faults import RackFaults
from tidelog.simulation.cluster.replica_faults import ReplicaFaults

PLAN = Plan(kinds_min=2, kinds_max=9, gap=Span(0.1, 2.0))
REPLICA_STRIKE_PROBABILITY = 0.6
LATE_CALLS_PROBABILITY = 0.8


class Faults:
    """Strikes until stopped; then `heal` takes every fault back."""

    def __init__(self, actions: FaultActions, random: SeededRandom, run: ScenarioRun) -> None:
        self._actions = actions
        self._run = run
        self._simulation = actions.simulation
        self._random = random
        table = [
            *LinkAndProcessFaults(actions, random).kinds,
            *MachineFaults(actions, run).kinds,
            *RackFaults(actions, run).kinds,
        ]
        self._used = list(PLAN.draw_kinds(random, self._possible(table)))
        self._is_calm = False
        if random.random() < REPLICA_STRIKE_PROBABILITY:
            self._used.append(one_of(random, self._possible(ReplicaFaults(actions).kinds)))
        else:
            self._use_late_calls(random.fork("late calls"))
        rack_faults = RackFaults(actions, run).kinds
        if rack_faults and actions.simulation.config.is_broad:
            self._used.append(one_of(random, rack_faults))  # Of many partitions at once.
        self._endless = EndlessFaults(actions, random.fork("endless"), run)
        self._clones = Clones(actions, random.fork("clones"))
        self._tasks: list[asyncio.Task[None]] = []

    def _use_late_calls(self, random: SeededRandom) -> None:
        """Most of the other seeds use one of these kinds, and few others beside it, or none."""
        if random.random() < LATE_CALLS_PROBABILITY:
            kind = one_of(random, weighted(self._possible(LateCallFaults(self._actions).kinds)))
            self._is_calm = kind.name == NEEDS_CALM
            self._used = [kind] if self._is_calm else [*self._used[:2], kind]

    def _possible(self, kinds: Sequence[Kind[SwarmDraw]]) -> list[Kind[SwarmDraw]]:
        config = self._actions.simulation.config
        return possible(kinds, nodes=len(config.node_ids), brokers=len(config.broker_ids))

    async def strike_until(self, end_s: float) -> None:
        """Strike again and again, sometimes while other faults last."""
        if not self._is_calm:
            self._tasks.append(asyncio.ensure_future(self._endless.strike_until(end_s)))
            self._tasks.append(asyncio.ensure_future(self._clones.speak_until(end_s)))
        await strike_repeatedly(
            self._random,
            self._used,
            self._begin,
            gap=PLAN.gap,
            is_over=lambda: self._simulation.is_storm_over(end_s),
        )

    async def _begin(self, kind: Kind[SwarmDraw]) -> None:
        self._tasks.append(asyncio.ensure_future(self._strike(kind)))

    async def _strike(self, kind: Kind[SwarmDraw]) -> None:
        await strike(kind, self._actions, self._run)

    async def heal(self) -> None:
        """Let all faults that last end, then everything run as it should."""
        await asyncio.gather(*self._tasks)
        calm(self._simulation)
