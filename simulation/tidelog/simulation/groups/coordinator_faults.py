"""Faults of coordinators: nodes that lead the group's partition, and what it is replicated to.

Each act takes itself back. Owns these kinds; nodes that are not the coordinator are struck, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tidelog.chaos.faults.drawer import Kind, Span
from tidelog.client.errors import TidelogError
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.engine.network import Weather
from tidelog.simulation.groups.member_faults import MembersAct
from tidelog.simulation.groups.simulation import GroupsSimulation

LINKS_S = Span(0.2, 5.0)
FROZEN_S = Span(0.2, 6.0)
STALLED_S = Span(0.5, 6.0)
SLOW_SYNC_S = Span(0.02, 1.0)
WEATHER_S = Span(0.5, 4.0)
ZOMBIE_S = Span(0.5, 3.0)
"""Time beyond a session for which a deposed coordinator is reached by its members."""
COORDINATOR_SHARE = 0.7
"""Share of the strikes at nodes that strike the group's coordinator."""
SPANS: Mapping[str, Span] = {"coordinator_stall": STALLED_S, "coordinator_pause": FROZEN_S}


class CoordinatorFaults:
    """The kinds, for `Faults`."""

    def __init__(self, simulation: GroupsSimulation, actions: FaultActions) -> None:
        self._simulation = simulation
        self._base = simulation.base
        self._actions = actions
        self.kinds: list[Kind[MembersAct]] = [
            Kind("coordinator_kill", self._kill, weight=3),
            Kind("coordinator_stop", self._stop),
            Kind("coordinator_pause", self._pause, weight=2),
            Kind("coordinator_isolate", self._isolate, weight=2, nodes_min=2),
            Kind("coordinator_zombie", self._zombie, weight=2, brokers_min=2),
            Kind("coordinator_deaf", self._deaf),
            Kind("coordinator_stall", self._stall, weight=2, nodes_min=2),
            Kind("coordinator_move", self._move, weight=2, brokers_min=2),
            Kind("coordinator_slow_disk", self._slow_disk),
            Kind("weather", self._weather),
        ]

    async def _kill(self) -> None:
        victim = self._victim()
        if self._actions.kill(victim):
            self._actions.count("coordinator_kill", f"node {victim}")
            await self._actions.start_later(victim)

    async def _stop(self) -> None:
        victim = self._victim()
        self._actions.count("coordinator_stop", f"node {victim}")
        await self._actions.stop(victim)
        await self._actions.start_later(victim)

    async def _pause(self) -> None:
        victim = self._victim()
        self._actions.count("coordinator_pause", f"node {victim}")
        lasts_s = FROZEN_S.draw(self._actions.random)
        await self._actions.pause(victim, lasts_s, lasts_s)

    async def _isolate(self) -> None:
        """From the other nodes; clients reach it, and it may not know that others lead."""
        victim = self._victim()
        self._actions.count("coordinator_isolate", f"node {victim}")
        links = self._actions.links_between([victim], self._actions.others(victim))
        lasts_s = LINKS_S.draw(self._actions.random)
        if self._actions.happens(0.3):
            lasts_s += self._simulation.config.session_s
        await self._actions.cut(links, lasts_s, lasts_s)

    async def _zombie(self) -> None:
        """The coordinator is cut from the other nodes for longer than any session.

        Its members reach it all along; one that comes meanwhile finds the next coordinator.
        """
        victim = self._simulation.coordinator_node()
        if victim is None:
            return
        self._actions.count("coordinator_zombie", f"node {victim}")
        links = self._actions.links_between([victim], self._actions.others(victim))
        self._actions.cut_now(links)
        is_led = await self._actions.until(
            lambda: self._simulation.coordinator_node() not in (None, victim), within_s=8.0
        )
        free = self._simulation.free_plans()
        if is_led and free:
            self._simulation.start_member(self._actions.one_of(free))
        await asyncio.sleep(self._simulation.config.session_s + ZOMBIE_S.draw(self._actions.random))
        self._actions.mend(links)

    async def _deaf(self) -> None:
        """Hears no member, or none hears it."""
        victim = self._actions.host(self._victim())
        self._actions.count("coordinator_deaf", victim)
        links = [(name, victim) for name in self._base.client_processes]
        if self._actions.happens(0.5):
            links = [link[::-1] for link in links]
        await self._actions.cut(links, *LINKS_S)

    async def _stall(self) -> None:
        """Followers hear nothing of the leader: nothing is committed for a while."""
        victim = self._victim()
        followers = self._actions.others(victim)
        if self._actions.happens(0.5):
            followers = [self._actions.one_of(followers)]
        self._actions.count("coordinator_stall", f"node {victim} without {followers}")
        links = [(self._actions.host(victim), self._actions.host(one)) for one in followers]
        await self._actions.cut(links, *STALLED_S)

    async def _move(self) -> None:
        """The preferred replicas lead again."""
        self._actions.count("coordinator_move")
        try:
            await self._simulation.traffic.admin.elect_leaders([OFFSETS_TOPIC])
        except TidelogError as error:
            self._base.note("admin", f"{type(error).__name__} {error}")

    async def _slow_disk(self) -> None:
        victim = self._victim()
        latency_s = SLOW_SYNC_S.draw(self._actions.random)
        self._actions.count("coordinator_slow_disk", f"node {victim}: {latency_s:.3f} s")
        disk = self._base.machine(victim).disk
        disk.slow_down(latency_s)
        disk.slow_down_records(flush_delay_s=latency_s, removal_latency_s=latency_s)
        await asyncio.sleep(LINKS_S.draw(self._actions.random))
        disk.slow_down(self._base.config.sync_latency_s_max)
        disk.slow_down_records(flush_delay_s=0.0, removal_latency_s=0.0)

    async def _weather(self) -> None:
        """Messages are lost, late, and requests arrive twice."""
        random = self._actions.random
        weather = Weather(
            loss=random.uniform(0, 0.03),
            delay_s_max=random.uniform(0.001, 0.2) * self._actions.happens(0.5),
            repeat=random.uniform(0, 0.5),
        )
        self._actions.count("weather", str(weather))
        network = self._base.cluster.network
        network.weather = weather
        await asyncio.sleep(WEATHER_S.draw(random))
        if network.weather is weather:
            network.weather = None

    def _victim(self) -> int:
        coordinator = self._simulation.coordinator_node()
        if coordinator is not None and self._actions.happens(COORDINATOR_SHARE):
            return coordinator
        return self._actions.one_of(self._base.config.node_ids)
