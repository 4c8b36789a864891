"""Faults of the whole quorum at once: slow disks, lost CPU, late messages, alone and together.

They exceed every time-out a voter has: a sync takes up to two seconds, a message or a step up to
three. Nobody dies, so afterwards, and mostly meanwhile, the quorum goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.simulation.raft.fault_actions import FaultActions
from tidelog.simulation.raft.network import Weather
from tidelog.simulation.raft.simulation import WAL_PATH, Voter

SYNC_S_MIN, SYNC_S_MAX = 0.2, 2.0
ABSENT_S_MIN, ABSENT_S_MAX = 0.2, 3.0
DELAY_S_MIN, DELAY_S_MAX = 0.6, 3.0
LASTS_S_MIN, LASTS_S_MAX = 2.0, 6.0
CRASH_PROBABILITY = 0.6


class Overload:
    """`kinds` by name."""

    def __init__(self, actions: FaultActions) -> None:
        self._actions = actions
        self._simulation = actions.simulation
        self.kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "slow_majority": self._slow_majority,
            "starved": self._starved,
            "late_messages": self._late_messages,
            "overload": self._overload,
            "failed_sync": self._failed_sync,
        }

    async def _slow_majority(self) -> None:
        """The disks of all, or of a majority, take 0.2 to 2 s a sync; power may go meanwhile."""
        actions, simulation = self._actions, self._simulation
        everyone = list(simulation.voters.values())
        victims = everyone if actions.happens(0.5) else self._majority()
        latency_s = actions.random.uniform(SYNC_S_MIN, SYNC_S_MAX)
        actions.count("slow_majority", f"{[voter.name for voter in victims]}: {latency_s:.2f} s")
        for voter in victims:
            voter.disk.slow_down(latency_s * actions.random.uniform(0.5, 1.0))
        end_s = simulation.scheduler.now_s + actions.random.uniform(LASTS_S_MIN, LASTS_S_MAX)
        while simulation.scheduler.now_s < end_s:
            await actions.last(0.2, 1.5)
            if actions.happens(CRASH_PROBABILITY):
                victim = actions.victim()
                actions.flood(victim, actions.random.randrange(1, 40))
                await actions.last(0.0, 0.3)
                await self._crash(victim)  # most likely within a sync of many sectors
        for voter in everyone:
            voter.disk.slow_down(
                actions.random.uniform(0.0001, simulation.config.sync_latency_s_max)
            )

    async def _starved(self) -> None:
        """Some voters, perhaps all, get no CPU for 0.2 to 3 s, again and again."""
        actions, simulation = self._actions, self._simulation
        victims = list(simulation.voters.values()) if actions.happens(0.5) else [actions.victim()]
        actions.count("starved", f"{[voter.name for voter in victims]}")
        end_s = simulation.scheduler.now_s + actions.random.uniform(LASTS_S_MIN, LASTS_S_MAX)
        await asyncio.gather(*(self._starve(voter, end_s) for voter in victims))

    async def _starve(self, voter: Voter, end_s: float) -> None:
        while self._simulation.scheduler.now_s < end_s:
            await self._actions.last(0.01, 0.3)
            if voter.is_running:
                self._simulation.pause(voter)
                await self._actions.last(ABSENT_S_MIN, ABSENT_S_MAX)
                self._simulation.resume(voter)

    async def _late_messages(self) -> None:
        """Messages take longer than all time-outs."""
        actions, network = self._actions, self._simulation.network
        weather = Weather(delay_s_max=actions.random.uniform(DELAY_S_MIN, DELAY_S_MAX))
        actions.count("late_messages", f"{weather.delay_s_max:.2f} s")
        network.weather = weather
        await actions.last(LASTS_S_MIN, LASTS_S_MAX)
        if network.weather is weather:
            network.weather = Weather()

    async def _overload(self) -> None:
        """Overload a leader in every way at once."""
        self._actions.count("overload")
        await asyncio.gather(self._slow_majority(), self._starved(), self._late_messages())

    async def _failed_sync(self) -> None:
        """A sync of the log fails, the process is started again, and then the machine loses power.

        What the failed sync covered was in memory alone, and the new process read it there.
        """
        actions, simulation = self._actions, self._simulation
        for _ in range(actions.random.randrange(1, 4)):
            victim = actions.victim()
            if victim.is_running and not victim.has_disk_error:
                actions.count("failed_sync", victim.name)
                victim.has_disk_error = True
                spared = actions.random.randrange(0, 3)
                victim.disk.faults.fail("sync", WAL_PATH, spared=spared, count=1)
                actions.flood(victim, actions.random.randrange(1, 20))
                await actions.wait_until_down(victim)
                victim.disk.faults.heal()
                victim.has_disk_error = False
                simulation.start(victim)
                await actions.last(0.05, 0.6)
                await self._crash(victim)
            await actions.last(0.1, 0.5)

    async def _crash(self, voter: Voter) -> None:
        if voter.loop is not None:
            self._actions.count("crash", voter.name)
            self._simulation.crash(voter)
            await self._actions.last(0.0, 0.3)
        self._simulation.start(voter)

    def _majority(self) -> list[Voter]:
        node_ids = self._actions.bare_majority(self._actions.victim().node_id)
        return [self._simulation.voters[node_id] for node_id in node_ids]
