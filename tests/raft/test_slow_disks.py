"""Three voters on virtual time whose disks are slow, all at once, or whose loops get no CPU.

Nobody dies here, so nobody may be elected after the first, and commits go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import pytest
from tests.raft.raft_node import DIRECTORY, Commands

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import TidelogError
from tidelog.raft.config import RaftConfig
from tidelog.raft.driver import RaftDriver
from tidelog.raft.factory import build_replicated_log
from tidelog.raft.transport import RaftReceiver
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.scheduler import Scheduler, SchedulerLimits
from tidelog.simulation.engine.trace import Trace
from tidelog.v1.raft_pb2 import RaftMessage

IDS = (1, 2, 3)
ONE_WAY_S = 0.0005
CONFIG = RaftConfig(wal_reserve_bytes=1 << 20, snapshot_interval_bytes=128 * 1024)
PROPOSE_EVERY_S = 0.05
LASTS_S = 60.0


@dataclass
class Network:
    """Carries everything, in order, and tells when a process ends."""

    scheduler: Scheduler
    ends: dict[int, tuple[NodeLoop, RaftReceiver]] = field(default_factory=dict)

    def leave(self, node_id: int) -> None:
        del self.ends[node_id]
        for loop, receiver in self.ends.values():
            self.scheduler.deliver(
                loop, partial(receiver.on_disconnected, node_id), delay_s=ONE_WAY_S
            )


class Transport:
    """Implements `RaftTransport`."""

    def __init__(self, node_id: int, loop: NodeLoop, network: Network) -> None:
        self._node_id = node_id
        self._loop = loop
        self._network = network

    async def start(self, receiver: RaftReceiver) -> None:
        for other_id, (loop, other) in self._network.ends.items():
            receiver.on_connected(other_id)
            self._network.scheduler.deliver(
                loop, partial(other.on_connected, self._node_id), delay_s=0
            )
        self._network.ends[self._node_id] = self._loop, receiver

    async def stop(self) -> None:
        pass

    def send(self, peer_id: int, message: RaftMessage) -> bool:
        end = self._network.ends.get(peer_id)
        if end is None or self._loop.is_dead:
            return False
        loop, receiver = end
        self._network.scheduler.deliver(
            loop, lambda: receiver.on_message(self._node_id, message), delay_s=ONE_WAY_S
        )
        return True


class Three:
    """Voters, each on a loop and a disk of its own."""

    def __init__(self, scheduler: Scheduler, *, sync_s: float) -> None:
        self.scheduler = scheduler
        self.loop = scheduler.new_loop("world")
        self.network = Network(scheduler)
        self.loops = {node_id: scheduler.new_loop(f"n{node_id}") for node_id in IDS}
        self.disks = {node_id: SimDisk(SeededRandom(node_id), sync_s) for node_id in IDS}
        self.took_s: list[float] = []
        self.failed: list[TidelogError] = []
        self.fatal: list[BaseException] = []
        self.logs = {node_id: self._build(node_id) for node_id in IDS}

    def _build(self, node_id: int) -> RaftDriver:
        loop = self.loops[node_id]
        return build_replicated_log(
            node_id=node_id,
            voters={other: f"n{other}" for other in IDS},
            directory=DIRECTORY,
            disk=self.disks[node_id],
            clock=loop.clock,
            random=SeededRandom(10 + node_id),
            transport=Transport(node_id, loop, self.network),
            config=CONFIG,
            on_fatal=self.fatal.append,
        )

    async def start(self) -> RaftDriver:
        """Start all; return the first leader, once it has committed something."""
        for node_id, loop in self.loops.items():
            loop.create_task(self.logs[node_id].start(Commands()))
        return await self.leader(within_s=60)

    async def leader(self, *, within_s: float) -> RaftDriver:
        """Wait for one."""
        async with asyncio.timeout(within_s):
            while True:
                for node_id in self.network.ends:
                    if self.logs[node_id].is_leader:
                        return self.logs[node_id]
                await asyncio.sleep(0.001)

    async def propose_until(self, end_s: float) -> None:
        """Ask whoever leads to commit something every now and then."""
        number = 0
        while self.scheduler.now_s < end_s:
            number += 1
            leader = next((log for log in self.logs.values() if log.is_leader), None)
            if leader is not None:
                ask = partial(self.ask, leader, b"%d" % number)
                self.scheduler.deliver(self.loops[leader.node_id], ask, delay_s=0)
            await asyncio.sleep(PROPOSE_EVERY_S)

    def ask(self, leader: RaftDriver, command: bytes) -> None:
        """Propose this; what came of it is counted."""
        self.loops[leader.node_id].create_task(self._propose(leader, command))

    async def _propose(self, leader: RaftDriver, command: bytes) -> None:
        began_s = self.scheduler.now_s
        try:
            await leader.propose(command, timeout_ms=10_000)
        except TidelogError as error:
            self.failed.append(error)
        else:
            self.took_s.append(self.scheduler.now_s - began_s)

    @property
    def terms(self) -> set[int]:
        return {log.term for log in self.logs.values()}

    @property
    def p50_s(self) -> float:
        return sorted(self.took_s)[len(self.took_s) // 2]


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    limits = SchedulerLimits(steps=2_000_000, virtual_s=400)
    scheduler = Scheduler(trace=Trace(), limits=limits)
    yield scheduler
    scheduler.close()


@pytest.mark.parametrize("sync_ms", [20, 200, 300, 1000, 2000])
def test_slow_disks_of_all_voters_cost_time_and_no_election(
    scheduler: Scheduler, sync_ms: int
) -> None:
    three = Three(scheduler, sync_s=sync_ms / 1000)

    async def main() -> None:
        leader = await three.start()
        terms = three.terms
        await three.propose_until(scheduler.now_s + LASTS_S)
        await asyncio.sleep(3 * sync_ms / 1000)

        assert leader.is_leader
        assert three.terms == terms == {leader.term}
        assert three.failed == three.fatal == []
        assert len(three.took_s) > 0.9 * LASTS_S / PROPOSE_EVERY_S
        # its own sync or its followers', not both; but it may begin while another runs, and only
        # so many appends are under way at once
        assert three.p50_s < 3 * sync_ms / 1000

    scheduler.run(three.loop, main())


def test_a_lone_commit_takes_one_sync_not_two(scheduler: Scheduler) -> None:
    three = Three(scheduler, sync_s=0.02)

    async def main() -> None:
        leader = await three.start()
        for number in range(50):
            three.ask(leader, b"%d" % number)
            await asyncio.sleep(0.1)
        assert 0.02 <= three.p50_s <= 0.025

    scheduler.run(three.loop, main())


def test_a_voter_without_cpu_blames_nobody(scheduler: Scheduler) -> None:
    """Each loop gets 50 ms after 0.5 to 2.5 s without, at its own times; time-outs are 1 to 2 s."""
    three = Three(scheduler, sync_s=0.005)

    async def starve(node_id: int, end_s: float) -> None:
        loop, random = three.loops[node_id], SeededRandom(node_id)
        while scheduler.now_s < end_s:
            loop.pause()
            await asyncio.sleep(random.uniform(0.5, 2.5))
            loop.resume()
            await asyncio.sleep(0.05)

    async def main() -> None:
        leader = await three.start()
        terms, end_s = three.terms, scheduler.now_s + LASTS_S
        await asyncio.gather(
            three.propose_until(end_s), *(starve(node_id, end_s) for node_id in IDS)
        )
        await asyncio.sleep(5)
        assert leader.is_leader
        assert three.terms == terms
        assert three.failed == three.fatal == []
        assert len(three.took_s) > 100

    scheduler.run(three.loop, main())


@pytest.mark.parametrize("sync_ms", [1, 20])
def test_the_death_of_a_leader_is_not_waited_out(scheduler: Scheduler, sync_ms: int) -> None:
    """Its connections break at all others: that is told at once, whatever the time-outs are."""
    three = Three(scheduler, sync_s=sync_ms / 1000)

    async def main() -> None:
        leader = await three.start()
        await asyncio.sleep(5)
        three.loops[leader.node_id].kill()
        three.network.leave(leader.node_id)
        killed_s = scheduler.now_s
        await three.leader(within_s=30)
        took_s = scheduler.now_s - killed_s
        assert took_s < 4 * CONFIG.heartbeat_interval_ms / 1000 + 6 * sync_ms / 1000

    scheduler.run(three.loop, main())
