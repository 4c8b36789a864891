"""Actions that all faults are made of: the victim, how long it lasts, what may not be done.

It owns the limits: a disk is wiped only while every other voter is up and takes part, so that what
a majority promised is on a majority of intact disks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tidelog.chaos.faults.drawer import Sometimes, Span
from tidelog.core import chance
from tidelog.core.chance import SeededRandom
from tidelog.simulation.raft.linearizability import Operation
from tidelog.simulation.raft.machine import Command
from tidelog.simulation.raft.network import Link
from tidelog.simulation.raft.service import Service
from tidelog.simulation.raft.simulation import RaftSimulation, Voter
from tidelog.v1.raft_pb2 import RaftMessage

DOWN_S = Sometimes(0.3, Span(2.0, 5.0), usual=Span(0.05, 1.5))
CRASH_IN_RECOVERY_PROBABILITY = 0.15
RESTLESS_PROBABILITY = 0.3
FLOOD_ID = 1 << 40
FLOOD_PADDING_CHARACTERS_MAX = 200
NEVER_FOUND = -1

T = TypeVar("T")


class FaultActions:
    """The actions on the simulation of one seed."""

    def __init__(self, simulation: RaftSimulation, random: SeededRandom) -> None:
        self.simulation = simulation
        self.random = random
        self.end_s = 0.0
        """No fault goes on to its next part after this."""
        self._flooded = 0

    def count(self, kind: str, what: str = "") -> None:
        """A fault of this kind strikes."""
        simulation = self.simulation
        simulation.findings.faults[kind] += 1
        simulation.trace.record(simulation.scheduler.now_s, "fault", kind, what)
        simulation.timeline.note("fault", f"{kind} {what}")

    # Whom, and how long

    async def last(self, low_s: float, high_s: float) -> None:
        """Let time pass."""
        await asyncio.sleep(self.random.uniform(low_s, high_s))

    def happens(self, probability: float) -> bool:
        """True if it does this time."""
        return self.random.random() < probability

    def victim(self) -> Voter:
        """The leader every other time, else anyone."""
        leader = self.simulation.leader()
        if leader is not None and self.random.random() < 0.5:
            return leader
        return self.one_of(list(self.simulation.voters.values()))

    def one_of(self, items: list[T]) -> T:
        """Any of them."""
        return chance.one_of(self.random, items)

    def shuffled(self) -> list[int]:
        """The voters' ids in random order."""
        return chance.shuffled(self.random, self.simulation.voters)

    def bare_majority(self, member: int) -> list[int]:
        """This voter and as many others as it takes."""
        others = [node_id for node_id in self.shuffled() if node_id != member]
        return [member, *others[: len(self.simulation.voters) // 2]]

    # Links

    def links(self) -> list[Link]:
        """Every link."""
        voters = self.simulation.voters
        return [(source, target) for source in voters for target in voters if source != target]

    def links_between(self, side: list[int], others: list[int] | None = None) -> list[Link]:
        """Every link from one side to the other (everyone else, if not given) and back."""
        if others is None:
            others = [node_id for node_id in self.simulation.voters if node_id not in side]
        there = [(source, target) for source in side for target in others]
        return there + [link[::-1] for link in there]

    async def cut(self, links: list[Link], low_s: float = 0.1, high_s: float = 4.0) -> None:
        """These carry nothing for a while."""
        self.simulation.network.cut(links)
        await self.last(low_s, high_s)
        self.mend(links)

    def mend(self, links: list[Link]) -> None:
        """Take back one cut."""
        self.simulation.network.mend(links)
        self.simulation.timeline.note("fault", f"{len(links)} links carry again")

    async def hear(
        self,
        wanted: Callable[[RaftMessage], bool],
        *,
        within_s: float,
        at_once: Callable[[RaftMessage], None] = lambda _: None,
    ) -> RaftMessage | None:
        """The first message said that is wanted; `at_once` is called before it is on its way."""
        simulation = self.simulation
        heard: asyncio.Future[RaftMessage] = asyncio.get_running_loop().create_future()

        def finish(message: RaftMessage) -> None:
            if not heard.done():
                heard.set_result(message)

        def listen(message: RaftMessage) -> None:
            if wanted(message):
                simulation.listeners.remove(listen)
                at_once(message)
                simulation.scheduler.deliver(simulation.loop, lambda: finish(message), delay_s=0)

        simulation.listeners.append(listen)
        try:
            async with asyncio.timeout(within_s):
                return await heard
        except TimeoutError:
            return None
        finally:
            if listen in simulation.listeners:
                simulation.listeners.remove(listen)

    # Clients

    def flood(
        self,
        voter: Voter,
        count: int,
        *,
        padding_characters_max: int = FLOOD_PADDING_CHARACTERS_MAX,
    ) -> None:
        """Ask a voter for so many commands at once, none of which changes any value."""
        for _ in range(count):
            self._flooded += 1
            number = FLOOD_ID
            operation = Operation(number, "compare-and-set", 0, 0, value=number)
            padding = "x" * self.random.randrange(0, padding_characters_max)
            command = Command(number, self._flooded, 0, number, True, NEVER_FOUND, padding)
            self._ask(voter, Service(self.simulation, voter, operation, command))

    def _ask(self, voter: Voter, service: Service) -> None:
        loop = voter.loop
        if loop is not None:
            self.simulation.scheduler.deliver(
                loop, lambda: service.begin(loop, lambda _: None), delay_s=0
            )

    # Disks and processes

    def may_wipe(self, victim: Voter) -> bool:
        """True if the others hold all it may have promised, and go on to hear of what is new."""
        if self.simulation.exempt:
            return False
        others = [voter for voter in self.simulation.voters.values() if voter is not victim]
        return not victim.was_rejoining and all(_takes_part(voter) for voter in others)

    def wipe(self, victim: Voter) -> None:
        """It goes down and its disk is lost."""
        self.count("wipe", victim.name)
        self.simulation.wipe(victim)

    async def start_later(self, voter: Voter) -> None:
        """Let it be down for a while; some do not come up at the first attempt."""
        await asyncio.sleep(DOWN_S.draw(self.random))
        if voter.loop is None and self.happens(CRASH_IN_RECOVERY_PROBABILITY):
            self.count("crash_in_recovery", voter.name)
            voter.disk.crash_at(self.random.randrange(1, 12))
            self.simulation.start(voter)
            await self.wait_until_down(voter)
            await self.last(*DOWN_S.usual)
        await self.start(voter)

    async def start(self, voter: Voter) -> None:
        """Start it, some more than once."""
        self.simulation.start(voter)
        while self.happens(RESTLESS_PROBABILITY):
            await self.last(0.005, 0.15)
            self.simulation.kill(voter)
            self.simulation.start(voter)

    async def wait_until_down(self, voter: Voter) -> None:
        """Until what was ordered strikes; not for ever."""
        loop = voter.loop
        for _ in range(20):
            if voter.loop is not loop:
                return
            await self.last(0.05, 0.15)
        voter.disk.faults.heal()


def _takes_part(voter: Voter) -> bool:
    return voter.is_running and not voter.is_rejoining and not voter.was_rejoining
