"""The storm of the cluster suite: which faults there are, and when each strikes whom.

A seed uses some of the kinds and leaves others out (swarm testing), so that each also strikes
nearly alone. It owns the faults of links and processes; `machine_faults` has those of machines, and
`endless_faults` those that last longer than the product waits, drawn beside the others, and
`clones` nodes of another cluster that call this one's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.chaos.faults.cut import Cut
from tidelog.chaos.faults.delay import Delay
from tidelog.chaos.faults.fault import Fault, lasting
from tidelog.chaos.faults.nodes import Kill, Pause, Terminate
from tidelog.chaos.faults.reach import both_ways, one_way
from tidelog.chaos.story.cluster_port import Side
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.chaos.topology import CLIENTS
from tidelog.core import chance
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster.bad_weather import BadWeather
from tidelog.simulation.cluster.clones import Clones
from tidelog.simulation.cluster.endless_faults import EndlessFaults
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.cluster.inside import active_controller
from tidelog.simulation.cluster.late_calls import NEEDS_CALM, LateCallFaults
from tidelog.simulation.cluster.machine_faults import MachineFaults
from tidelog.simulation.cluster.replica_faults import ReplicaFaults
from tidelog.simulation.engine.network import Weather

KINDS_USED_MIN, KINDS_USED_MAX = 2, 9
REPLICA_STRIKE_PROBABILITY = 0.6
LATE_CALLS_PROBABILITY = 0.8
PAUSE_S_MIN, PAUSE_S_MAX = 0.1, 2.0
DRIFT_MIN, DRIFT_MAX = 0.8, 1.25


class Faults:
    """Strikes until stopped; then `heal` takes every fault back."""

    def __init__(self, actions: FaultActions, random: SeededRandom, run: ScenarioRun) -> None:
        self._actions = actions
        self._run = run
        self._simulation = actions.simulation
        self._random = random
        disks = MachineFaults(actions, run)
        self._kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "partition": self._partition,
            "one_way": self._one_way,
            "ring": self._ring,
            "isolate": self._isolate,
            "isolate_controller": self._isolate_controller,
            "cut_from_clients": self._cut_from_clients,
            "clog": self._clog,
            "weather": self._weather,
            "pause": self._pause,
            "pause_controller": self._pause_controller,
            "kill": self._kill,
            "stop": self._stop,
            "rolling_restart": self._rolling_restart,
            "restart_all": self._restart_all,
            "unclean": self._unclean,
            "clock_drift": self._clock_drift,
            **disks.kinds,
        }
        left = list(self._kinds)
        count = random.randrange(KINDS_USED_MIN, KINDS_USED_MAX + 1)
        self._is_calm = False
        self._used = [left.pop(random.randrange(0, len(left))) for _ in range(count)]
        if random.random() < REPLICA_STRIKE_PROBABILITY:
            moments = ReplicaFaults(actions).kinds
            name = list(moments)[random.randrange(0, len(moments))]
            self._kinds[name] = moments[name]
            self._used.append(name)
        else:
            self._use_late_calls(random.fork("late calls"))
        self._endless = EndlessFaults(actions, random.fork("endless"), run)
        self._clones = Clones(actions, random.fork("clones"))
        self._tasks: list[asyncio.Task[None]] = []

    def _use_late_calls(self, random: SeededRandom) -> None:
        """Most of the other seeds use one of these kinds, and few others beside it, or none."""
        if random.random() < LATE_CALLS_PROBABILITY:
            late = LateCallFaults(self._actions).kinds
            name = chance.one_of(random, [*late, NEEDS_CALM, NEEDS_CALM])
            self._kinds[name] = late[name]
            self._is_calm = name == NEEDS_CALM
            self._used = [name] if self._is_calm else [*self._used[:2], name]

    async def strike_until(self, end_s: float) -> None:
        """Strike again and again, sometimes while other faults last."""
        if not self._is_calm:
            self._tasks.append(asyncio.ensure_future(self._endless.strike_until(end_s)))
            self._tasks.append(asyncio.ensure_future(self._clones.speak_until(end_s)))
        while self._simulation.now_s < end_s and not self._simulation.findings.violations:
            await asyncio.sleep(self._random.uniform(PAUSE_S_MIN, PAUSE_S_MAX))
            kind = self._used[self._random.randrange(0, len(self._used))]
            work = self._kinds[kind]()
            self._tasks.append(asyncio.ensure_future(work))

    async def heal(self) -> None:
        """Let all faults that last end, then everything run as it should."""
        await asyncio.gather(*self._tasks)
        simulation = self._simulation
        simulation.cluster.network.weather = None
        simulation.cluster.network.lateness.clear()
        for node_id in simulation.config.node_ids:
            simulation.machine(node_id).disk.slow_down(simulation.config.sync_latency_s_max)
            if simulation.is_up(node_id):
                simulation.cluster.drift(node_id, rate=1.0)
            simulation.start(node_id)
        simulation.restart_failed()

    async def _lasts(self, fault: Fault, low_s: float, high_s: float) -> None:
        async with lasting(self._run, fault):
            await self._actions.last(low_s, high_s)

    # Links

    async def _partition(self) -> None:
        nodes = self._actions.shuffled(self._simulation.config.node_ids)
        side = nodes[: self._random.randrange(1, len(nodes))]
        others = self._actions.others(*side)
        label = f"{sorted(side)} from {others}"
        cut = Cut(both_ways(side, others), kind="partition", label=label)
        await self._lasts(cut, 0.2, 5.0)

    async def _one_way(self) -> None:
        victim = self._actions.victim()
        others = self._actions.others(victim)
        if self._actions.happens(0.3):
            others = [self._actions.one_of(others)]
        links = [(victim, other) for other in others]
        if self._actions.happens(0.5):
            links = [link[::-1] for link in links]
        host = self._actions.host
        label = " ".join(f"{host(source)}>{host(target)}" for source, target in links)
        await self._lasts(Cut(tuple(links), kind="one_way", label=label), 0.2, 5.0)

    async def _ring(self) -> None:
        """Each node hears a neighbour on each side, and nobody else."""
        nodes = self._actions.shuffled(self._simulation.config.node_ids)
        size = len(nodes)
        paths = tuple(
            (one, other)
            for at, one in enumerate(nodes)
            for to, other in enumerate(nodes)
            if (at - to) % size not in (0, 1, size - 1 if size > 3 else 1)
        )
        await self._lasts(Cut(paths, kind="ring", label=str(nodes)), 0.5, 5.0)

    async def _isolate(self) -> None:
        await self._cut_off("isolate", self._actions.victim())

    async def _isolate_controller(self) -> None:
        controller = active_controller(self._simulation.cluster)
        if controller is not None:
            await self._cut_off("isolate_controller", controller)

    async def _cut_off(self, kind: str, victim: int) -> None:
        paths = both_ways([victim], self._actions.others(victim))
        await self._lasts(Cut(paths, kind=kind, label=f"node {victim}"), 0.2, 5.0)

    async def _cut_from_clients(self) -> None:
        """Answers are lost, or requests."""
        victim = self._actions.victim()
        is_deaf = self._actions.happens(0.5)
        paths = one_way([CLIENTS], [victim]) if is_deaf else one_way([victim], [CLIENTS])
        label = f"{self._actions.host(victim)} {'deaf' if is_deaf else 'mute'}"
        await self._lasts(Cut(paths, kind="cut_from_clients", label=label), 0.2, 3.0)

    async def _clog(self) -> None:
        """Two hosts' link holds everything and then delivers."""
        sides: list[Side] = [*self._simulation.config.node_ids, *self._simulation.client_hosts]
        source, target = self._actions.shuffled(sides)[:2]
        label = ">".join(
            one if isinstance(one, str) else self._actions.host(one) for one in (source, target)
        )
        await self._lasts(Delay(((source, target),), kind="clog", label=label), 0.3, 6.0)

    async def _weather(self) -> None:
        weather = Weather(
            loss=self._random.uniform(0, 0.05),
            delay_s_max=self._random.uniform(0.001, 0.2) * self._actions.happens(0.5),
            repeat=self._random.uniform(0, 0.3),
        )
        await self._lasts(BadWeather(self._simulation.cluster.network, weather), 0.5, 4.0)

    # Processes

    async def _pause(self) -> None:
        await self._freeze("pause", self._actions.victim())

    async def _pause_controller(self) -> None:
        controller = active_controller(self._simulation.cluster)
        if controller is not None:
            await self._freeze("pause_controller", controller)

    async def _freeze(self, kind: str, victim: int) -> None:
        fault = Pause(victim, kind=kind)
        async with lasting(self._run, fault):
            if fault.has_struck:
                await self._actions.last(0.2, 6.0)

    async def _kill(self) -> None:
        victim = self._actions.victim()
        if self._simulation.is_up(victim):
            async with lasting(self._run, Kill(victim)):
                await self._actions.stay_down()

    async def _stop(self) -> None:
        async with lasting(self._run, Terminate(self._actions.victim(), kind="stop")):
            await self._actions.stay_down()

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
