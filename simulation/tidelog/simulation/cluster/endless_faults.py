"""Faults that exceed what the product waits for: its call deadlines, sessions and elections.

A call's answer is given up long before it comes, the disks of a majority sync more slowly than a
leader may be silent, a read of records takes longer than a session, a process gets so little of its
processor that its timers are seconds late. Each lasts, and strikes beside all other faults of the
storm and its own kind. Owns these kinds and when they strike; a seed uses some of them or none. How
long each may be is data: a test holds the product's time constants against it
(`tests/bounds.toml`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from tidelog.chaos.faults.drawer import Span, strike_repeatedly
from tidelog.chaos.faults.fault import lasting
from tidelog.chaos.faults.nodes import Kill
from tidelog.chaos.faults.slow_disks import SlowDisks
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.core import chance
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster.cluster import DATA_DIRECTORY
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.cluster.inside import active_controller
from tidelog.simulation.engine.network import Lateness

USED_PROBABILITY = 0.5
"""Probability of each kind, in each seed."""
GAP_S = Span(0.5, 4.0)
KILL_PROBABILITY = 0.3
"""Probability of a kill during one of these."""
REFUSED_PROBABILITY = 0.2
"""Probability that links refuse now and then, in each seed."""
REFUSED_S = Span(0.2, 4.0)

LATE_S = Span(0.05, 16.0)
"""Lateness of a message."""
SLOW_SYNC_S = Span(0.2, 3.0)
"""Duration of each sync of a slow majority."""
SLOW_READ_S = Span(0.01, 4.0)
"""Duration of a read of records that are not in memory."""
SLOW_FLUSH_S = Span(0.05, 2.0)
"""Extra duration of a flush of records, and duration of a file's removal."""
STARVED_S = Span(0.2, 3.0)
"""Time a starved process is not stepped, again and again."""
SLICE_S = Span(0.002, 0.05)
"""Time it runs in between."""
STEP_COST_S = Span(0.0001, 0.003)
"""Cost of each callback of a slow processor."""
LASTS_S = Span(1.0, 8.0)
"""Duration of each of these faults."""

SPANS: Mapping[str, Span] = {
    "late_links": LATE_S,
    "late_controller_calls": LATE_S,
    "slow_majority": SLOW_SYNC_S,
    "slow_reads": SLOW_READ_S,
    "slow_flushes": SLOW_FLUSH_S,
    "starved": STARVED_S,
    "slow_processor": STEP_COST_S,
}
"""Range of each kind's delay."""


