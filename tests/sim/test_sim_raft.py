"""The controllers' log on the simulation stage: acknowledged commands survive, in one order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import TidelogError
from tidelog.raft.config import ENGINES, RaftConfig
from tidelog.raft.factory import build_replicated_log
from tidelog.raft.replicated_log import CommittedEntry, ReplicatedLog
from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.network import Host, SimNetwork
from tidelog.simulation.engine.raft_transport import SimRaftTransport
from tidelog.simulation.engine.scheduler import Scheduler, SchedulerLimits
from tidelog.simulation.engine.trace import Trace

pytestmark = pytest.mark.sim

CONFIG = RaftConfig(
    wal_reserve_bytes=16 * 1024, snapshot_interval_bytes=4 * 1024, retained_entries=2
)
VOTERS = {1: "voter-1:1", 2: "voter-2:1", 3: "voter-3:1"}


@dataclass
class Applied:
    """Implements `StateMachine`: the commands in order."""

    commands: list[bytes] = field(default_factory=list)

    def apply(self, entry: CommittedEntry) -> None:
        self.commands.append(entry.command)

    def records(self) -> Iterator[bytes]:
        return iter(list(self.commands))

    def restore(self, records: Iterable[bytes], *, index: int, term: int) -> None:
        self.commands = list(records)


@dataclass
class Voter:
    """A machine and its present process."""

    clock: SimClock
    disk: SimDisk
    applied: Applied = field(default_factory=Applied)
    host: Host | None = None
    log: ReplicatedLog | None = None


class Voters:
    """Three voters; proposals are made on the leader's own loop."""

    def __init__(self, seed: int, *, engine: str) -> None:
        self.config = replace(CONFIG, engine=engine)
        self.random = SeededRandom(seed)
        self.trace = Trace()
        self.scheduler = Scheduler(trace=self.trace, limits=SchedulerLimits(virtual_s=120))
        self.network = SimNetwork(scheduler=self.scheduler, random=self.random.fork("network"))
        self.driver = self.scheduler.new_loop("driver")
        self.directory: dict[int, SimRaftTransport] = {}
        self.acknowledged: list[bytes] = []
        self.voters = {
            node_id: Voter(
                SimClock(lambda: self.scheduler.now_s, rate=self.random.uniform(0.98, 1.02)),
                SimDisk(self.random.fork(f"disk-{node_id}"), sync_latency_s=0.001),
            )
            for node_id in VOTERS
        }

    def start(self, node_id: int) -> None:
        voter = self.voters[node_id]
        loop = self.scheduler.new_loop(f"voter-{node_id}", voter.clock)
        host = voter.host = Host(name=loop.name, loop=loop, address=VOTERS[node_id])
        self.network.attach(host)
        voter.applied = Applied()
        voter.log = build_replicated_log(
            node_id=node_id,
            voters=VOTERS,
            directory="/raft",
            disk=voter.disk,
            clock=voter.clock,
            random=self.random.fork(f"{node_id}/{loop.time()}"),
            transport=SimRaftTransport(
                network=self.network,
                host=host,
                node_id=node_id,
                voter_ids=VOTERS,
                directory=self.directory,
                config=self.config,
            ),
            config=self.config,
            on_fatal=lambda error: self.scheduler.record_failure(loop.name, repr(error)),
        )
        loop.create_task(voter.log.start(voter.applied), name="start")

    def crash(self, node_id: int) -> None:
        voter = self.voters[node_id]
        assert voter.host is not None
        self.network.crash(voter.host)
        voter.host.loop.kill()
        voter.disk.crash()
        voter.host = voter.log = None

    async def leader(self) -> int:
        while True:
            for node_id, voter in self.voters.items():
                if voter.log is not None and voter.log.is_leader:
                    return node_id
            await asyncio.sleep(0.05)

    def propose_on(self, node_id: int, commands: list[bytes]) -> None:
        """Propose on the node's own loop, all at once; write down what it acknowledges."""
        voter = self.voters[node_id]
        assert voter.host is not None
        assert voter.log is not None
        log = voter.log

        async def propose(command: bytes) -> None:
            try:
                await log.propose(command, timeout_ms=2000)
            except TidelogError:
                return
            self.acknowledged.append(command)

        for command in commands:
            voter.host.loop.create_task(propose(command))

    async def until_equal(self) -> None:
        """Every voter has applied the same, all that was acknowledged among it."""
        async with asyncio.timeout(30):
            while not self.is_equal():  # noqa: ASYNC110  # polled from another loop
                await asyncio.sleep(0.05)

    def is_equal(self) -> bool:
        first, *others = [voter.applied.commands for voter in self.voters.values()]
        return all(first == other for other in others) and set(self.acknowledged) <= set(first)

    def run(self) -> None:
        for node_id in VOTERS:
            self.start(node_id)
        self.scheduler.run(self.driver, self.story())
        self.scheduler.close()

    async def story(self) -> None:
        for round_number in range(3):
            leader = await self.leader()
            self.propose_on(leader, [b"%d/%d" % (round_number, n) for n in range(20)])
            await asyncio.sleep(self.random.uniform(0, 0.02))
            self.crash(leader)
            if self.random.random() < 0.5:
                await self.leader()
            self.start(leader)
        leader = await self.leader()
        self.propose_on(leader, [b"last"])
        await asyncio.sleep(1)
        await self.until_equal()
        assert b"last" in self.acknowledged


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(10))
def test_acknowledged_commands_survive_the_crash_of_each_leader(seed: int, engine: str) -> None:
    Voters(seed, engine=engine).run()


@pytest.mark.parametrize("engine", ENGINES)
def test_one_seed_has_one_trace(engine: str) -> None:
    hashes = []
    for seed in (1, 1, 2):
        voters = Voters(seed, engine=engine)
        voters.run()
        hashes.append(voters.trace.hexdigest())

    assert hashes[0] == hashes[1] != hashes[2]
