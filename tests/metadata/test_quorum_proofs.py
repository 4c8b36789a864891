"""No deciding request is answered by a controller that was replaced, and none is followed twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import pytest
from tests.metadata.fake_quorum import Nodes, attempt, creation, registration, start_broker, until

from tidelog.metadata.quorum_controller import QuorumController
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    AlterConfigsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tidelog.v1.common_pb2 import Error
from tidelog.v1.controller_pb2 import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    RegisterBrokerRequest,
)
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord, ProducerIdsRecord


class Decided(Protocol):
    @property
    def error(self) -> Error: ...
    @property
    def controller_epoch(self) -> int: ...


Ask = Callable[[QuorumController], Awaitable[Decided]]


def _beat(quorum: QuorumController) -> BrokerHeartbeatRequest:
    broker_epoch = quorum.image.brokers[1].broker_epoch
    return BrokerHeartbeatRequest(
        broker_id=1, broker_epoch=broker_epoch, metadata_offset=quorum.image.offset
    )


def _next_registration(quorum: QuorumController) -> RegisterBrokerRequest:
    replaced = quorum.image.brokers[1].broker_epoch
    return registration(1, incarnation=2, previous_broker_epoch=replaced)


def _isr_change(quorum: QuorumController) -> AlterPartitionRequest:
    return AlterPartitionRequest(
        broker_id=1,
        broker_epoch=quorum.image.brokers[1].broker_epoch,
        partitions=[AlterPartitionRequest.Partition(topic="t", topic_id=b"x" * 16)],
    )


def _altered(value: str, *, command_id: bytes = b"") -> AlterConfigsRequest:
    change = AlterConfigsRequest.Change(key="retention.ms", value=value)
    resource = AlterConfigsRequest.Resource(name="t", changes=[change])
    return AlterConfigsRequest(resources=[resource], command_id=command_id)


# What the image of `_prepared` alone decides: none of these has a record.
ANSWERED_FROM_THE_IMAGE: dict[str, Ask] = {
    "heartbeat that changes nothing": lambda q: q.submit(attempt(q, _beat(q))),
    "heartbeat of a stale incarnation": lambda q: q.submit(
        BrokerHeartbeatRequest(broker_id=1, broker_epoch=1)
    ),
    "registration repeated": lambda q: q.submit(registration(1)),
    "registration refused": lambda q: q.submit(_next_registration(q)),
    "registration that comes late": lambda q: q.submit(registration(1, incarnation=2)),
    "AlterPartition refused": lambda q: q.submit(attempt(q, _isr_change(q))),
    "attempt that comes late": lambda q: q.submit(_isr_change(q)),
    "heartbeat that comes late": lambda q: q.submit(_beat(q)),
    "AlterPartition of a stale incarnation": lambda q: q.submit(
        AlterPartitionRequest(broker_id=1, broker_epoch=1)
    ),
    "topic exists": lambda q: q.submit(creation("t")),
    "topic only validated": lambda q: q.submit(
        CreateTopicsRequest(topics=creation("u").topics, validate_only=True)
    ),
    "topic unknown": lambda q: q.submit(DeleteTopicsRequest(names=["u"])),
    "config as it is": lambda q: q.submit(_altered("5")),
    "config of an unknown topic": lambda q: q.submit(
        AlterConfigsRequest(resources=[AlterConfigsRequest.Resource(name="u")])
    ),
    "command followed before": lambda q: q.submit(creation("t", command_id=b"c" * 16)),
}
every_answer = pytest.mark.parametrize(
    "ask", ANSWERED_FROM_THE_IMAGE.values(), ids=ANSWERED_FROM_THE_IMAGE
)


@pytest.fixture
async def active(nodes: Nodes) -> QuorumController:
    """The first controller, with a broker and a topic."""
    active = nodes.quorums[0]
    await start_broker(active, 1)
    await active.submit(creation("t", command_id=b"c" * 16))
    await active.submit(_altered("5"))
    return active


@every_answer
async def test_the_active_controller_answers_in_its_epoch_after_one_proof(
    nodes: Nodes, active: QuorumController, ask: Ask
) -> None:
    log = nodes.logs[0]
    proposed, barriers = len(log.proposed), log.barriers
    answer = await ask(active)
    assert answer.error.code != common_pb2.NOT_CONTROLLER
    assert answer.controller_epoch == nodes.raft.term
    assert (len(log.proposed), log.barriers) == (proposed, barriers + 1)


@every_answer
async def test_an_isolated_controller_answers_nothing_from_its_image(
    nodes: Nodes, active: QuorumController, ask: Ask
) -> None:
    nodes.logs[0].is_isolated = True
    nodes.raft.elect(nodes.logs[1])
    assert active.is_active, "as far as it knows"
    answer = await ask(active)
    assert answer.error.code == common_pb2.NOT_CONTROLLER
    assert not answer.controller_epoch, "nobody decided"


@every_answer
async def test_a_controller_replaced_while_it_proves_does_not_answer(
    nodes: Nodes, active: QuorumController, ask: Ask
) -> None:
    """Also not when it leads again by then: what it decided on may be long gone."""
    log = nodes.logs[0]
    log.barrier_gate.clear()
    barriers = log.barriers
    asked = asyncio.ensure_future(ask(active))
    await until(lambda: log.barriers > barriers)
    nodes.raft.elect(nodes.logs[1])
    nodes.raft.elect(log)
    log.barrier_gate.set()
    answer = await asked
    assert answer.error.code == common_pb2.NOT_CONTROLLER
    assert not answer.controller_epoch


async def test_an_answer_from_an_image_that_changed_before_its_proof_is_not_told(
    nodes: Nodes, active: QuorumController
) -> None:
    log = nodes.logs[0]
    log.barrier_gate.clear()
    barriers = log.barriers
    asked = asyncio.create_task(active.submit(creation("t")))
    await until(lambda: log.barriers > barriers)
    batch = MetadataBatch(controller_epoch=log.term, base_offset=active.image.offset)
    batch.records.append(MetadataRecord(producer_ids=ProducerIdsRecord(next_producer_id=1_000)))
    nodes.raft.commit(batch.SerializeToString())
    log.barrier_gate.set()
    answer = await asked
    assert answer.error.code == common_pb2.NOT_CONTROLLER
    assert not answer.topics


async def test_nothing_is_decided_in_a_term_that_this_node_was_not_told_to_lead(
    nodes: Nodes, active: QuorumController
) -> None:
    """A batch of that epoch would be valid, though what was heard of brokers is of another."""
    log = nodes.logs[0]
    proposed = len(log.proposed)
    log.term += 1
    for answer in (
        await active.submit(creation("u")),
        await active.submit(attempt(active, _beat(active))),
    ):
        assert answer.error.code == common_pb2.NOT_CONTROLLER
    assert len(log.proposed) == proposed


async def test_a_heartbeat_is_decided_on_what_was_committed_before_it_was_asked(
    nodes: Nodes, active: QuorumController
) -> None:
    """A resumed process may have entries that are committed but not applied; the proof waits."""
    log = nodes.logs[0]
    log.barrier_gate.clear()
    barriers, before = log.barriers, active.image.offset
    asked = asyncio.create_task(active.submit(attempt(active, _beat(active))))
    await until(lambda: log.barriers > barriers)
    await active.submit(creation("u"))
    log.barrier_gate.set()
    assert (await asked).metadata_offset == active.image.offset > before


async def test_what_has_records_is_proven_by_its_commit_alone(
    nodes: Nodes, active: QuorumController
) -> None:
    log = nodes.logs[0]
    barriers = log.barriers
    log.gate.clear()
    tasks = [asyncio.create_task(active.submit(creation(name))) for name in "abat"]
    await until(lambda: log.proposed[-1].records[0].topic.name == "a")
    log.gate.set()
    answers = [await task for task in tasks]
    codes = [answer.topics[0].error.code for answer in answers]
    exists = common_pb2.TOPIC_ALREADY_EXISTS
    assert codes == [0, 0, exists, exists]
    assert {answer.controller_epoch for answer in answers} == {nodes.raft.term}
    assert log.barriers == barriers


async def test_every_decision_and_batch_carries_the_raft_term(nodes: Nodes) -> None:
    for leader in (0, 1, 0):
        nodes.raft.elect(nodes.logs[leader])
        quorum = nodes.quorums[leader]
        replies: list[Decided] = [
            await quorum.submit(registration(nodes.raft.term)),
            await quorum.submit(creation(f"t{nodes.raft.term}")),
            await quorum.submit(DeleteTopicsRequest(names=["t"])),
            await quorum.submit(AlterConfigsRequest()),
            await quorum.submit(AlterPartitionRequest()),
        ]
        assert {reply.controller_epoch for reply in replies} == {nodes.raft.term}
        assert nodes.logs[leader].proposed[-1].controller_epoch == nodes.raft.term


async def _lose_answer(nodes: Nodes, asked: Awaitable[Decided]) -> None:
    """The command is proposed, may commit later, and is answered with an unknown outcome."""
    nodes.logs[0].is_answer_lost = True
    assert (await asked).error.code == common_pb2.REQUEST_TIMED_OUT
    nodes.logs[0].is_answer_lost = False


async def test_a_creation_retried_after_an_unknown_outcome_happens_once(
    nodes: Nodes, active: QuorumController
) -> None:
    """Between the two, somebody saw the topic and deleted it: it must not come back."""
    command = creation("new", command_id=b"n" * 16)
    await _lose_answer(nodes, active.submit(command))
    assert not (await active.submit(DeleteTopicsRequest(names=["new"]))).topics[0].error.code
    retried = await active.submit(command)
    assert not retried.error.code
    assert not retried.topics[0].error.code
    assert retried.topics[0].topic_id
    assert "new" not in active.image.topics


async def test_a_deletion_retried_at_the_next_controller_spares_a_topic_of_the_same_name(
    nodes: Nodes, active: QuorumController
) -> None:
    command = DeleteTopicsRequest(names=["t"], command_id=b"d" * 16)
    await active.submit(command)  # its answer never came
    await active.submit(creation("t"))
    nodes.raft.elect(nodes.logs[1])
    retried = await nodes.quorums[1].submit(command)
    expected = DeleteTopicsResponse(topics=[DeleteTopicsResponse.Topic(name="t")])
    expected.controller_epoch = nodes.raft.term
    assert retried == expected
    assert "t" in active.image.topics
    assert active.image == nodes.quorums[1].image, "what is remembered stays as it was answered"


async def test_a_config_change_retried_does_not_undo_a_later_one(
    nodes: Nodes, active: QuorumController
) -> None:
    command = _altered("7", command_id=b"a" * 16)
    await _lose_answer(nodes, active.submit(command))
    await active.submit(_altered("8"))
    retried = await active.submit(command)
    assert not retried.error.code
    assert retried.metadata_offset == active.image.offset
    assert active.image.topics["t"].configs == {"retention.ms": "8"}


async def test_a_command_twice_in_one_batch_happens_once(
    nodes: Nodes, active: QuorumController
) -> None:
    log = nodes.logs[0]
    log.gate.clear()
    first = asyncio.create_task(active.submit(registration(3)))
    await until(lambda: bool(log.proposed[-1].records[0].register_broker.broker_id))
    both = [
        asyncio.create_task(active.submit(creation("x", command_id=b"x" * 16))) for _ in range(2)
    ]
    await asyncio.sleep(0)
    log.gate.set()
    one, other = [await task for task in both]
    await first
    assert one == other
    assert one.topics[0].topic_id == active.image.topics["x"].topic_id


async def test_a_batch_proposed_twice_applies_once(nodes: Nodes, active: QuorumController) -> None:
    image = active.image
    nodes.raft.commit(nodes.logs[0].proposed[-1].SerializeToString())
    assert active.image is image


@pytest.mark.parametrize(
    "command_id", [b"c" * 16, b"short", b"l" * 17], ids=["of another command", "short", "long"]
)
async def test_a_command_id_that_cannot_be_is_refused(
    active: QuorumController, command_id: bytes
) -> None:
    command = DeleteTopicsRequest(names=["t"], command_id=command_id)
    refused = await active.submit(command)
    assert refused.error.code == common_pb2.INVALID_REQUEST
    assert "t" in active.image.topics
