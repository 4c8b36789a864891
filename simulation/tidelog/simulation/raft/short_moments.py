"""Storms of moments so short that other storms meet each of them once in many seeds.

Every fifth seed or so (`LAST_DIGITS`) has such a storm in place of the usual one: one fault after
another waits for a moment, between two messages or within a sync, and does what may happen there.
They have randomness of their own, and a client that asks in just that moment. None knows what the
product would do wrong, and nobody dies but by a power cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from tidelog.core.chance import SeededRandom
from tidelog.simulation.raft.chosen_leaders import ELECTION_S_MAX, ChosenLeaders
from tidelog.simulation.raft.fault_actions import FaultActions
from tidelog.simulation.raft.late_words import LateWords
from tidelog.simulation.raft.network import Link
from tidelog.simulation.raft.simulation import WAL_PATH, RaftSimulation, Voter
from tidelog.simulation.raft.workload import KEYS, Client
from tidelog.v1.raft_pb2 import RaftMessage

LAST_DIGITS = (1, 4)
"""Last digits of the seeds that wait for short moments."""
SLOW_S_MIN, SLOW_S_MAX = 0.25, 0.6
"""A sync while a new leader's first entry is on its way."""
TORN_S_MIN, TORN_S_MAX = 0.05, 0.2
"""A sync in which the power goes."""
TORN_SECTORS_MIN = 3
COMMANDS_MIN, COMMANDS_MAX = 4, 12
COMMAND_CHARACTERS_MAX = 2000
SLEEPY_RATE = 0.5
"""Rate of a leader's clock that is to believe for longer that it leads."""


def waits_for_moments(seed: int) -> bool:
    """True if a seed's storm is one of short moments."""
    return seed % 10 in LAST_DIGITS


