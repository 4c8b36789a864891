"""The storm of the groups suite: which faults there are, and when each strikes whom.

A seed uses some of the kinds and leaves others out (swarm testing), so that each also strikes
nearly alone; one in three has the cluster suite's endless faults beside them.
"""

from __future__ import annotations

import asyncio

from tidelog.chaos.faults.drawer import Kind, Plan, Span, possible, strike_repeatedly, weighted
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.core.chance import SeededRandom, one_of
from tidelog.simulation.cluster.endless_faults import EndlessFaults
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.groups.coordinator_faults import CoordinatorFaults
from tidelog.simulation.groups.member_faults import MemberFaults, MembersAct
from tidelog.simulation.groups.refused_coordinators import RefusedCoordinators
from tidelog.simulation.groups.simulation import GroupsSimulation
from tidelog.simulation.groups.topic_faults import TopicFaults

PLAN = Plan(kinds_min=3, kinds_max=9, gap=Span(0.05, 1.2))
GAP_OF_DEFAULT_TIMES = Span(1.0, 8.0)
ENDLESS_PROBABILITY = 0.3
MEMBERS_MIN = 1
"""A member is started when fewer run, so that offsets are owned."""


class Faults:
    """Strikes until stopped; then `heal` takes every fault back."""

    def __init__(
        self,
        simulation: GroupsSimulation,
        actions: FaultActions,
        random: SeededRandom,
        run: ScenarioRun,
    ) -> None:
        self._simulation = simulation
        self._random = random
        self._actions = actions
        kinds = [
            *MemberFaults(simulation, actions).kinds,
            *CoordinatorFaults(simulation, actions).kinds,
            *TopicFaults(simulation, actions).kinds,
            *RefusedCoordinators(simulation, actions).kinds,
        ]
        cluster = simulation.base.config
        nodes, brokers = len(cluster.node_ids), len(cluster.broker_ids)
        table = weighted(possible(kinds, nodes=nodes, brokers=brokers))
        self._used = list(PLAN.draw_kinds(random, table))
        self._gap = GAP_OF_DEFAULT_TIMES if simulation.config.are_times_default else PLAN.gap
        self._endless: EndlessFaults | None = None
        if random.random() < ENDLESS_PROBABILITY:
            self._endless = EndlessFaults(actions, random.fork("endless"), run)
        self._tasks: list[asyncio.Task[None]] = []

    async def strike_until(self, end_s: float) -> None:
        """Strike again and again, sometimes while other faults last."""
        simulation = self._simulation
        if self._endless is not None:
            self._tasks.append(asyncio.ensure_future(self._endless.strike_until(end_s)))
        if simulation.classic is not None:
            simulation.classic.start_all()
            striking = simulation.classic.strike_until(lambda: simulation.base.is_storm_over(end_s))
            self._tasks.append(asyncio.ensure_future(striking))
        await strike_repeatedly(
            self._random,
            self._used,
            self._begin,
            gap=self._gap,
            is_over=lambda: simulation.base.is_storm_over(end_s),
        )

    async def _begin(self, kind: Kind[MembersAct]) -> None:
        self._tasks.append(asyncio.ensure_future(kind.draw()))
        free = self._simulation.free_plans()
        if len(self._simulation.members) < MEMBERS_MIN and free:
            self._simulation.start_member(one_of(self._random, free))

    async def heal(self) -> None:
        """Let all faults end, then everything run as it should."""
        await asyncio.gather(*self._tasks)
        base = self._simulation.base
        base.cluster.network.weather = None
        base.cluster.network.lateness.clear()
        for node_id in base.config.node_ids:
            base.machine(node_id).disk.slow_down(base.config.sync_latency_s_max)
            base.start(node_id)
        base.restart_failed()
        for member in list(self._simulation.members.values()):
            member.stuck_s = 0.0  # one that was given no records meanwhile is not held up later
            if member.is_closing:
                await self._simulation.close_member(member)
        free = self._simulation.free_plans()
        while len(self._simulation.members) < 2 and free:
            self._simulation.start_member(free.pop(0))
