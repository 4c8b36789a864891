"""The shell: what is answered when the log commits, loses its leader or does not know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tidelog.metadata.committed import CommittedMetadata
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.quorum import Quorum
from tidelog.raft.replicated_log import CommittedEntry, NotLeaderError, ProposalUnknownError
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    NewTopic,
)
from tidelog.v1.controller_pb2 import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    RegisterBrokerRequest,
)
from tidelog.v1.metadata_records_pb2 import MetadataBatch

if TYPE_CHECKING:
    from metadata.conftest import SeededRandom

CONFIG = ControllerConfig(
    cluster_id="tide",
    commands_queued_max=8,
    commands_per_batch_max=4,
    session_check_interval_ms=1,
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
            log.hand_out(entry)
        return entry

    def elect(self, log: FakeLog | None) -> None:
        self.term += 1
        self.leader = log
        for each in self.logs:
            each.listener()


class FakeLog:
    """A leader that can be cut off, held up at its `gate`, and lose its answers."""

    def __init__(self, node_id: int, raft: FakeRaft) -> None:
        self.node_id = node_id
        self.raft = raft
        self.listener: Callable[[], None] = lambda: None
        self.hand_out: Callable[[CommittedEntry], None] = lambda _: None
        self.gate = asyncio.Event()
        self.gate.set()
        self.thinks_it_leads = False
        self.is_answer_lost = False
        self.in_limbo: list[bytes] = []
        self.proposed: list[MetadataBatch] = []
        self.barriers = 0
        raft.logs.append(self)

    async def start(self, on_committed: Callable[[CommittedEntry], None]) -> None:
        self.hand_out = on_committed

    async def stop(self) -> None:
        self.gate.set()
        self.raft.leader = None

    @property
    def is_leader(self) -> bool:
        return self.raft.leader is self or self.thinks_it_leads

    @property
    def leader_id(self) -> int | None:
        return self.raft.leader.node_id if self.raft.leader else None

    @property
    def term(self) -> int:
        return self.raft.term

    @property
    def commit_index(self) -> int:
        return self.raft.index

    @property
    def applied_index(self) -> int:
        return self.raft.index

    async def propose(self, command: bytes, *, timeout_ms: int) -> CommittedEntry:
        self.proposed.append(MetadataBatch.FromString(command))
        await self.gate.wait()
        if self.is_answer_lost:
            self.in_limbo.append(command)
            raise ProposalUnknownError("no answer in time")
        if not self.is_leader:
            raise NotLeaderError("lost it", leader_id=self.leader_id)
        return self.raft.commit(command)

    async def read_barrier(self, *, timeout_ms: int) -> int:
        self.barriers += 1
        if self.is_answer_lost:
            raise ProposalUnknownError("no answer in time")
        for command in self.in_limbo:
            self.raft.commit(command)
        self.in_limbo.clear()
        return self.raft.index

    def on_leadership(self, listener: Callable[[], None]) -> None:
        self.listener = listener


class Nodes:
    def __init__(self, random: SeededRandom) -> None:
        self.clock = FakeClock()
        self.raft = FakeRaft()
        self.logs = [FakeLog(1, self.raft), FakeLog(2, self.raft)]
        self.quorums = [
            Quorum(log=log, clock=self.clock, random=random, config=CONFIG) for log in self.logs
        ]


@pytest.fixture
async def nodes(random: SeededRandom) -> AsyncIterator[Nodes]:
    """Two controllers; the first is active."""
    nodes = Nodes(random)
    for quorum in nodes.quorums:
        await quorum.start()
    nodes.raft.elect(nodes.logs[0])
    yield nodes
    for quorum in nodes.quorums:
        await quorum.stop()


def _registration(broker_id: int, incarnation: int = 1) -> RegisterBrokerRequest:
    return RegisterBrokerRequest(
        broker_id=broker_id,
        cluster_id="tide",
        incarnation_id=bytes([incarnation]) * 16,
        address=f"h:{broker_id}",
    )


async def _start_broker(quorum: Quorum, broker_id: int) -> BrokerHeartbeatRequest:
    registered = await quorum.register_broker(_registration(broker_id))
    beat = BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=registered.broker_epoch,
        metadata_offset=registered.broker_epoch,
    )
    assert not (await quorum.broker_heartbeat(beat)).is_fenced
    return beat


def _creation(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[NewTopic(name=name)])


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  # any condition
            await asyncio.sleep(0)


async def test_a_reply_comes_after_its_records_applied_on_the_node(nodes: Nodes) -> None:
    active, follower = nodes.quorums
    beat = await _start_broker(active, 1)
    assert beat.broker_epoch == active.image.brokers[1].broker_epoch == 3
    created = (await active.create_topics(_creation("t"))).topics[0]
    assert active.image.topics["t"].topic_id == created.topic_id
    assert follower.image == active.image
    assert [batch.controller_epoch for batch in nodes.logs[0].proposed] == [2, 2, 2]
    assert len({batch.command_id for batch in nodes.logs[0].proposed}) == 3


async def test_a_node_that_is_not_active_names_the_one_that_is(nodes: Nodes) -> None:
    refused = await nodes.quorums[1].register_broker(_registration(1))
    assert refused.error.code == common_pb2.NOT_CONTROLLER
    assert "controller 1 leads" in refused.error.message
    assert (nodes.quorums[1].is_active, nodes.quorums[1].leader_id) == (False, 1)
    nodes.raft.elect(None)
    deposed = nodes.quorums[0]
    for reply in (
        await deposed.create_topics(_creation("t")),
        await deposed.delete_topics(DeleteTopicsRequest()),
        await deposed.alter_configs(AlterConfigsRequest()),
        await deposed.alter_partition(AlterPartitionRequest()),
        await deposed.broker_heartbeat(BrokerHeartbeatRequest()),
    ):
        assert reply.error.code == common_pb2.NOT_CONTROLLER
        assert "no controller leads" in reply.error.message
    assert not nodes.logs[0].proposed


async def test_commands_that_wait_are_decided_in_order_and_committed_as_one_batch(
    nodes: Nodes,
) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await _start_broker(active, 1)
    log.gate.clear()
    first = asyncio.create_task(active.create_topics(_creation("a")))
    await _until(lambda: len(log.proposed) == 3)
    rest = [asyncio.create_task(active.create_topics(_creation(n))) for n in ("b", "c", "b")]
    await asyncio.sleep(0)
    log.gate.set()
    replies = [(await task).topics[0].error.code for task in [first, *rest]]
    assert replies == [0, 0, 0, common_pb2.TOPIC_ALREADY_EXISTS]
    assert len(log.proposed) == 4
    assert list(active.image.topics) == ["a", "b", "c"]


async def test_altered_configs_show_from_the_offset_that_the_reply_names(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    await _start_broker(active, 1)
    await active.create_topics(_creation("t"))
    change = AlterConfigsRequest.Change(key="retention.ms", value="7")
    request = AlterConfigsRequest(
        resources=[AlterConfigsRequest.Resource(name="t", changes=[change])]
    )
    first = await active.alter_configs(request)
    assert active.image.topics["t"].configs == {"retention.ms": "7"}
    assert first.metadata_offset == active.image.offset
    await active.create_topics(_creation("u"))
    repeated = await active.alter_configs(request)
    assert first.metadata_offset < repeated.metadata_offset == active.image.offset


async def test_two_incarnations_in_one_batch_never_share_a_broker_epoch(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    replies = await asyncio.gather(
        active.register_broker(_registration(1, incarnation=1)),
        active.register_broker(_registration(1, incarnation=2)),
        active.register_broker(_registration(1, incarnation=1)),
    )
    assert len(nodes.logs[0].proposed) == 1
    codes = [reply.error.code for reply in replies]
    assert codes == [0, common_pb2.DUPLICATE_BROKER_REGISTRATION, 0]
    assert replies[0].broker_epoch == replies[2].broker_epoch == active.image.offset
    assert active.image.brokers[1].incarnation_id == b"\1" * 16


async def test_no_request_may_carry_the_epoch_of_an_uncommitted_registration(
    nodes: Nodes,
) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    log.gate.clear()
    held = asyncio.create_task(active.register_broker(_registration(9)))
    await _until(lambda: len(log.proposed) == 1)
    registering = asyncio.create_task(active.register_broker(_registration(1)))
    guessing = asyncio.create_task(
        active.alter_partition(AlterPartitionRequest(broker_id=1, broker_epoch=0))
    )
    await asyncio.sleep(0)
    log.gate.set()
    assert not (await held).error.code
    assert not (await registering).error.code
    assert (await guessing).error.code == common_pb2.STALE_BROKER_EPOCH


async def test_a_decision_of_a_deposed_controller_is_void_everywhere(nodes: Nodes) -> None:
    old, new = nodes.quorums
    await _start_broker(old, 1)
    nodes.logs[0].gate.clear()
    late = asyncio.create_task(old.create_topics(_creation("late")))
    await _until(lambda: len(nodes.logs[0].proposed) == 3)
    nodes.raft.elect(nodes.logs[1])
    assert not (await new.create_topics(_creation("new"))).topics[0].error.code
    nodes.logs[0].thinks_it_leads = True
    nodes.logs[0].gate.set()
    reply = await late
    assert reply.error.code == common_pb2.NOT_CONTROLLER
    assert "void" in reply.error.message
    for quorum in nodes.quorums:
        assert list(quorum.image.topics) == ["new"]


async def test_a_proposal_refused_by_the_log_is_answered_as_not_done(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    log.gate.clear()
    asked = asyncio.create_task(active.register_broker(_registration(1)))
    await _until(lambda: len(log.proposed) == 1)
    nodes.raft.elect(nodes.logs[1])
    log.gate.set()
    assert (await asked).error.code == common_pb2.NOT_CONTROLLER
    assert not active.image.brokers


async def test_a_command_that_waited_is_not_decided_by_a_node_deposed_since(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await _start_broker(active, 1)
    log.gate.clear()
    first = asyncio.create_task(active.register_broker(_registration(2)))
    await _until(lambda: len(log.proposed) == 3)
    needs_no_record = asyncio.create_task(active.register_broker(_registration(1)))
    await asyncio.sleep(0)
    nodes.raft.elect(nodes.logs[1])
    log.gate.set()
    await first
    assert (await needs_no_record).error.code == common_pb2.NOT_CONTROLLER


async def test_after_an_unknown_outcome_nothing_is_decided_before_it_is_known(
    nodes: Nodes,
) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    log.is_answer_lost = True
    assert (await active.register_broker(_registration(1))).error.code == (
        common_pb2.REQUEST_TIMED_OUT
    )
    assert (await active.register_broker(_registration(1))).error.code == (
        common_pb2.REQUEST_TIMED_OUT
    )
    assert (len(log.proposed), log.barriers) == (1, 1)
    log.is_answer_lost = False
    repeated = await active.register_broker(_registration(1))
    assert repeated.broker_epoch == active.image.brokers[1].broker_epoch
    assert (len(log.proposed), log.barriers) == (1, 2), "it had been committed after all"
    await active.register_broker(_registration(2))
    assert log.barriers == 2


async def test_a_full_queue_refuses_at_once(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    log.gate.clear()
    first = asyncio.create_task(active.register_broker(_registration(1)))
    await _until(lambda: len(log.proposed) == 1)
    waiting = [
        asyncio.create_task(active.register_broker(_registration(2)))
        for _ in range(CONFIG.commands_queued_max)
    ]
    await asyncio.sleep(0)
    refused = await active.register_broker(_registration(3))
    assert refused.error.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
    log.gate.set()
    assert not any([(await task).error.code for task in [first, *waiting]])
    assert sorted(active.image.brokers) == [1, 2]


async def test_a_heartbeat_that_changes_nothing_does_not_wait_for_commands(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    beat = await _start_broker(active, 1)
    log.gate.clear()
    other = asyncio.create_task(active.register_broker(_registration(2)))
    await _until(lambda: len(log.proposed) == 3)
    reply = await active.broker_heartbeat(beat)
    assert not reply.is_fenced
    assert (reply.metadata_offset, reply.controller_epoch) == (active.image.offset, 2)
    assert not other.done()
    log.gate.set()
    await other


async def test_silent_brokers_are_fenced_by_the_active_controller(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    await _start_broker(active, 1)
    nodes.clock.now_ms += CONFIG.session_timeout_ms
    await _until(lambda: not active.image.is_alive(1))


async def test_sessions_start_anew_when_a_node_becomes_active_again(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    await _start_broker(active, 1)
    nodes.raft.elect(nodes.logs[1])
    nodes.clock.now_ms += CONFIG.session_timeout_ms
    nodes.raft.elect(nodes.logs[0])
    for _ in range(20):
        await asyncio.sleep(CONFIG.session_check_interval_ms / 1000)
    assert active.image.is_alive(1)


async def test_a_held_quorum_fences_nobody_until_released(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    await _start_broker(active, 1)
    active.hold(nodes.clock.now_ms + 30_000)
    nodes.clock.now_ms += CONFIG.session_timeout_ms
    for _ in range(20):
        await asyncio.sleep(CONFIG.session_check_interval_ms / 1000)
    assert active.image.is_alive(1)
    active.release()
    await _until(lambda: not active.image.is_alive(1))


async def test_followers_get_old_batches_then_new_ones_then_keep_alives(nodes: Nodes) -> None:
    active, other = nodes.quorums
    await active.register_broker(_registration(1))
    await active.register_broker(_registration(2))
    async with aclosing(other.follow(3)) as batches:
        assert [offset for offset, _ in await anext(batches)] == [6]
        assert await anext(batches) == [], "nothing new: a keep-alive"
        await active.register_broker(_registration(3))
        found = await anext(batches)
        assert [offset for offset, _ in found] == [9]
        assert found[0][1].records[0].register_broker.broker_id == 3


async def test_one_answer_to_a_follower_is_bounded_in_bytes(random: SeededRandom) -> None:
    committed = CommittedMetadata(replace(CONFIG, follow_bytes_max=1))
    for index in (1, 2, 3):
        batch = MetadataBatch(
            base_offset=index - 1, command_id=random.randbytes(16), controller_epoch=1
        )
        committed.on_committed(CommittedEntry(index, 1, batch.SerializeToString()))
    async with aclosing(committed.follow(0)) as batches:
        answers = [[offset for offset, _ in await anext(batches)] for _ in range(3)]
    assert answers == [[1], [2], [3]], "at least one, and no more than fit"


async def test_a_follower_ahead_of_its_source_gets_nothing_twice(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    await active.register_broker(_registration(1))
    async with aclosing(active.follow(3)) as batches:
        assert await anext(batches) == []
    async with aclosing(active.follow(100)) as batches:
        await active.register_broker(_registration(2))
        assert await anext(batches) == []


async def test_what_a_follower_replays_is_the_controllers_image(
    nodes: Nodes, rebuild: Callable[[list[tuple[int, MetadataBatch]]], MetadataImage]
) -> None:
    active = nodes.quorums[0]
    await _start_broker(active, 1)
    await active.create_topics(_creation("t"))
    async with aclosing(active.follow(0)) as batches:
        assert rebuild(await anext(batches)) == active.image


async def test_stopping_answers_all_that_wait_and_ends_followers(random: SeededRandom) -> None:
    nodes = Nodes(random)
    quorum, log = nodes.quorums[0], nodes.logs[0]
    await quorum.start()
    nodes.raft.elect(log)
    log.gate.clear()
    in_flight = asyncio.create_task(quorum.register_broker(_registration(1)))
    await _until(lambda: len(log.proposed) == 1)
    queued = asyncio.create_task(quorum.register_broker(_registration(2)))
    await asyncio.sleep(0)
    follower = aiter(quorum.follow(0))
    await quorum.stop()
    assert (await in_flight).error.code
    assert (await queued).error.code == common_pb2.NOT_CONTROLLER
    with pytest.raises(StopAsyncIteration):
        await anext(follower)
    async with asyncio.timeout(5):
        late = await quorum.register_broker(_registration(3))
    assert late.error.code == common_pb2.NOT_CONTROLLER
