"""The faults of the Raft suite: which there are, and when each strikes whom, all from the seed.

It owns the kinds, their lengths and their limits: a disk is wiped only while every other voter is
up and takes part, so that what a majority promised is on a majority of intact disks. A seed uses
some of the kinds and leaves others out (swarm testing), so that each kind also strikes alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.chaos.sim_raft.network import Link, Weather
from tidelog.chaos.sim_raft.world import DIRECTORY, WAL_PATH, Voter, World
from tidelog.chaos.sim_stage.clock import SimRandom

KINDS_USED_MIN = 4
PAUSE_S_MIN, PAUSE_S_MAX = 0.1, 1.3
DOWN_S_MIN, DOWN_S_MAX = 0.05, 1.5
LONG_DOWN_PROBABILITY = 0.3
LONG_DOWN_S_MIN, LONG_DOWN_S_MAX = 2.0, 5.0
CRASH_IN_RECOVERY_PROBABILITY = 0.15


class Faults:
    """Strikes until `stop`; then `heal` takes all back."""

    def __init__(self, world: World, random: SimRandom, *, can_wipe: bool) -> None:
        self._world = world
        self._random = random
        self._can_wipe = can_wipe
        self._kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "partition": self._partition,
            "shift": self._shift,
            "one_way": self._one_way,
            "isolate": self._isolate,
            "storm": self._storm,
            "pause": self._pause,
            "kill": self._kill,
            "crash": self._crash,
            "crash_at_write": self._crash_at_write,
            "kill_at_write": self._kill_at_write,
            "restart_all": self._restart_all,
            "slow_disk": self._slow_disk,
            "disk_error": self._disk_error,
            "disk_full": self._disk_full,
            "clock_drift": self._clock_drift,
        }
        if can_wipe:
            self._kinds["wipe"] = self._wipe
        self._used = self._draw_kinds()
        self._used += [kind for kind in ("shift", "wipe") if kind in self._used]  # rarer by nature
        self._tasks: list[asyncio.Task[None]] = []
        self._is_shifting = False
        self._end_s = 0.0

    async def strike_until(self, end_s: float) -> None:
        """One fault after another, some while others last; on the world's loop."""
        self._end_s = end_s
        while self._world.scheduler.now_s < end_s and not self._world.findings.violations:
            await asyncio.sleep(self._random.uniform(PAUSE_S_MIN, PAUSE_S_MAX))
            kind = self._used[self._random.randrange(0, len(self._used))]
            self._tasks = [task for task in self._tasks if not task.done()]
            self._tasks.append(asyncio.create_task(self._strike(kind), name=kind))

    async def heal(self) -> None:
        """Let all faults that last end, then let every voter run."""
        await asyncio.gather(*self._tasks)
        for voter in self._world.voters.values():
            voter.disk.faults.heal()
            voter.disk.capacity_bytes = None
            voter.has_disk_error = False
            self._world.resume(voter)
            self._world.start(voter)

    def _draw_kinds(self) -> list[str]:
        left = list(self._kinds)
        count = self._random.randrange(KINDS_USED_MIN, len(left) + 1)
        return [left.pop(self._random.randrange(0, len(left))) for _ in range(count)]

    async def _strike(self, kind: str) -> None:
        await self._kinds[kind]()

    def _count(self, kind: str, what: str = "") -> None:
        world = self._world
        world.findings.faults[kind] += 1
        world.trace.record(world.scheduler.now_s, "fault", kind, what)
        world.timeline.note("fault", f"{kind} {what}")

    # Links

    async def _partition(self) -> None:
        voters = self._shuffled()
        side = voters[: self._random.randrange(1, len(voters))]
        self._count("partition", f"{sorted(side)} from the others")
        await self._cut(self._links_between(side))

    async def _shift(self) -> None:
        """Bare majorities that overlap in one voter, which something happens to in between.

        What the first one committed or voted, the second knows from that voter alone.
        """
        for _ in range(self._random.randrange(1, 4)):
            if self._is_shifting or self._world.scheduler.now_s > self._end_s:
                return
            self._is_shifting = True
            first = self._bare_majority(self._victim().node_id)
            overlap = first[self._random.randrange(0, len(first))]
            second = [node_id for node_id in self._world.voters if node_id not in first]
            self._count("shift", f"{sorted(first)}, then {sorted([overlap, *second])}")
            await self._cut(self._links_between(first), 0.2, 1.5)
            struck = asyncio.create_task(self._strike_overlap(self._world.voters[overlap]))
            await self._cut(self._links_between([overlap, *second]), 0.5, 2.5)
            await struck
            self._is_shifting = False

    async def _strike_overlap(self, voter: Voter) -> None:
        match self._random.randrange(0, 5):
            case 0:
                self._world.kill(voter)
            case 1 | 2:
                self._world.crash(voter)
            case 3 if self._may_wipe(voter):
                self._count("wipe", voter.name)
                self._world.wipe(voter)
        await self._last(0.0, 0.3)
        self._world.start(voter)

    def _bare_majority(self, member: int) -> list[int]:
        others = [node_id for node_id in self._shuffled() if node_id != member]
        return [member, *others[: len(self._world.voters) // 2]]

    def _links_between(self, side: list[int]) -> list[Link]:
        """All links from one side to the other and back."""
        return [link for link in self._links() if (link[0] in side) != (link[1] in side)]

    async def _isolate(self) -> None:
        victim = self._victim().node_id
        self._count("isolate", f"n{victim}")
        await self._cut([link for link in self._links() if victim in link])

    async def _one_way(self) -> None:
        victim = self._victim().node_id
        others = [node_id for node_id in self._world.voters if node_id != victim]
        match self._random.randrange(0, 3):
            case 0:
                links = [(victim, other) for other in others]
            case 1:
                links = [(other, victim) for other in others]
            case _:
                links = [(victim, others[self._random.randrange(0, len(others))])]
        self._world.findings.coverage["one_way"] += 1
        self._count("one_way", " ".join(f"n{source}>n{target}" for source, target in links))
        await self._cut(links)

    async def _cut(self, links: list[Link], low_s: float = 0.1, high_s: float = 4.0) -> None:
        self._world.network.cut(links)
        await self._last(low_s, high_s)
        self._world.network.mend(links)
        self._world.timeline.note("fault", f"{len(links)} links carry again")

    async def _storm(self) -> None:
        network = self._world.network
        weather = Weather(
            loss=self._random.uniform(0, 0.25),
            repeat=self._random.uniform(0, 0.3),
            delay_s_max=self._random.uniform(0.002, 0.6),
        )
        self._count("storm", str(weather))
        network.weather = weather
        await self._last(0.3, 3.0)
        if network.weather is weather:
            network.weather = Weather()
            self._world.timeline.note("fault", "the storm is over")

    # Processes

    async def _pause(self) -> None:
        victim = self._victim()
        if not victim.is_running:
            return
        self._count("pause", victim.name)
        self._world.findings.coverage["pauses"] += 1
        self._world.pause(victim)
        await self._last(0.05, 3.0)
        self._world.resume(victim)

    async def _kill(self) -> None:
        victim = self._victim()
        if victim.loop is not None:
            self._count("kill", victim.name)
            self._world.kill(victim)
            await self._start_later(victim)

    async def _crash(self) -> None:
        victim = self._victim()
        if victim.loop is not None:
            self._count("crash", victim.name)
            self._world.crash(victim)
            await self._start_later(victim)

    async def _crash_at_write(self) -> None:
        victim = self._victim()
        if victim.loop is not None:
            number = self._random.randrange(1, 60)
            self._count("crash_at_write", f"{victim.name}, operation {number} from now")
            victim.disk.crash_at(number)
            await self._wait_until_down(victim)
            await self._start_later(victim)

    async def _kill_at_write(self) -> None:
        victim = self._victim()
        if victim.loop is not None:
            number = self._random.randrange(1, 60)
            self._count("kill_at_write", f"{victim.name}, operation {number} from now")
            victim.disk.kill_at(number)
            await self._wait_until_down(victim)
            await self._start_later(victim)

    async def _restart_all(self) -> None:
        is_lossy = self._random.random() < 0.5
        self._count("restart_all", "power" if is_lossy else "kill -9")
        for voter in self._world.voters.values():
            if voter.loop is not None:
                (self._world.crash if is_lossy else self._world.kill)(voter)
        for node_id in self._shuffled():
            await self._last(0.0, 0.3)
            self._world.start(self._world.voters[node_id])

    async def _wipe(self) -> None:
        victim = self._victim()
        if self._may_wipe(victim):
            self._count("wipe", victim.name)
            self._world.wipe(victim)
            await self._start_later(victim)

    def _may_wipe(self, victim: Voter) -> bool:
        others = [voter for voter in self._world.voters.values() if voter is not victim]
        return (
            self._can_wipe
            and not victim.was_rejoining
            and all(self._takes_part(voter) for voter in others)
        )

    def _takes_part(self, voter: Voter) -> bool:
        return voter.is_running and not voter.is_rejoining and not voter.was_rejoining

    async def _start_later(self, voter: Voter) -> None:
        if self._random.random() < LONG_DOWN_PROBABILITY:
            await self._last(LONG_DOWN_S_MIN, LONG_DOWN_S_MAX)
        else:
            await self._last(DOWN_S_MIN, DOWN_S_MAX)
        if voter.loop is None and self._random.random() < CRASH_IN_RECOVERY_PROBABILITY:
            self._count("crash_in_recovery", voter.name)
            voter.disk.crash_at(self._random.randrange(1, 12))
            self._world.start(voter)
            await self._wait_until_down(voter)
            await self._last(DOWN_S_MIN, DOWN_S_MAX)
        self._world.start(voter)

    async def _wait_until_down(self, voter: Voter) -> None:
        loop = voter.loop
        for _ in range(20):
            if voter.loop is not loop:
                return
            await self._last(0.05, 0.15)
        voter.disk.faults.heal()

    # Machines

    async def _slow_disk(self) -> None:
        victim = self._victim()
        latency_s = self._random.uniform(0.02, 0.7)
        self._count("slow_disk", f"{victim.name}: {latency_s:.3f} s a sync")
        victim.disk.slow_down(latency_s)
        await self._last(0.5, 4.0)
        victim.disk.slow_down(self._random.uniform(0.0001, self._world.config.sync_latency_s_max))

    async def _disk_error(self) -> None:
        victim = self._victim()
        if victim.is_running and not victim.has_disk_error:
            self._count("disk_error", victim.name)
            victim.has_disk_error = True
            path = (WAL_PATH, DIRECTORY)[self._random.randrange(0, 2)]
            victim.disk.faults.fail("sync", path, spared=self._random.randrange(0, 10), count=1)
            await self._wait_until_down(victim)
            victim.disk.faults.heal()
            victim.has_disk_error = False
            await self._start_later(victim)

    async def _disk_full(self) -> None:
        """Someone else fills the disk: no snapshot fits, and no log beyond its reserve."""
        victim = self._victim()
        if not victim.has_disk_error:
            self._count("disk_full", victim.name)
            victim.has_disk_error = True
            room_bytes = self._random.randrange(0, 8192)
            victim.disk.capacity_bytes = victim.disk.used_bytes() + room_bytes
            await self._last(0.3, 4.0)
            victim.disk.capacity_bytes = None
            victim.has_disk_error = False
            self._world.start(victim)

    async def _clock_drift(self) -> None:
        victim = self._victim()
        rate = self._random.uniform(0.6, 1.6)
        self._count("clock_drift", f"{victim.name}: {rate:.2f}")
        self._world.drift(victim, rate)

    # Draws

    async def _last(self, low_s: float, high_s: float) -> None:
        await asyncio.sleep(self._random.uniform(low_s, high_s))

    def _victim(self) -> Voter:
        """The leader every other time, else anyone."""
        leader = self._world.leader()
        if leader is not None and self._random.random() < 0.5:
            return leader
        voters = list(self._world.voters.values())
        return voters[self._random.randrange(0, len(voters))]

    def _shuffled(self) -> list[int]:
        left = list(self._world.voters)
        return [left.pop(self._random.randrange(0, len(left))) for _ in range(len(left))]

    def _links(self) -> list[Link]:
        voters = self._world.voters
        return [(source, target) for source in voters for target in voters if source != target]
