"""Controllers on a replicated log in memory: cut off, held up, without answers.

A fake of the port `ReplicatedLog`, because the cases withhold one commit or lose the answer to one
proposal, which real voters do only by chance. The same controllers run on real voters in tests/sim
and tests/client, on both engines in `tests/sim/test_second_engine.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import deepcopy
from itertools import count
from typing import TypeVar

from tests.metadata.broker_endpoints import registered_at

from tidelog.core.env import Random
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.quorum_controller import QuorumController
from tidelog.net.transport import Dialled, DialOutcome
from tidelog.raft.replicated_log import (
    CommittedEntry,
    NotLeaderError,
    ProposalUnknownError,
    QuorumStatus,
    StateMachine,
)
from tidelog.v1.admin_pb2 import CreateTopicsRequest, NewTopic
from tidelog.v1.controller_pb2 import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    RegisterBrokerRequest,
)
from tidelog.v1.metadata_records_pb2 import MetadataBatch

NumberedT = TypeVar("NumberedT", AlterPartitionRequest, BrokerHeartbeatRequest)

CONFIG = ControllerConfig(
    cluster_id="tide",
    commands_queued_max=8,
    commands_per_batch_max=4,
    session_check_interval_ms=1,
    partitions_per_batch_max=3,
    follow_keep_alive_ms=5,
)


class FakeClock:
    def __init__(self) -> None:
        self.now_ms = 50_000

    def monotonic_ms(self) -> int:
        return self.now_ms

    def monotonic_s(self) -> float:
        return self.now_ms / 1000

    def wall_ms(self) -> int:
        return self.now_ms


class FakeRaft:
    """One order of entries for all nodes, with a gap before each as Raft's own entries make."""

    def __init__(self) -> None:
        self.term = 1
        self.index = 0
        self.leader: FakeLog | None = None
        self.logs: list[FakeLog] = []

    def commit(self, command: bytes) -> CommittedEntry:
        self.index += 3
        entry = CommittedEntry(self.index, self.term, command)
        for log in self.logs:
            log.hear(entry)
        return entry

    def elect(self, log: FakeLog | None) -> None:
        self.term += 1
        self.leader = log
        for each in self.logs:
            each.hear_of_leader()


class FakeLog:
    """One voter: may be isolated, held up at its gates, and lose its answers."""

    def __init__(self, node_id: int, raft: FakeRaft) -> None:
        self.node_id = node_id
        self.raft = raft
        self.term = raft.term
        self.leader_id: int | None = None
        self.listener: Callable[[], None] = lambda: None
        self.machine: StateMachine | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.barrier_gate = asyncio.Event()
        self.barrier_gate.set()
        self.is_isolated = False
        self.thinks_it_leads = False
        self.is_answer_lost = False
        self.proposals_left: int | None = None
        """After so many proposals somebody else is elected."""
        self.in_limbo: list[bytes] = []
        self.missed: list[CommittedEntry] = []
        self.proposed: list[MetadataBatch] = []
        self.barriers = 0
        raft.logs.append(self)

    def hear(self, entry: CommittedEntry) -> None:
        if self.is_isolated or self.machine is None:
            self.missed.append(entry)
        else:
            self.machine.apply(entry)

    def catch_up(self) -> None:
        """The isolation is over."""
        for entry in self.missed:
            self.hear(entry)
        self.missed.clear()
        self.hear_of_leader()

    def hear_of_leader(self) -> None:
        if not self.is_isolated:
            self.term = self.raft.term
            self.leader_id = self.raft.leader.node_id if self.raft.leader else None
            self.listener()

    async def start(self, machine: StateMachine) -> None:
        self.machine = machine
        for entry in self.missed:
            machine.apply(entry)
        self.missed.clear()

    async def stop(self) -> None:
        self.gate.set()
        self.leader_id = self.raft.leader = None

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self.node_id or self.thinks_it_leads

    @property
    def commit_index(self) -> int:
        return self.raft.index

    @property
    def applied_index(self) -> int:
        return self.raft.index

    async def propose(self, command: bytes, *, timeout_ms: int) -> CommittedEntry:
        self.proposed.append(MetadataBatch.FromString(command))
        await self.gate.wait()
        if self.proposals_left is not None:
            self.proposals_left -= 1
            if self.proposals_left < 0:
                self.proposals_left = None
                self.raft.elect(next(log for log in self.raft.logs if log is not self))
        if self.is_answer_lost:
            self.in_limbo.append(command)
            raise ProposalUnknownError("no answer in time")
        if not self.is_leader or self.is_isolated:
            raise NotLeaderError("lost it", leader_id=self.leader_id)
        for before in self.in_limbo:
            self.raft.commit(before)
        self.in_limbo.clear()
        return self.raft.commit(command)

    async def read_barrier(self, *, timeout_ms: int) -> int:
        self.barriers += 1
        await self.barrier_gate.wait()
        if self.is_isolated or self.raft.leader is not self:
            raise NotLeaderError("no majority says so", leader_id=self.leader_id)
        return self.raft.index

    def status(self) -> QuorumStatus:
        return QuorumStatus(
            node_id=self.node_id,
            role="leader" if self.is_leader else "follower",
            term=self.term,
            leader_id=self.leader_id,
            last_index=self.raft.index,
            commit_index=self.raft.index,
            applied_index=self.raft.index,
            snapshot_index=0,
            snapshot_bytes=0,
            wal_bytes=0,
            last_contact_ms=None,
            peers=(),
        )

    def on_leadership(self, listener: Callable[[], None]) -> None:
        self.listener = listener