class ShortMoments:
    """Strikes as `Faults` does, which heals afterwards."""

    def __init__(
        self, simulation: RaftSimulation, random: SeededRandom, witness: Client, *, seed: int
    ) -> None:
        self.are_awaited = waits_for_moments(seed)
        self._simulation = simulation
        self._random = random
        self._witness = witness
        self._actions = FaultActions(simulation, random)
        self._leaders = ChosenLeaders(self._actions)
        late = LateWords(self._actions, self._leaders, witness)
        self.kinds: dict[str, Callable[[], Awaitable[None]]] = {
            **late.kinds,
            "early_reads": self._early_reads,
            "overslept": self._overslept,
            "own_term_withheld": self._own_term_withheld,
            "torn_syncs": self._torn_syncs,
        }

    async def strike_until(self, end_s: float) -> None:
        """Each kind once, then each again, in any order; on the simulation's loop."""
        self._actions.end_s = end_s
        left: list[str] = []
        while self._simulation.scheduler.now_s < end_s and not self._simulation.findings.violations:
            await self._actions.last(0.1, 0.5)
            if self._simulation.leader() is None:
                continue
            left = left or list(self.kinds)
            await self.kinds[left.pop(self._random.randrange(0, len(left)))]()

    async def _early_reads(self) -> None:
        """A leader falls when only it and its clients know what is committed.

        The next one is asked at once, and its first entry takes long to be stored.
        """
        simulation, leader = self._simulation, self._simulation.leader()
        if leader is None or leader.driver is None:
            return
        self._actions.count("early_reads", leader.name)
        known, commit_index = self._leaders.known_term, leader.driver.commit_index
        links = self._actions.links_between([leader.node_id])
        writing = asyncio.create_task(self._witness.ask("write", self._any_key(), leader))
        heard = await self._actions.hear(
            lambda message: _announces_commit(message, leader, above=commit_index),
            within_s=0.6,
            at_once=lambda _: simulation.network.cut(links),
        )
        await writing
        if heard is not None:
            new = await self._leaders.next_leader(known, at_once=lambda _: self._slow_down_all())
            if new is not None:
                for _ in range(2):
                    await asyncio.gather(
                        *(self._witness.ask("read", key, new) for key in range(KEYS))
                    )
            self._actions.mend(links)
        self._speed_up_all()

    def _slow_down_all(self) -> None:
        for voter in self._simulation.voters.values():
            voter.disk.slow_down(self._random.uniform(SLOW_S_MIN, SLOW_S_MAX))

    def _speed_up_all(self) -> None:
        most_s = self._simulation.config.sync_latency_s_max
        for voter in self._simulation.voters.values():
            voter.disk.slow_down(self._random.uniform(0.0001, most_s))

    async def _overslept(self) -> None:
        """A leader takes commands, sleeps, and wakes up to what its successor put in their place.

        It hears of its end and of the commit in the same breath.
        """
        simulation, leader = self._simulation, self._simulation.leader()
        if leader is None:
            return
        self._actions.count("overslept", leader.name)
        known = self._leaders.known_term
        simulation.drift(leader, SLEEPY_RATE)
        links = self._actions.links_between([leader.node_id])
        to_it = [link for link in links if link[1] == leader.node_id]
        from_it = [link for link in links if link[0] == leader.node_id]
        simulation.network.cut(links)
        asked = await self._actions.hear(
            lambda message: message.HasField("request_vote") and message.term > known,
            within_s=ELECTION_S_MAX,
        )
        if asked is not None:
            self._actions.flood(leader, self._random.randrange(5, 20))
            await self._actions.last(0.003, 0.01)
            simulation.pause(leader)
        self._actions.mend(to_it)
        if asked is not None:
            await self._wait_for_commit(leader, known)
            await self._actions.last(0.005, 0.03)
            simulation.resume(leader)
            await self._actions.last(0.05, 0.3)
        self._actions.mend(from_it)
        simulation.drift(leader, self._random.uniform(0.97, 1.03))

    async def _wait_for_commit(self, sleeper: Voter, known_term: int) -> None:
        """Wait until a later leader reported a commit of its own term to this voter."""
        first: dict[int, int] = {}

        def is_wanted(message: RaftMessage) -> bool:
            if not message.HasField("append_entries") or message.term <= known_term:
                return False
            commit_index = message.append_entries.commit_index
            begun = first.setdefault(message.term, commit_index)
            return commit_index > begun and message.receiver_id == sleeper.node_id

        await self._actions.hear(is_wanted, within_s=0.6)

    async def _own_term_withheld(self) -> None:
        """A leader's older entries reach a majority and none of its own term does: figure 8.

        Then it falls, and one leads that has neither.
        """
        first = self._simulation.leader()
        if first is None:
            return
        self._actions.count("own_term_withheld", first.name)
        with self._leaders.cut_off(first):
            known = self._leaders.known_term
            self._actions.flood(first, self._random.randrange(10, 40))
            links: list[Link] = []

            def cut_off(message: RaftMessage) -> None:
                links.extend(self._actions.links_between([message.sender_id]))
                self._simulation.network.cut(links)

            second = await self._leaders.next_leader(known, at_once=cut_off)
        if second is not None:
            await self._actions.last(0.02, 0.1)
            with _listening(
                self._simulation, withheld := _OwnTermWithheld(self._simulation, first)
            ):
                has_led = await self._leaders.leads(first)
                await self._actions.last(0.05, 0.3)
            fallen = self._actions.links_between([first.node_id])
            self._simulation.network.cut(fallen)
            self._actions.mend(withheld.links)
            self._actions.mend(links)
            if has_led:
                await self._leaders.leads(second)
            self._actions.mend(fallen)

    async def _torn_syncs(self) -> None:
        """Power goes everywhere while many sectors are on their way to each disk, and again."""
        for _ in range(self._random.randrange(2, 4)):
            leader = await self._wait_for_leader()
            if leader is None:
                return
            everyone = list(self._simulation.voters.values())
            for voter in everyone:
                voter.disk.slow_down(self._random.uniform(TORN_S_MIN, TORN_S_MAX))
            count = self._random.randrange(COMMANDS_MIN, COMMANDS_MAX)
            self._actions.flood(leader, count, padding_characters_max=COMMAND_CHARACTERS_MAX)
            await self._wait_for_torn(everyone)
            self._actions.count("torn_syncs", "power")
            for voter in everyone:
                self._simulation.crash(voter)
            self._speed_up_all()
            for voter in everyone:
                await self._actions.last(0.0, 0.05)
                self._simulation.start(voter)

    async def _wait_for_leader(self) -> Voter | None:
        for _ in range(20):
            if self._simulation.leader() is not None:
                break
            await asyncio.sleep(0.1)
        return self._simulation.leader()

    async def _wait_for_torn(self, voters: list[Voter]) -> None:
        """Until most are in the midst of a sync that a crash tears; not for ever."""
        for _ in range(60):
            await asyncio.sleep(0.004)
            sectors = [voter.disk.unsynced_sectors(WAL_PATH) for voter in voters]
            if sum(count >= TORN_SECTORS_MIN for count in sectors) > len(voters) // 2:
                return

    def _any_key(self) -> int:
        return self._random.randrange(0, KEYS)


class _OwnTermWithheld:
    """Cuts each link of a leader when the first entry of its new term would be taken there."""

    def __init__(self, simulation: RaftSimulation, leader: Voter) -> None:
        self.links: list[Link] = []
        self._simulation = simulation
        self._leader = leader
        self._term = 0 if leader.driver is None else leader.driver.term
        self._receivers: set[int] = set()
        """Voters to which older entries are on their way."""

    def __call__(self, message: RaftMessage) -> None:
        """Hear what anyone says."""
        terms = {entry.term for entry in message.append_entries.entries}
        if message.sender_id != self._leader.node_id or message.term <= self._term or not terms:
            return
        link = message.sender_id, message.receiver_id
        if message.term not in terms:
            self._receivers.add(message.receiver_id)
        elif link not in self.links and (len(terms) > 1 or message.receiver_id in self._receivers):
            self.links.append(link)
            self._simulation.network.cut([link])


@contextmanager
def _listening(
    simulation: RaftSimulation, listener: Callable[[RaftMessage], None]
) -> Iterator[None]:
    simulation.listeners.append(listener)
    try:
        yield
    finally:
        simulation.listeners.remove(listener)


def _announces_commit(message: RaftMessage, leader: Voter, *, above: int) -> bool:
    is_its_own: bool = message.sender_id == leader.node_id
    return is_its_own and message.append_entries.commit_index > above
