"""Attempts that come late: refused by the controller that decided on a later one, and by the next.

Each kind of request that a broker repeats; and the story that lost acknowledged records.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import TYPE_CHECKING

import pytest
from tests.broker.partition_cores import LAG_MS_MAX, Core, found
from tests.metadata.broker_endpoints import registered_at
from tests.metadata.fake_quorum import Nodes, attempt, registration, start_broker, until

from tidelog.broker.replica.effects import ProposeIsr
from tidelog.metadata.brokers import ExpireSessions
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode
from tidelog.v1.controller_pb2 import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
    ReportReplicaStateRequest,
)

if TYPE_CHECKING:
    from tests.metadata.conftest import World

Numbered = BrokerHeartbeatRequest | AlterPartitionRequest | ReportReplicaStateRequest


@pytest.fixture
def led(world: World) -> World:
    """Topic t on brokers 1, 2 and 3; 3 is fenced and out of the ISR."""
    world.start(1, 2, 3)
    assert not world.create("t").error.code
    world.pass_session_but(1, 2)
    assert 3 not in world.partition("t").isr
    return world


def isr_change(world: World, *isr: int) -> AlterPartitionRequest:
    """What the leader of partition 0 asks for now."""
    state = world.partition("t")
    leader = state.leader_id or 0
    asked = AlterPartitionRequest.Partition(
        topic="t",
        topic_id=world.image.topics["t"].topic_id,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        new_isr=[
            AlterPartitionRequest.Member(broker_id=one, broker_epoch=world.epoch(one))
            for one in isr
        ],
    )
    return AlterPartitionRequest(
        broker_id=leader, broker_epoch=world.epoch(leader), partitions=[asked]
    )


def report(world: World, broker_id: int) -> ReportReplicaStateRequest:
    asked = ReportReplicaStateRequest.Partition(
        topic="t",
        topic_id=world.image.topics["t"].topic_id,
        partition_epoch=world.partition("t").partition_epoch,
        condition=ReportReplicaStateRequest.OFFLINE,
    )
    return ReportReplicaStateRequest(
        broker_id=broker_id, broker_epoch=world.epoch(broker_id), partitions=[asked]
    )


def numbered(world: World, kind: str) -> Numbered:
    """A request of this kind that would change something, not numbered yet."""
    match kind:
        case "heartbeat":
            return BrokerHeartbeatRequest(
                broker_id=3, broker_epoch=world.epoch(3), metadata_offset=world.image.offset
            )
        case "AlterPartition":
            return isr_change(world, world.partition("t").leader_id or 0)
    return report(world, 2)


def code_of(world: World, request: Numbered) -> ErrorCode:
    """What the whole request is answered."""
    code: ErrorCode = world.do(request).error.code
    return code


every_kind = pytest.mark.parametrize("kind", ["heartbeat", "AlterPartition", "ReportReplicaState"])


@every_kind
def test_an_attempt_is_refused_after_a_later_one_of_its_kind(led: World, kind: str) -> None:
    late = led.attempt(numbered(led, kind))
    later = numbered(led, kind)
    if isinstance(later, BrokerHeartbeatRequest):
        later.metadata_offset = 0
    else:
        del later.partitions[:]
    assert code_of(led, later) == common_pb2.NONE
    before = led.image
    assert code_of(led, late) == common_pb2.STALE_ATTEMPT
    assert led.image is before
    assert code_of(led, numbered(led, kind)) == common_pb2.NONE
    assert led.image is not before, "it would have changed something"


@every_kind
def test_an_attempt_is_followed_once_though_it_arrives_twice(led: World, kind: str) -> None:
    request = led.attempt(numbered(led, kind))
    assert code_of(led, deepcopy(request)) == common_pb2.NONE
    before = led.image
    assert code_of(led, request) == common_pb2.STALE_ATTEMPT
    assert led.image is before


@every_kind
@pytest.mark.parametrize("off_by", [-1, 1])
def test_an_attempt_meant_for_another_controller_is_refused(
    led: World, kind: str, off_by: int
) -> None:
    request = led.attempt(numbered(led, kind))
    request.controller_epoch += off_by
    before = led.image
    assert code_of(led, request) == common_pb2.STALE_CONTROLLER_EPOCH
    assert led.image is before
    request.controller_epoch -= off_by
    assert code_of(led, request) == common_pb2.NONE, "the refused one left no trace"


@every_kind
def test_a_controller_that_is_active_again_refuses_what_was_meant_for_it_before(
    led: World, kind: str
) -> None:
    late = led.attempt(numbered(led, kind))
    led.activate()
    led.activate()
    before = led.image
    assert code_of(led, late) == common_pb2.STALE_CONTROLLER_EPOCH
    assert led.image is before
    assert code_of(led, numbered(led, kind)) == common_pb2.NONE


def test_a_refused_attempt_has_earlier_ones_refused_too(led: World) -> None:
    """Its sender acts on the refusal: what it asked for before may not come true any more."""
    leader = led.partition("t").leader_id or 0
    late = led.attempt(isr_change(led, leader))
    led.controller.hold(led.now_ms + 1)
    assert code_of(led, isr_change(led, leader)) == common_pb2.BROKER_NOT_AVAILABLE
    led.controller.release()
    assert code_of(led, late) == common_pb2.STALE_ATTEMPT


def test_kinds_of_requests_overtake_each_other(led: World) -> None:
    leader = led.partition("t").leader_id
    assert leader is not None
    change = led.attempt(isr_change(led, leader))
    assert not led.beat(leader).error.code
    assert code_of(led, change) == common_pb2.NONE


def test_brokers_are_numbered_apart(led: World) -> None:
    first = led.attempt(BrokerHeartbeatRequest(broker_id=1, broker_epoch=led.epoch(1)))
    assert not led.beat(2).error.code
    assert code_of(led, first) == common_pb2.NONE


def test_a_new_registration_begins_to_count_anew(led: World) -> None:
    for _ in range(5):
        led.beat(3)
    led.pass_session_but(1, 2)
    assert not led.register(3, incarnation=2).error.code
    first = led.heartbeat(3)
    first.attempt = 1
    reply = led.do(first)
    assert isinstance(reply, BrokerHeartbeatResponse)
    assert not reply.error.code
    assert not reply.is_fenced


def test_a_controller_forgets_its_numbers_with_its_epoch(led: World) -> None:
    request = led.attempt(BrokerHeartbeatRequest(broker_id=1, broker_epoch=led.epoch(1)))
    request.attempt = 1_000
    assert code_of(led, request) == common_pb2.NONE
    assert led.beat(1).error.code == common_pb2.STALE_ATTEMPT
    led.activate()
    assert not led.beat(1).error.code


def test_an_earlier_incarnation_does_not_count(led: World) -> None:
    old = BrokerHeartbeatRequest(broker_id=3, broker_epoch=led.epoch(3))
    led.pass_session_but(1, 2)
    led.register(3, incarnation=2)
    stray = led.attempt(old)
    stray.attempt = 1_000
    assert code_of(led, stray) == common_pb2.STALE_BROKER_EPOCH
    assert not led.beat(3).error.code


def test_a_late_heartbeat_does_not_unfence_a_stopping_broker(led: World) -> None:
    late = led.heartbeat(2)
    assert led.beat(2, want_shut_down=True).should_shut_down
    assert code_of(led, late) == common_pb2.STALE_ATTEMPT
    assert not led.image.is_alive(2)


async def test_a_stopping_broker_goes_after_the_heartbeat_that_unfences_it(nodes: Nodes) -> None:
    """Decided on before it, and not committed yet: "you may go" would come too early."""
    active, log = nodes.quorums[0], nodes.logs[0]
    registered = await active.submit(registration(1))
    beat = BrokerHeartbeatRequest(
        broker_id=1,
        broker_epoch=registered.broker_epoch,
        metadata_offset=registered.broker_epoch,
    )
    log.gate.clear()
    unfencing = asyncio.create_task(active.submit(attempt(active, beat)))
    proposed = len(log.proposed)
    await until(lambda: len(log.proposed) > proposed)
    beat.want_shut_down = True
    stopping = asyncio.create_task(active.submit(attempt(active, beat)))
    log.gate.set()
    assert not (await unfencing).is_fenced
    assert (await stopping).should_shut_down
    assert not active.image.is_alive(1)


async def test_a_command_that_waited_for_a_controller_to_lead_again_is_refused(
    nodes: Nodes,
) -> None:
    """Its caller is long gone, and it still is in the queue."""
    active, log = nodes.quorums[0], nodes.logs[0]
    beat = await start_broker(active, 1)
    log.gate.clear()
    held = asyncio.create_task(active.submit(registration(2)))
    proposed = len(log.proposed)
    await until(lambda: len(log.proposed) > proposed)
    beat.want_shut_down = True
    queued = asyncio.create_task(active.submit(attempt(active, beat)))
    await until(lambda: active._queue.qsize() == 1)
    nodes.raft.elect(nodes.logs[1])
    nodes.raft.elect(log)
    log.gate.set()
    await held
    assert (await queued).error.code == common_pb2.STALE_CONTROLLER_EPOCH
    assert active.image.is_alive(1)


# Registrations


def test_a_late_registration_does_not_replace_a_later_process(led: World) -> None:
    late = RegisterBrokerRequest(
        broker_id=3,
        cluster_id="tide",
        incarnation_id=b"l" * 16,
        endpoints=registered_at("h:3"),
        previous_broker_epoch=led.epoch(3),
    )
    led.register(3, incarnation=2)
    led.activate()
    before = led.image
    reply = led.do(late)
    assert isinstance(reply, RegisterBrokerResponse)
    assert (reply.error.code, reply.broker_epoch) == (common_pb2.STALE_BROKER_EPOCH, led.epoch(3))
    assert led.image is before
    late.previous_broker_epoch = reply.broker_epoch
    assert not led.do(late).error.code, "and now it is no late one"


def test_a_first_registration_replaces_none(world: World) -> None:
    request = RegisterBrokerRequest(
        broker_id=3,
        cluster_id="tide",
        incarnation_id=b"l" * 16,
        endpoints=registered_at("h:3"),
        previous_broker_epoch=7,
    )
    assert world.do(request).error.code == common_pb2.STALE_BROKER_EPOCH
    request.previous_broker_epoch = 0
    assert not world.do(request).error.code


# The whole story, in both cores


@pytest.mark.parametrize("is_replaced", [False, True], ids=["same controller", "next controller"])
def test_a_late_isr_change_loses_nothing(led: World, *, is_replaced: bool) -> None:
    """The leader was told that 3 cannot join, and committed without it: 3 never joins by that."""
    led.beat(3)
    core = Core()
    core.image(isr=(1, 2))
    core.append(10)
    core.follower_fetch(2, 10)
    assert found(core.follower_fetch(3, 10), ProposeIsr)
    first = led.attempt(isr_change(led, 1, 2, 3))

    led.pass_session_but(1, 2)
    later = led.do(led.attempt(deepcopy(first)))
    assert isinstance(later, AlterPartitionResponse)
    core.isr_answer(later.partitions[0].error.code)
    core.now_ms += LAG_MS_MAX + 1
    core.append(20)
    core.follower_fetch(2, 20)
    assert core.high_watermark == 20, "acknowledged without 3"

    if is_replaced:
        led.activate()
    led.beat(3)
    assert led.image.is_alive(3)
    assert led.do(first).error.code
    led.now_ms += led.config.session_timeout_ms
    led.beat(3)
    led.do(ExpireSessions())
    assert led.partition("t").leader_id is None
    assert 3 not in led.partition("t").isr
