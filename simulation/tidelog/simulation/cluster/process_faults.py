"""Faults of links and processes: cut, clogged and lossy links, nodes killed, stopped and paused.

Owns these kinds, for any storm over a `StormTarget`, and how one of a table strikes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from tidelog.chaos.faults.cut import Cut
from tidelog.chaos.faults.delay import Delay
from tidelog.chaos.faults.drawer import Kind, Span
from tidelog.chaos.faults.fault import Fault, lasting, require
from tidelog.chaos.faults.nodes import Kill, Pause, Terminate
from tidelog.chaos.faults.reach import both_ways, one_way
from tidelog.chaos.story.cluster_port import Side
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.chaos.topology import CLIENTS
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster.bad_weather import BadWeather
from tidelog.simulation.cluster.fault_actions import DOWN_S, FaultActions, SwarmDraw
from tidelog.simulation.cluster.inside import active_controller
from tidelog.simulation.cluster.storm_target import StormTarget
from tidelog.simulation.engine.network import Weather

LINKS_S = Span(0.2, 5.0)
FROZEN_S = Span(0.2, 6.0)
DRIFT_MIN, DRIFT_MAX = 0.8, 1.25


async def strike(kind: Kind[SwarmDraw], actions: FaultActions, run: ScenarioRun) -> None:
    """Let a fault of this kind strike, last and be taken back."""
    drawn = kind.draw()
    if isinstance(drawn, Awaitable):
        await drawn
    elif drawn is not None:
        async with lasting(run, drawn):
            has_struck = not isinstance(drawn, Pause) or drawn.has_struck
            if kind.lasts is not None and has_struck:
                await asyncio.sleep(kind.lasts.draw(actions.random))


def calm(target: StormTarget) -> None:
    """Let everything run as it should, when no fault lasts any more."""
    target.cluster.network.weather = None
    target.cluster.network.lateness.clear()
    for node_id in target.config.node_ids:
        target.machine(node_id).disk.slow_down(target.config.sync_latency_s_max)
        if target.is_up(node_id):
            target.cluster.drift(node_id, rate=1.0)
        target.start(node_id)
    target.restart_failed()


class LinkAndProcessFaults:
    """The kinds; links and weather are drawn from `random`, everything else from the actions'."""

    def __init__(self, actions: FaultActions, random: SeededRandom) -> None:
        self._actions = actions
        self._random = random
        self._simulation = actions.simulation
        self.kinds: list[Kind[SwarmDraw]] = [
            Kind("partition", self._partition, LINKS_S, nodes_min=2),
            Kind("one_way", self._one_way, LINKS_S, nodes_min=2),
            Kind("ring", self._ring, Span(0.5, 5.0), nodes_min=3),
            Kind("isolate", self._isolate, LINKS_S, nodes_min=2),
            Kind("isolate_controller", self._isolate_controller, LINKS_S, nodes_min=2),
            Kind("cut_from_clients", self._cut_from_clients, Span(0.2, 3.0)),
            Kind("clog", self._clog, Span(0.3, 6.0)),
            Kind("weather", self._weather, Span(0.5, 4.0)),
            Kind("pause", self._pause, FROZEN_S),
            Kind("pause_controller", self._pause_controller, FROZEN_S),
            Kind("kill", self._kill, DOWN_S),
            Kind("stop", self._stop, DOWN_S),
            Kind("rolling_restart", self._rolling_restart),
            Kind("restart_all", self._restart_all),
            Kind("unclean", self._unclean, brokers_min=2),
            Kind("clock_drift", self._clock_drift),
        ]

    # Links

    def _partition(self) -> Fault:
        nodes = self._actions.shuffled(self._simulation.config.node_ids)
        require(len(nodes) > 1, "a node alone has no other side")
        side = nodes[: self._random.randrange(1, len(nodes))]
        others = self._actions.others(*side)
        label = f"{sorted(side)} from {others}"
        return Cut(both_ways(side, others), kind="partition", label=label)

    def _one_way(self) -> Fault:
        victim = self._actions.victim()
        others = self._actions.others(victim)
        require(others, "a node alone has no other side")
        if self._actions.happens(0.3):
            others = [self._actions.one_of(others)]
        links = [(victim, other) for other in others]
        if self._actions.happens(0.5):
            links = [link[::-1] for link in links]
        host = self._actions.host
        label = " ".join(f"{host(source)}>{host(target)}" for source, target in links)
        return Cut(tuple(links), kind="one_way", label=label)

    def _ring(self) -> Fault:
        """Each node hears a neighbour on each side, and nobody else."""
        nodes = self._actions.shuffled(self._simulation.config.node_ids)
        size = len(nodes)
        paths = tuple(
            (one, other)
            for at, one in enumerate(nodes)
            for to, other in enumerate(nodes)
            if (at - to) % size not in (0, 1, size - 1 if size > 3 else 1)
        )
        return Cut(paths, kind="ring", label=str(nodes))

    def _isolate(self) -> Fault:
        return self._cut_off("isolate", self._actions.victim())

    def _isolate_controller(self) -> Fault | None:
        controller = active_controller(self._simulation.cluster)
        return None if controller is None else self._cut_off("isolate_controller", controller)

    def _cut_off(self, kind: str, victim: int) -> Fault:
        paths = both_ways([victim], self._actions.others(victim))
        return Cut(paths, kind=kind, label=f"node {victim}")

    def _cut_from_clients(self) -> Fault:
        """Answers are lost, or requests."""
        victim = self._actions.victim()
        is_deaf = self._actions.happens(0.5)
        paths = one_way([CLIENTS], [victim]) if is_deaf else one_way([victim], [CLIENTS])
        label = f"{self._actions.host(victim)} {'deaf' if is_deaf else 'mute'}"
        return Cut(paths, kind="cut_from_clients", label=label)

    def _clog(self) -> Fault:
        """Two hosts' link holds everything and then delivers."""
        sides: list[Side] = [*self._simulation.config.node_ids, *self._simulation.client_hosts]
        source, target = self._actions.shuffled(sides)[:2]
        label = ">".join(
            one if isinstance(one, str) else self._actions.host(one) for one in (source, target)
        )
        return Delay(((source, target),), kind="clog", label=label)

    def _weather(self) -> Fault:
        weather = Weather(
            loss=self._random.uniform(0, 0.05),
            delay_s_max=self._random.uniform(0.001, 0.2) * self._actions.happens(0.5),
            repeat=self._random.uniform(0, 0.3),
        )
        return BadWeather(self._simulation.cluster.network, weather)

    # Processes

    def _pause(self) -> Fault:
        return Pause(self._actions.victim(), kind="pause")

    def _pause_controller(self) -> Fault | None:
        controller = active_controller(self._simulation.cluster)
        return None if controller is None else Pause(controller, kind="pause_controller")

    def _kill(self) -> Fault | None:
        victim = self._actions.victim()
        return Kill(victim) if self._simulation.is_up(victim) else None

    def _stop(self) -> Fault:
        return Terminate(self._actions.victim(), kind="stop")

    async def _rolling_restart(self) -> None:
        self._actions.count("rolling_restart")
        for node_id in self._simulation.config.node_ids:
            await self._actions.stop(node_id)
            await self._actions.last(0.0, 0.3)
            self._simulation.start(node_id)
            await self._actions.until(
                lambda: not list(self._simulation.find_unsettled()), within_s=4.0
            )

    async def _restart_all(self) -> None:
        """At once: killed, or without power where the budget has room for it."""
        is_lossy = self._actions.happens(0.5)
        self._actions.count("restart_all", "power" if is_lossy else "kill -9")
        nodes = self._actions.shuffled(self._simulation.config.node_ids)
        for node_id in nodes:
            if not (is_lossy and self._actions.cut_power(node_id)):
                self._actions.kill(node_id)
        for node_id in nodes:
            await self._actions.last(0.0, 0.5)
            self._simulation.start(node_id)

    async def _unclean(self) -> None:
        """A follower falls behind; then everyone in sync is gone, and it is all there is.

        Where that is not allowed, nobody leads until one of those in sync is back.
        """
        topics = self._simulation.config.topics
        lossy = [one for one in topics if one.is_lossy and self._actions.happens(0.5)]
        topic = self._actions.one_of(lossy or topics)
        state = self._simulation.image.partition(topic.name, 0)
        if not state or state.leader_id is None or len(state.isr) < 2:
            return
        behind = self._actions.one_of([one for one in state.replicas if one != state.leader_id])
        in_sync = [one for one in state.replicas if one != behind]
        self._actions.count("unclean", f"node {behind} falls behind {in_sync}")
        await self._actions.cut(self._actions.links_between([behind], in_sync), 1.0, 4.0)
        for node_id in in_sync:
            self._actions.kill(node_id)
        await self._actions.last(1.0, 6.0)
        for node_id in in_sync:
            self._simulation.start(node_id)

    async def _clock_drift(self) -> None:
        victim = self._actions.victim()
        if self._simulation.is_up(victim):
            rate = self._random.uniform(DRIFT_MIN, DRIFT_MAX)
            self._actions.count("clock_drift", f"node {victim}: {rate:.2f}")
            self._simulation.cluster.drift(victim, rate=rate)
