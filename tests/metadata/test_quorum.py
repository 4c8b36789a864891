"""The shell: what is answered when the log commits, loses its leader or does not know."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.metadata.fake_quorum import (
    CONFIG,
    Nodes,
    attempt,
    creation,
    registration,
    start_broker,
    until,
)

from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import AlterConfigsRequest, DeleteTopicsRequest
from tidelog.v1.controller_pb2 import AlterPartitionRequest, BrokerHeartbeatRequest

if TYPE_CHECKING:
    from tests.metadata.conftest import SeededRandom


async def test_a_reply_comes_after_its_records_applied_on_the_node(nodes: Nodes) -> None:
    active, follower = nodes.quorums
    beat = await start_broker(active, 1)
    assert beat.broker_epoch == active.image.brokers[1].broker_epoch == 3
    created = (await active.submit(creation("t"))).topics[0]
    assert active.image.topics["t"].topic_id == created.topic_id
    assert follower.image == active.image
    assert [batch.controller_epoch for batch in nodes.logs[0].proposed] == [2, 2, 2]
    assert len({batch.command_id for batch in nodes.logs[0].proposed}) == 3


async def test_a_node_that_is_not_active_names_the_one_that_is(nodes: Nodes) -> None:
    refused = await nodes.quorums[1].submit(registration(1))
    assert refused.error.code == common_pb2.NOT_CONTROLLER
    assert "controller 1 leads" in refused.error.message
    assert (nodes.quorums[1].is_active, nodes.quorums[1].leader_id) == (False, 1)
    nodes.raft.elect(None)
    deposed = nodes.quorums[0]
    for reply in (
        await deposed.submit(creation("t")),
        await deposed.submit(DeleteTopicsRequest()),
        await deposed.submit(AlterConfigsRequest()),
        await deposed.submit(AlterPartitionRequest()),
        await deposed.submit(BrokerHeartbeatRequest()),
    ):
        assert reply.error.code == common_pb2.NOT_CONTROLLER
        assert "no controller leads" in reply.error.message
    assert not nodes.logs[0].proposed


async def test_commands_that_wait_are_decided_in_order_and_committed_as_one_batch(
    nodes: Nodes,
) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await start_broker(active, 1)
    log.gate.clear()
    first = asyncio.create_task(active.submit(creation("a")))
    await until(lambda: len(log.proposed) == 3)
    rest = [asyncio.create_task(active.submit(creation(n))) for n in ("b", "c", "b")]
    await asyncio.sleep(0)
    log.gate.set()
    replies = [(await task).topics[0].error.code for task in [first, *rest]]
    assert replies == [0, 0, 0, common_pb2.TOPIC_ALREADY_EXISTS]
    assert len(log.proposed) == 4
    assert list(active.image.topics) == ["a", "b", "c"]


async def test_altered_configs_show_from_the_offset_that_the_reply_names(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    await start_broker(active, 1)
    await active.submit(creation("t"))
    change = AlterConfigsRequest.Change(key="retention.ms", value="7")
    request = AlterConfigsRequest(
        resources=[AlterConfigsRequest.Resource(name="t", changes=[change])]
    )
    first = await active.submit(request)
    assert active.image.topics["t"].configs == {"retention.ms": "7"}
    assert first.metadata_offset == active.image.offset
    await active.submit(creation("u"))
    repeated = await active.submit(request)
    assert first.metadata_offset < repeated.metadata_offset == active.image.offset


async def test_two_incarnations_in_one_batch_never_share_a_broker_epoch(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    replies = await asyncio.gather(
        active.submit(registration(1, incarnation=1)),
        active.submit(registration(1, incarnation=2)),
        active.submit(registration(1, incarnation=1)),
    )
    assert len(nodes.logs[0].proposed) == 1
    codes = [reply.error.code for reply in replies]
    assert codes == [0, common_pb2.DUPLICATE_BROKER_REGISTRATION, 0]
    assert replies[0].broker_epoch == replies[2].broker_epoch == active.image.offset
    assert active.image.brokers[1].incarnation_id == b"\1" * 16


async def test_no_request_may_carry_the_epoch_of_an_uncommittedregistration(
    nodes: Nodes,
) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    log.gate.clear()
    held = asyncio.create_task(active.submit(registration(9)))
    await until(lambda: len(log.proposed) == 1)
    registering = asyncio.create_task(active.submit(registration(1)))
    guessing = asyncio.create_task(
        active.submit(AlterPartitionRequest(broker_id=1, broker_epoch=0))
    )
    await asyncio.sleep(0)
    log.gate.set()
    assert not (await held).error.code
    assert not (await registering).error.code
    assert (await guessing).error.code == common_pb2.STALE_BROKER_EPOCH


async def test_a_decision_of_a_deposed_controller_is_void_everywhere(nodes: Nodes) -> None:
    old, new = nodes.quorums
    await start_broker(old, 1)
    nodes.logs[0].gate.clear()
    late = asyncio.create_task(old.submit(creation("late")))
    await until(lambda: len(nodes.logs[0].proposed) == 3)
    nodes.raft.elect(nodes.logs[1])
    assert not (await new.submit(creation("new"))).topics[0].error.code
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
    asked = asyncio.create_task(active.submit(registration(1)))
    await until(lambda: len(log.proposed) == 1)
    nodes.raft.elect(nodes.logs[1])
    log.gate.set()
    assert (await asked).error.code == common_pb2.NOT_CONTROLLER
    assert not active.image.brokers


async def test_a_command_that_waited_is_not_decided_by_a_node_deposed_since(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    await start_broker(active, 1)
    log.gate.clear()
    first = asyncio.create_task(active.submit(registration(2)))
    await until(lambda: len(log.proposed) == 3)
    needs_no_record = asyncio.create_task(active.submit(registration(1)))
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
    assert (await active.submit(registration(1))).error.code == (common_pb2.REQUEST_TIMED_OUT)
    asked_again = await active.submit(registration(2))
    assert asked_again.error.code == common_pb2.NOT_CONTROLLER, "it certainly did not happen"
    assert not log.proposed[1].records, "nothing but the search for what became of the first"
    log.is_answer_lost = False
    repeated = await active.submit(registration(1))
    assert repeated.broker_epoch == active.image.brokers[1].broker_epoch
    assert sum(bool(batch.records) for batch in log.proposed) == 1, "it had committed after all"
    assert list(active.image.brokers) == [1]
    await active.submit(registration(2))
    assert len(log.proposed) == 4


async def test_a_full_queue_refuses_at_once(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    log.gate.clear()
    first = asyncio.create_task(active.submit(registration(1)))
    await until(lambda: len(log.proposed) == 1)
    waiting = [
        asyncio.create_task(active.submit(registration(2)))
        for _ in range(CONFIG.commands_queued_max)
    ]
    await asyncio.sleep(0)
    refused = await active.submit(registration(3))
    assert refused.error.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
    log.gate.set()
    assert not any([(await task).error.code for task in [first, *waiting]])
    assert sorted(active.image.brokers) == [1, 2]


async def test_a_heartbeat_that_changes_nothing_does_not_wait_for_commands(nodes: Nodes) -> None:
    active, log = nodes.quorums[0], nodes.logs[0]
    beat = await start_broker(active, 1)
    log.gate.clear()
    other = asyncio.create_task(active.submit(registration(2)))
    await until(lambda: len(log.proposed) == 3)
    reply = await active.submit(attempt(active, beat))
    assert not reply.is_fenced
    assert (reply.metadata_offset, reply.controller_epoch) == (active.image.offset, 2)
    assert not other.done()
    log.gate.set()
    await other


async def test_silent_brokers_are_fenced_by_the_active_controller(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    await start_broker(active, 1)
    nodes.clock.now_ms += CONFIG.session_timeout_ms
    await until(lambda: not active.image.is_alive(1))


async def test_sessions_start_anew_when_a_node_becomes_active_again(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    await start_broker(active, 1)
    nodes.raft.elect(nodes.logs[1])
    nodes.clock.now_ms += CONFIG.session_timeout_ms
    nodes.raft.elect(nodes.logs[0])
    for _ in range(20):
        await asyncio.sleep(CONFIG.session_check_interval_ms / 1000)
    assert active.image.is_alive(1)


async def test_a_held_quorum_fences_nobody_until_released(nodes: Nodes) -> None:
    active = nodes.quorums[0]
    await start_broker(active, 1)
    active.hold(nodes.clock.now_ms + 30_000)
    nodes.clock.now_ms += CONFIG.session_timeout_ms
    for _ in range(20):
        await asyncio.sleep(CONFIG.session_check_interval_ms / 1000)
    assert active.image.is_alive(1)
    active.release()
    await until(lambda: not active.image.is_alive(1))


async def test_stopping_answers_all_that_wait_and_ends_followers(random: SeededRandom) -> None:
    nodes = Nodes(random)
    quorum, log = nodes.quorums[0], nodes.logs[0]
    await quorum.start()
    nodes.raft.elect(log)
    log.gate.clear()
    in_flight = asyncio.create_task(quorum.submit(registration(1)))
    await until(lambda: len(log.proposed) == 1)
    queued = asyncio.create_task(quorum.submit(registration(2)))
    await asyncio.sleep(0)
    follower = aiter(quorum.follow(0))
    await quorum.stop()
    assert (await in_flight).error.code
    assert (await queued).error.code == common_pb2.NOT_CONTROLLER
    with pytest.raises(StopAsyncIteration):
        await anext(follower)
    async with asyncio.timeout(5):
        late = await quorum.submit(registration(3))
    assert late.error.code == common_pb2.NOT_CONTROLLER


async def test_the_active_controller_counts_the_partitions_without_a_leader(nodes: Nodes) -> None:
    active, follower = nodes.quorums
    beat = await start_broker(active, 1)
    await active.submit(creation("t"))
    assert active.offline_partitions == 0
    beat.want_shut_down = True
    await active.submit(attempt(active, beat))
    assert active.image.topics["t"].partitions[0].leader_id is None
    assert active.offline_partitions == 1
    assert follower.image == active.image
    assert follower.offline_partitions == 0, "one node says it"
