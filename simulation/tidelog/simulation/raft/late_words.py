"""Faults that hold messages of one term until they could be taken for another's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.simulation.raft.chosen_leaders import ELECTION_S_MAX, ChosenLeaders
from tidelog.simulation.raft.fault_actions import FaultActions
from tidelog.simulation.raft.network import Link
from tidelog.simulation.raft.simulation import Voter
from tidelog.simulation.raft.workload import KEYS, Client

READS_MIN, READS_MAX = 15, 40


class LateWords:
    """`kinds` by name; only without law, where messages may come late and twice."""

    def __init__(self, actions: FaultActions, leaders: ChosenLeaders, witness: Client) -> None:
        self._actions = actions
        self._leaders = leaders
        self._witness = witness
        self._simulation = actions.simulation
        self.kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "late_answers": self._late_answers,
            "late_votes": self._late_votes,
        }

    async def _late_answers(self) -> None:
        """A leader falls, leads again and falls, and hears once more the answers to its first term.

        They are as many as the rounds of its reads, and come while it still believes to lead.
        """
        voter = self._leaders.another(self._simulation.leader())
        self._actions.count("late_answers", voter.name)
        if not await self._leaders.leads(voter):
            return
        self._simulation.network.copy(self._links_to(voter))
        await self._read_often(voter)
        self._simulation.network.copy_no_more()
        known = self._leaders.known_term
        with self._leaders.cut_off(voter):
            second = await self._leaders.next_leader(known)
            await self._actions.last(0.05, 0.3)
        await self._actions.last(0.1, 0.4)
        if second is not None and await self._leaders.leads(voter):
            await self._actions.last(0.0, 0.1)
            with self._leaders.cut_off(voter):
                await self._hear_again(voter)

    async def _read_often(self, voter: Voter) -> None:
        reads = []
        for _ in range(self._actions.random.randrange(READS_MIN, READS_MAX)):
            reads.append(asyncio.create_task(self._witness.ask("read", self._any_key(), voter)))
            await self._actions.last(0.003, 0.02)
        await asyncio.gather(*reads)

    async def _hear_again(self, voter: Voter) -> None:
        simulation = self._simulation
        end_s = simulation.scheduler.now_s + ELECTION_S_MAX
        while simulation.scheduler.now_s < end_s and simulation.leader() in (voter, None):
            await self._actions.last(0.02, 0.1)
            simulation.network.repeat_copies()
        newest = simulation.leader()
        if newest is None or newest is voter:
            return
        for _ in range(3):
            key = self._any_key()
            await self._witness.ask("write", key, newest)
            reading = asyncio.create_task(self._witness.ask("read", key, voter))
            for _ in range(3):
                await self._actions.last(0.003, 0.02)
                simulation.network.repeat_copies()
            await reading

    async def _late_votes(self) -> None:
        """Votes of one term arrive when their candidate stands in the next, and nobody hears it."""
        simulation, leader = self._simulation, self._simulation.leader()
        voter = self._leaders.another(leader)
        self._actions.count("late_votes", voter.name)
        network, to_it = simulation.network, self._links_to(voter)
        with self._leaders.cut_off(leader), self._leaders.isolate_others(voter):
            if await self._leaders.stands(voter, at_once=lambda _: network.hold(to_it)):
                await self._actions.last(0.05, 0.2)
                network.pass_on(to_it)
                from_it = [link[::-1] for link in to_it]
                if await self._leaders.stands(voter, at_once=lambda _: network.cut(from_it)):
                    await self._actions.last(0.0, 0.02)
                    network.release()
                    await self._actions.last(0.05, 0.3)
                    self._actions.mend(from_it)
            network.release()

    def _links_to(self, voter: Voter) -> list[Link]:
        return [link for link in self._actions.links() if link[1] == voter.node_id]

    def _any_key(self) -> int:
        return self._actions.random.randrange(0, KEYS)
