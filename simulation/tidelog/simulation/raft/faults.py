"""The faults of the Raft suite: which there are, and when each strikes whom, all from the seed.

It owns the kinds that need only the clock, and their lengths; `election_faults` and `overload` have
the others. A seed uses some of the kinds and leaves others out (swarm testing), so that each also
strikes alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.chaos.faults.drawer import (
    Kind,
    Plan,
    Span,
    strike_repeatedly,
    weighted,
)
from tidelog.core.chance import SeededRandom, one_of
from tidelog.simulation.raft.election_faults import ElectionFaults
from tidelog.simulation.raft.fault_actions import FaultActions
from tidelog.simulation.raft.network import Weather
from tidelog.simulation.raft.overload import Overload
from tidelog.simulation.raft.simulation import DIRECTORY, WAL_PATH, RaftSimulation, Voter

PLAN = Plan(kinds_min=4, kinds_max=None, gap=Span(0.1, 1.3))
OFTEN = 3
"""Weight of a kind that needs more than one thing to go wrong."""
FOCUS = (
    "fall_of_leaders",
    "relapse",
    "struck_at_vote",
    "hoard",
    "fall_of_leaders",
    "failed_sync",
    "relapse",
    "wiped_at_election",
    "slow_majority",
    "overload",
)
"""Two of three seeds use one of these, in turn, and few others: they need most to go right."""
FOCUS_OTHERS_MAX = 2
LAST_WIPE_PROBABILITY = 0.3

Act = Callable[[], Awaitable[None]]


class Faults:
    """Strikes until `stop`; then `heal` takes all back."""

    def __init__(self, simulation: RaftSimulation, random: SeededRandom, *, seed: int) -> None:
        self._simulation = simulation
        self._random = random
        self._actions = FaultActions(simulation, random)
        acts = ElectionFaults(self._actions).kinds | Overload(self._actions).kinds
        self._alone: dict[str, Kind[Act]] = {
            name: Kind(name, act, weight=OFTEN) for name, act in acts.items()
        }
        wipe: Kind[Act] = Kind("wipe", self._wipe, weight=OFTEN)
        table = [*self._rows(), *self._alone.values(), wipe]
        self._used = weighted(self._draw_kinds(table, seed))
        self._tasks: list[asyncio.Task[None]] = []
        self._is_shifting = False

    def _rows(self) -> list[Kind[Act]]:
        return [
            Kind("partition", self._partition),
            Kind("shift", self._shift, weight=OFTEN),
            Kind("one_way", self._one_way),
            Kind("isolate", self._isolate),
            Kind("storm", self._storm),
            Kind("pause", self._pause),
            Kind("kill", self._kill),
            Kind("crash", self._crash),
            Kind("crash_at_write", self._crash_at_write),
            Kind("kill_at_write", self._kill_at_write),
            Kind("kill_at_rename", self._kill_at_rename),
            Kind("restart_all", self._restart_all),
            Kind("slow_disk", self._slow_disk),
            Kind("disk_error", self._disk_error),
            Kind("disk_full", self._disk_full),
            Kind("clock_drift", self._clock_drift),
        ]

    async def strike_until(self, end_s: float) -> None:
        """Strike again and again, sometimes while other faults last; on the simulation's loop."""
        self._actions.end_s = end_s
        simulation = self._simulation
        await strike_repeatedly(
            self._random,
            self._used,
            self._begin,
            gap=PLAN.gap,
            is_over=lambda: (
                simulation.scheduler.now_s >= end_s or bool(simulation.findings.violations)
            ),
        )

    async def _begin(self, kind: Kind[Act]) -> None:
        self._tasks = [task for task in self._tasks if not task.done()]
        task = asyncio.create_task(self._strike(kind), name=kind.name)
        self._tasks.append(task)
        if kind.name in self._alone:
            await task  # it needs the others' good health

    async def heal(self) -> None:
        """Let all faults that last end, then let every voter run."""
        await asyncio.gather(*self._tasks)
        for voter in self._simulation.voters.values():
            voter.disk.faults.heal()
            voter.disk.capacity_bytes = None
            voter.has_disk_error = False
            self._simulation.resume(voter)
            self._simulation.start(voter)
        if self._actions.happens(LAST_WIPE_PROBABILITY):
            await self._wipe_last()

    async def _wipe_last(self) -> None:
        """When nothing else happens any more, a follower with a new disk gets everything back."""
        await self._actions.last(1.0, 2.0)
        leader = self._simulation.leader()
        followers = [voter for voter in self._simulation.voters.values() if voter is not leader]
        victim = self._actions.one_of(followers)
        if leader is not None and self._actions.may_wipe(victim):
            self._actions.wipe(victim)
            await self._actions.last(0.0, 0.3)
            self._simulation.start(victim)

    def _draw_kinds(self, table: list[Kind[Act]], seed: int) -> list[Kind[Act]]:
        alone = self._alone.get(FOCUS[seed % len(FOCUS)])
        if seed % 3 and alone is not None:
            others = self._random.randrange(0, FOCUS_OTHERS_MAX + 1)
            return [alone] + [one_of(self._random, table) for _ in range(others)]
        return list(PLAN.draw_kinds(self._random, table))

    async def _strike(self, kind: Kind[Act]) -> None:
        await kind.draw()

    # Links

    async def _partition(self) -> None:
        voters = self._actions.shuffled()
        side = voters[: self._random.randrange(1, len(voters))]
        self._actions.count("partition", f"{sorted(side)} from the others")
        await self._actions.cut(self._actions.links_between(side))

    async def _shift(self) -> None:
        """Bare majorities that overlap in one voter, which something happens to in between.

        What the first one committed or voted, the second knows from that voter alone.
        """
        for _ in range(self._random.randrange(1, 4)):
            if self._is_shifting or self._simulation.scheduler.now_s > self._actions.end_s:
                return
            self._is_shifting = True
            first = self._actions.bare_majority(self._actions.victim().node_id)
            overlap = first[self._random.randrange(0, len(first))]
            second = [node_id for node_id in self._simulation.voters if node_id not in first]
            self._actions.count("shift", f"{sorted(first)}, then {sorted([overlap, *second])}")
            await self._actions.cut(self._actions.links_between(first), 0.2, 1.5)
            struck = asyncio.create_task(self._strike_overlap(self._simulation.voters[overlap]))
            await self._actions.cut(self._actions.links_between([overlap, *second]), 0.5, 2.5)
            await struck
            self._is_shifting = False

    async def _strike_overlap(self, voter: Voter) -> None:
        match self._random.randrange(0, 5):
            case 0:
                self._simulation.kill(voter)
            case 1 | 2:
                self._simulation.crash(voter)
            case 3 if self._actions.may_wipe(voter):
                self._actions.wipe(voter)
        await self._actions.last(0.0, 0.3)
        self._simulation.start(voter)

    async def _isolate(self) -> None:
        victim = self._actions.victim().node_id
        self._actions.count("isolate", f"n{victim}")
        await self._actions.cut([link for link in self._actions.links() if victim in link])

    async def _one_way(self) -> None:
        victim = self._actions.victim().node_id
        others = [node_id for node_id in self._simulation.voters if node_id != victim]
        match self._random.randrange(0, 3):
            case 0:
                links = [(victim, other) for other in others]
            case 1:
                links = [(other, victim) for other in others]
            case _:
                links = [(victim, others[self._random.randrange(0, len(others))])]
        self._simulation.findings.coverage["one_way"] += 1
        self._actions.count("one_way", " ".join(f"n{source}>n{target}" for source, target in links))
        await self._actions.cut(links)

    async def _storm(self) -> None:
        network = self._simulation.network
        weather = Weather(
            loss=self._random.uniform(0, 0.25),
            repeat=self._random.uniform(0, 0.3),
            delay_s_max=self._random.uniform(0.002, 0.6),
            echo=self._random.uniform(0, 0.2) * self._actions.happens(0.5),
        )
        self._actions.count("storm", str(weather))
        network.weather = weather
        await self._actions.last(0.3, 3.0)
        if network.weather is weather:
            network.weather = Weather()
            self._simulation.timeline.note("fault", "the storm is over")

    # Processes

    async def _pause(self) -> None:
        victim = self._actions.victim()
        if not victim.is_running:
            return
        self._actions.count("pause", victim.name)
        self._simulation.findings.coverage["pauses"] += 1
        self._simulation.pause(victim)
        await self._actions.last(0.05, 3.0)
        self._simulation.resume(victim)

    async def _kill(self) -> None:
        victim = self._actions.victim()
        if victim.loop is not None:
            self._actions.count("kill", victim.name)
            self._simulation.kill(victim)
            await self._actions.start_later(victim)

    async def _crash(self) -> None:
        victim = self._actions.victim()
        if victim.loop is not None:
            self._actions.count("crash", victim.name)
            self._simulation.crash(victim)
            await self._actions.start_later(victim)

    async def _crash_at_write(self) -> None:
        victim = self._actions.victim()
        if victim.loop is not None:
            number = self._random.randrange(1, 60)
            self._actions.count("crash_at_write", f"{victim.name}, operation {number} from now")
            victim.disk.crash_at(number)
            await self._actions.wait_until_down(victim)
            await self._actions.start_later(victim)

    async def _kill_at_write(self) -> None:
        victim = self._actions.victim()
        if victim.loop is not None:
            number = self._random.randrange(1, 60)
            self._actions.count("kill_at_write", f"{victim.name}, operation {number} from now")
            victim.disk.kill_at(number)
            await self._actions.wait_until_down(victim)
            await self._actions.start_later(victim)

    async def _kill_at_rename(self) -> None:
        """The process ends when the log has its name, the machine when that was relied on."""
        victim = self._actions.victim()
        if victim.loop is not None:
            self._actions.count("kill_at_rename", victim.name)
            victim.disk.kill_at_rename(WAL_PATH)
            for _ in range(3):
                if victim.loop is not None:
                    self._actions.flood(victim, self._random.randrange(1, 40))
                    await self._actions.last(0.0, 0.5)
            await self._actions.wait_until_down(victim)
            await self._actions.last(0.0, 0.1)
            await self._actions.start(victim)
            await self._actions.last(0.02, 0.6)
            self._simulation.crash(victim)
            await self._actions.start_later(victim)

    async def _restart_all(self) -> None:
        is_lossy = self._random.random() < 0.5
        self._actions.count("restart_all", "power" if is_lossy else "kill -9")
        for voter in self._simulation.voters.values():
            if voter.loop is not None:
                (self._simulation.crash if is_lossy else self._simulation.kill)(voter)
        for node_id in self._actions.shuffled():
            await self._actions.last(0.0, 0.3)
            self._simulation.start(self._simulation.voters[node_id])

    async def _wipe(self) -> None:
        victim = self._actions.victim()
        if self._actions.may_wipe(victim):
            self._actions.wipe(victim)
            await self._actions.start_later(victim)

    # Machines

    async def _slow_disk(self) -> None:
        victim = self._actions.victim()
        latency_s = self._random.uniform(0.02, 0.7)
        self._actions.count("slow_disk", f"{victim.name}: {latency_s:.3f} s a sync")
        victim.disk.slow_down(latency_s)
        await self._actions.last(0.5, 4.0)
        victim.disk.slow_down(
            self._random.uniform(0.0001, self._simulation.config.sync_latency_s_max)
        )

    async def _disk_error(self) -> None:
        victim = self._actions.victim()
        if victim.is_running and not victim.has_disk_error:
            self._actions.count("disk_error", victim.name)
            victim.has_disk_error = True
            path = (WAL_PATH, DIRECTORY)[self._random.randrange(0, 2)]
            victim.disk.faults.fail("sync", path, spared=self._random.randrange(0, 10), count=1)
            await self._actions.wait_until_down(victim)
            victim.disk.faults.heal()
            victim.has_disk_error = False
            await self._actions.start_later(victim)

    async def _disk_full(self) -> None:
        """Someone else fills the disk: no snapshot fits, and no log beyond its reserve."""
        victim = self._actions.victim()
        if not victim.has_disk_error:
            self._actions.count("disk_full", victim.name)
            victim.has_disk_error = True
            room_bytes = self._random.randrange(0, 8192)
            victim.disk.capacity_bytes = victim.disk.used_bytes() + room_bytes
            await self._actions.last(0.3, 4.0)
            victim.disk.capacity_bytes = None
            victim.has_disk_error = False
            self._simulation.start(victim)

    async def _clock_drift(self) -> None:
        victim = self._actions.victim()
        rate = self._random.uniform(0.6, 1.6)
        self._actions.count("clock_drift", f"{victim.name}: {rate:.2f}")
        self._simulation.drift(victim, rate)