class Nodes:
    """Two controllers; `answers` is what dials of an address bring, by default silence."""

    def __init__(self, random: Random) -> None:
        self.answers: dict[str, Dialled] = {}
        self.dialled: list[str] = []
        self.clock = FakeClock()
        self.raft = FakeRaft()
        self.fatal: list[BaseException] = []
        self.logs = [FakeLog(1, self.raft), FakeLog(2, self.raft)]
        self.quorums = [
            QuorumController(
                log=log,
                clock=self.clock,
                random=random,
                dial=self._dial,
                config=CONFIG,
                on_fatal=self.fatal.append,
            )
            for log in self.logs
        ]

    async def _dial(self, address: str, timeout_ms: int) -> Dialled:
        del timeout_ms
        self.dialled.append(address)
        await asyncio.sleep(0)
        return self.answers.get(address, Dialled(DialOutcome.SILENT))


def registration(
    broker_id: int, incarnation: int = 1, *, previous_broker_epoch: int = 0
) -> RegisterBrokerRequest:
    return RegisterBrokerRequest(
        broker_id=broker_id,
        cluster_id="tide",
        incarnation_id=bytes([incarnation]) * 16,
        endpoints=registered_at(f"h:{broker_id}"),
        previous_broker_epoch=previous_broker_epoch,
    )


_numbers = count(1)


def attempt(quorum: QuorumController, request: NumberedT) -> NumberedT:
    """The next attempt of a request, meant for this controller as it is now."""
    copied = deepcopy(request)
    copied.controller_epoch, copied.attempt = quorum.term, next(_numbers)
    return copied


async def start_broker(
    quorum: QuorumController, broker_id: int, *, rack: str = ""
) -> BrokerHeartbeatRequest:
    """Registered and unfenced; the heartbeat that keeps it so."""
    request = registration(broker_id)
    request.rack = rack
    registered = await quorum.submit(request)
    beat = BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=registered.broker_epoch,
        metadata_offset=registered.broker_epoch,
    )
    assert not (await quorum.submit(attempt(quorum, beat))).is_fenced
    return beat


def creation(*names: str, command_id: bytes = b"", partitions: int = 1) -> CreateTopicsRequest:
    topics = [NewTopic(name=name, partitions=partitions) for name in names]
    return CreateTopicsRequest(topics=topics, command_id=command_id)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  # any condition
            await asyncio.sleep(0)
