"""Messages that no voter wrote, over all fields: the quorum goes on, also after a start of all."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from tidelog.chaos.workloads.forged_raft import Aim, forge, leap
from tidelog.core.chance import SeededRandom
from tidelog.raft.config import ENGINES, RaftConfig
from tidelog.raft.replicated_log import NotLeaderError, ProposalUnknownError
from tidelog.raft.well_formed import fault
from tidelog.simulation.raft.machine import Command
from tidelog.simulation.raft.network import NetworkKind
from tidelog.simulation.raft.simulation import RaftSimulation
from tidelog.simulation.raft.simulation_config import CLUSTER_ID, RaftSimulationConfig
from tidelog.simulation.suites.findings import Findings
from tidelog.v1.raft_pb2 import RaftMessage

VOTERS = (1, 2, 3)
CONFIG = RaftConfig(
    cluster_id=CLUSTER_ID, wal_reserve_bytes=64 * 1024, snapshot_interval_bytes=32 * 1024
)
ELECTION_S = 4 * CONFIG.election_timeout_max_ms / 1000
"""An election, and another where two had elected before the third told them of its term."""


class Quorum:
    """Three voters on virtual time, and commands that are committed through whoever leads."""

    def __init__(self, seed: int, engine: str) -> None:
        self.random = random.Random(seed)
        self.findings = Findings()
        self.simulation = RaftSimulation(
            random=SeededRandom(seed),
            config=RaftSimulationConfig(
                voter_ids=VOTERS,
                raft=replace(CONFIG, engine=engine),
                network=NetworkKind(is_lawless=False, has_stragglers=False),
                sync_latency_s_max=0.002,
            ),
            findings=self.findings,
            timeline_sink=None,
        )
        self.committed = 0

    async def commit(self) -> None:
        """Commit one command within an election."""
        self.committed += 1
        command = Command(self.committed, 1, key=1, value=self.committed).encode()
        async with asyncio.timeout(ELECTION_S):
            while not await self._propose(command):  # noqa: ASYNC110  # virtual time
                await asyncio.sleep(0.02)

    async def _propose(self, command: bytes) -> bool:
        leader = self.simulation.leader()
        if leader is None or leader.driver is None or leader.loop is None:
            return False
        try:
            await leader.driver.propose(command, timeout_ms=500)
        except (NotLeaderError, ProposalUnknownError):
            return False
        return True

    async def settle(self) -> None:
        async with asyncio.timeout(ELECTION_S):
            while not self.simulation.is_settled():  # noqa: ASYNC110  # virtual time
                await asyncio.sleep(0.02)

    def give(self, message: RaftMessage) -> None:
        """Hand it to its receiver as the edge of a node does."""
        voter = self.simulation.voters[message.receiver_id]
        assert voter.driver is not None
        if fault(message) is None:
            voter.driver.on_message(message.sender_id, message)

    def aim(self) -> Aim:
        """At any voter, in the name of any other; at best with true numbers."""
        receiver_id, sender_id = self.random.sample(VOTERS, 2)
        receiver, sender = (self.simulation.voters[i].driver for i in (receiver_id, sender_id))
        assert receiver is not None
        assert receiver.storage is not None
        assert sender is not None
        assert sender.storage is not None
        wal = receiver.storage.wal
        return Aim(
            cluster_id=CLUSTER_ID,
            sender_id=sender_id,
            receiver_id=receiver_id,
            term=wal.term,
            last_index=wal.last_index,
            last_term=wal.last_term,
            incarnation=sender.storage.wal.incarnation,
        )

    async def restart_all(self) -> None:
        for voter in self.simulation.voters.values():
            self.simulation.crash(voter)
        for voter in self.simulation.voters.values():
            self.simulation.start(voter)

    async def begin(self) -> None:
        for voter in self.simulation.voters.values():
            self.simulation.start(voter)
        await self.settle()

    def judge(self) -> None:
        assert self.findings.violations == []


def run(quorum: Quorum, story: object) -> None:
    scheduler = quorum.simulation.scheduler
    scheduler.run(quorum.simulation.loop, story)  # type: ignore[arg-type]  # a coroutine
    scheduler.close()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(12))
def test_nothing_that_is_accepted_stops_the_quorum_for_longer_than_an_election(
    seed: int, engine: str
) -> None:
    quorum = Quorum(seed, engine)

    async def story() -> None:
        await quorum.begin()
        await quorum.commit()
        for _ in range(12):
            await quorum.settle()
            quorum.give(forge(quorum.aim(), quorum.random))
            await quorum.commit()
        await quorum.settle()
        await quorum.restart_all()
        await quorum.commit()
        await quorum.settle()

    run(quorum, story())
    quorum.judge()


@pytest.mark.parametrize("engine", ENGINES)
def test_one_forged_message_bricks_no_quorum_over_restarts(engine: str) -> None:
    """A follower is told of term 2**62 - 1 by the leader's name, incarnation 2**61."""
    quorum = Quorum(3, engine)

    async def story() -> None:
        await quorum.begin()
        for _ in range(10):
            quorum.give(leap(quorum.aim(), quorum.random))
            await quorum.commit()
        await quorum.settle()
        for _ in range(2):
            await quorum.restart_all()
            await quorum.commit()
        await quorum.settle()

    run(quorum, story())
    quorum.judge()
    drivers = [voter.driver for voter in quorum.simulation.voters.values()]
    assert all(driver is not None and driver.term < 2**30 for driver in drivers)