class EndlessFaults:
    """Strikes beside `Faults`, out of a stream of chance of its own."""

    def __init__(self, actions: FaultActions, random: SeededRandom, run: ScenarioRun) -> None:
        self._actions = actions
        self._run = run
        self._simulation = actions.simulation
        self._random = random
        self.kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "late_links": self._late_links,
            "late_controller_calls": self._late_controller_calls,
            "slow_majority": self._slow_majority,
            "slow_reads": self._slow_reads,
            "slow_flushes": self._slow_flushes,
            "starved": self._starved,
            "slow_processor": self._slow_processor,
        }
        self._used = [name for name in self.kinds if random.random() < USED_PROBABILITY]
        self._of_refusals = random.fork("refused links")
        """Chance of its own, so that it shifts no draw of the others."""
        self._tasks: list[asyncio.Task[None]] = []

    async def strike_until(self, end_s: float) -> None:
        """Strike again and again, sometimes while others last; returns when the last is over."""
        if self._of_refusals.random() < REFUSED_PROBABILITY:
            self._tasks.append(asyncio.ensure_future(self._refuse_links_until(end_s)))
        if self._used:
            await strike_repeatedly(
                self._random,
                self._used,
                self._begin,
                gap=GAP_S,
                is_over=lambda: self._simulation.is_storm_over(end_s),
            )
        await asyncio.gather(*self._tasks)

    async def _begin(self, kind: str) -> None:
        self._tasks.append(asyncio.ensure_future(self.kinds[kind]()))
        if self._random.random() < KILL_PROBABILITY:
            self._tasks.append(asyncio.ensure_future(self._kill()))

    # Links

    async def _late_links(self) -> None:
        """Some messages between some hosts, both ways or one."""
        names = [
            *map(self._actions.host, self._simulation.config.node_ids),
            *self._simulation.client_hosts,
        ]
        links = [(a, b) for a in names for b in names if a != b and self._random.random() < 0.4]
        await self._make_late("late_links", links, probability=self._random.uniform(0.02, 0.5))

    async def _late_controller_calls(self) -> None:
        """Delay brokers' requests to the active controller, or its answers."""
        controller = active_controller(self._simulation.cluster)
        if controller is None:
            return
        host = self._actions.host
        others = self._actions.others(controller)
        links = [(host(other), host(controller)) for other in others]
        if self._random.random() < 0.5:
            links = [link[::-1] for link in links]
        kind = "late_controller_calls"
        await self._make_late(kind, links, probability=self._random.uniform(0.1, 1.0))

    async def _make_late(
        self, kind: str, links: list[tuple[str, str]], *, probability: float
    ) -> None:
        # As often of the order of a round trip as of a session, and of any client's patience.
        high = LATE_S.low * (LATE_S.high / LATE_S.low) ** self._random.random()
        late = Lateness(probability, self._random.uniform(LATE_S.low / 2, high), high)
        self._actions.count(kind, f"{len(links)} links: {late}")
        network = self._simulation.cluster.network
        for link in links:
            network.lateness[link] = late
        await self._last()
        for link in links:
            if network.lateness.get(link) is late:
                del network.lateness[link]

    async def _refuse_links_until(self, end_s: float) -> None:
        """A live node refuses to be connected to: it is fenced by a dial, whatever its session.

        What it sends arrives, or is lost; clients reach it all the while.
        """
        random = self._of_refusals
        while not self._simulation.is_storm_over(end_s):
            await asyncio.sleep(GAP_S.draw(random))
            victim = chance.one_of(random, self._simulation.config.node_ids)
            is_mute = random.random() < 0.5
            self._actions.count("refused_links", f"node {victim}, mute: {is_mute}")
            with self._actions.refusing(victim, is_mute=is_mute):
                await asyncio.sleep(REFUSED_S.draw(random))

    # Disks

    async def _slow_majority(self) -> None:
        """Every disk of a majority of the controllers at once, perhaps all disks there are."""
        config = self._simulation.config
        voters = self._shuffled(config.controller_ids)
        slow = voters[: len(voters) // 2 + 1]
        if self._random.random() < 0.5:
            slow = list(config.node_ids)
        latency_s = self._draw(SLOW_SYNC_S)
        label = f"nodes {sorted(slow)}: {latency_s:.3f} s a sync"
        disks = SlowDisks(slow, latency_s, kind="slow_majority", label=label)
        async with lasting(self._run, disks):
            await self._last()

    async def _slow_reads(self) -> None:
        """Records are not in memory: a read waits for the disk, and may hold up no other.

        Those of one replica, or of all of its topic on its node; all reads, or some.
        """
        found = self._actions.a_partition()
        if found is None:
            return
        topic, state = found
        victim = chance.one_of(self._random, state.replicas)
        if state.leader_id is not None and self._random.random() < 0.5:
            victim = state.leader_id
        is_topic = self._random.random() < 0.5
        prefix = f"{DATA_DIRECTORY}/{topic}-" + ("" if is_topic else f"{state.partition}/")
        # As often of the order of a sync as of a session.
        high = SLOW_READ_S.low * (SLOW_READ_S.high / SLOW_READ_S.low) ** self._random.random()
        latency_s = self._random.uniform(SLOW_READ_S.low, high)
        every = self._random.randrange(1, 4)
        what = f"node {victim} {prefix}: {latency_s:.3f} s, 1 of {every}"
        self._actions.count("slow_reads", what)
        faults = self._simulation.machine(victim).disk.faults
        faults.slow_reads(prefix, latency_s, every=every)
        await self._last()
        faults.quick_reads(prefix)

    async def _slow_flushes(self) -> None:
        """The metadata log's syncs take no longer: they wait behind none of these."""
        victims = self._victims()
        flush_s, removal_s = self._draw(SLOW_FLUSH_S), self._draw(SLOW_FLUSH_S)
        what = f"nodes {victims}: {flush_s:.3f} s more a flush, {removal_s:.3f} s a removal"
        self._actions.count("slow_flushes", what)
        for victim in victims:
            disk = self._simulation.machine(victim).disk
            disk.slow_down_records(flush_delay_s=flush_s, removal_latency_s=removal_s)
        await self._last()
        for victim in victims:
            disk = self._simulation.machine(victim).disk
            disk.slow_down_records(flush_delay_s=0.0, removal_latency_s=0.0)

    # Processors

    async def _starved(self) -> None:
        """Processes that are stepped for a moment, then not at all, again and again."""
        victims = self._victims()
        self._actions.count("starved", f"nodes {victims}")
        lasts_s = self._draw(LASTS_S)
        await asyncio.gather(*(self._starve(victim, lasts_s) for victim in victims))

    async def _starve(self, victim: int, lasts_s: float) -> None:
        end_s = self._simulation.now_s + lasts_s
        while self._simulation.now_s < end_s:
            gap_s, slice_s = self._draw(STARVED_S), self._draw(SLICE_S)
            await self._actions.pause(victim, gap_s, gap_s)
            await asyncio.sleep(slice_s)

    async def _slow_processor(self) -> None:
        """Every callback takes its time, so that what is ready waits in a queue."""
        victims = self._victims()
        cost_s = self._draw(STEP_COST_S)
        self._actions.count("slow_processor", f"nodes {victims}: {cost_s:.5f} s a step")
        hosts = [self._simulation.machine(victim).host for victim in victims]
        for host in hosts:
            if host is not None:
                host.loop.step_cost_s = cost_s
        await self._last()
        for host in hosts:
            if host is not None:
                host.loop.step_cost_s = 0.0

    def _victims(self) -> list[int]:
        """Draw a node, some, or every node."""
        nodes = self._shuffled(self._simulation.config.node_ids)
        return sorted(nodes[: self._random.randrange(1, len(nodes) + 1)])

    async def _kill(self) -> None:
        """In the midst of it."""
        await asyncio.sleep(self._random.uniform(0.0, 2.0))
        victim = self._actions.one_of(self._simulation.config.node_ids)
        if self._simulation.is_up(victim):
            async with lasting(self._run, Kill(victim, kind="kill_amidst")):
                await self._actions.stay_down()

    # Chance

    def _draw(self, span: Span) -> float:
        return span.draw(self._random)

    async def _last(self) -> None:
        await asyncio.sleep(self._draw(LASTS_S))

    def _shuffled(self, items: tuple[int, ...]) -> list[int]:
        return chance.shuffled(self._random, items)
