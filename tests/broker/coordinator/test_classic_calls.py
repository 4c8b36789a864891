"""Calls of classic members through the group coordinator: who waits, how long, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from tests.broker.coordinator.classic_brokers import GROUP, Broker, joined, synced
from tests.broker.coordinator.classic_groups import request
from tests.client.patience import until

from tidelog.broker.coordinator.classic_calls import STALL_MS
from tidelog.broker.coordinator.classic_messages import (
    HeartbeatRequest,
    JoinAnswer,
    LeaveRequest,
    LeavingMember,
    MemberIdGivenError,
    SyncRequest,
)
from tidelog.broker.coordinator.classic_requests import NEW_MEMBER_RETURN_MS_MAX
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import (
    KafkaError,
    NotEnoughReplicasError,
    TidelogError,
    UnknownServerError,
    code_name,
)

pytestmark = pytest.mark.asyncio

DELAY_MS, SESSION_MS, REBALANCE_MS = 3_000, 10_000, 60_000
MAX_SESSION_MS = 1_800_000
CONFIG = GroupConfig(offsets_topic_num_partitions=1)


@pytest_asyncio.fixture
async def broker() -> Broker:
    return await new_broker()


async def new_broker(epoch: int = 1, batches: list[bytes] | None = None) -> Broker:
    return await Broker(epoch, batches or [], config=CONFIG, random=SeededRandom(epoch)).elected()


def begin(call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.create_task(call)


async def code_of(call: Any) -> str:
    """Name the error of a call that is refused."""
    with pytest.raises(TidelogError) as refused:
        async with asyncio.timeout(120):
            await call
    return code_name(refused.value.code)


def now_ms() -> float:
    return asyncio.get_running_loop().time() * 1000


async def settled(broker: Broker, count: int) -> list[JoinAnswer]:
    """Have members join together, and get their assignments."""
    answers = await asyncio.gather(*(joined(broker, request()) for _ in range(count)))
    leader = next(one for one in answers if one.leader == one.member_id)
    parts = {one.member_id: one.member_id.encode() for one in leader.members}
    found = await asyncio.gather(
        *(synced(broker, one, parts if one is leader else None) for one in answers)
    )
    assert [one.assignment for one in found] == [one.member_id.encode() for one in answers]
    return list(answers)


async def heartbeat(broker: Broker, answer: JoinAnswer) -> None:
    beat = HeartbeatRequest(answer.member_id, answer.generation)
    await broker.calls.heartbeat(GROUP, beat)


# Time


async def test_a_first_generation_begins_when_the_initial_delay_is_over(broker: Broker) -> None:
    began_ms = now_ms()
    answer = await joined(broker, request())
    # The coordinator counts whole milliseconds.
    assert DELAY_MS - 1 < now_ms() - began_ms < DELAY_MS + 5
    assert answer.member_id.startswith("c-")
    assert len(answer.member_id) == len("c-") + 36


async def test_members_that_join_together_are_of_one_generation(broker: Broker) -> None:
    answers = await settled(broker, 5)
    assert {one.generation for one in answers} == {1}
    assert len({one.member_id for one in answers}) == 5
    assert broker.calls.waiting_count == 0


async def test_a_session_ends_on_time(broker: Broker) -> None:
    first, second = await settled(broker, 2)
    heard_ms = now_ms()
    await heartbeat(broker, second)
    while now_ms() - heard_ms < SESSION_MS - 5:
        await heartbeat(broker, first)
        await asyncio.sleep(0.5 if now_ms() - heard_ms < SESSION_MS - 600 else 0.001)
    assert second.member_id in members(broker)
    await asyncio.sleep(0.015)
    assert members(broker) == [first.member_id]
    assert await code_of(heartbeat(broker, first)) == "REBALANCE_IN_PROGRESS"


def members(broker: Broker) -> list[str]:
    return list(broker.hosted.shard.classic.by_id[GROUP].state.members)


async def test_an_id_that_nobody_joins_with_ends(broker: Broker) -> None:
    with pytest.raises(MemberIdGivenError) as given:
        await broker.calls.join(GROUP, request())
    await asyncio.sleep(SESSION_MS / 1000 + 0.01)
    assert not broker.hosted.shard.exists(GROUP)
    again = request(given.value.member_id)
    assert await code_of(broker.calls.join(GROUP, again)) == "UNKNOWN_MEMBER_ID"


async def test_those_that_do_not_join_again_are_left_out_on_time(broker: Broker) -> None:
    first, second = await settled(broker, 2)
    began_ms = now_ms()
    changed = replace(request(first.member_id, metadata=b"new"), rebalance_timeout_ms=20_000)
    slow = replace(request(second.member_id), rebalance_timeout_ms=20_000)
    await broker.calls.join(GROUP, slow)
    waiting = begin(broker.calls.join(GROUP, changed))
    while not waiting.done():
        await asyncio.sleep(1)
        with pytest.raises(KafkaError):
            await heartbeat(broker, second)
    answer = await waiting
    assert [one.member_id for one in answer.members] == [first.member_id]
    assert now_ms() - began_ms < REBALANCE_MS + 2_000


async def test_a_coordinator_that_was_paused_hears_its_members_first(broker: Broker) -> None:
    first, second = await settled(broker, 2)
    broker.clock.ahead_ms += SESSION_MS  # all sessions are over when it looks again
    await asyncio.sleep(SESSION_MS / 1000 + STALL_MS / 1000 / 2)
    await heartbeat(broker, first)
    await asyncio.sleep(STALL_MS / 1000)
    assert members(broker) == [first.member_id]
    assert await code_of(heartbeat(broker, second)) == "UNKNOWN_MEMBER_ID"


# Commits


async def test_nothing_is_answered_before_it_is_committed(broker: Broker) -> None:
    broker.commits_at_once = False
    joining = begin(joined(broker, request()))
    await asyncio.sleep(4)
    assert broker.end_offset == 1
    assert not joining.done()
    broker.note_commit(1)
    answer = await joining
    syncing = begin(synced(broker, answer, {answer.member_id: b"a"}))
    await asyncio.sleep(1)
    assert broker.end_offset == 2
    assert not syncing.done()
    repeated = begin(synced(broker, answer))  # it reads what is not committed yet
    await asyncio.sleep(1)
    assert not repeated.done()
    broker.note_commit(2)
    assert (await syncing).assignment == (await repeated).assignment == b"a"


async def test_what_is_not_committed_in_time_may_be_asked_for_again(broker: Broker) -> None:
    broker.commits_at_once = False
    joining = begin(joined(broker, request()))
    await asyncio.sleep(4)
    assert await code_of(joining) == "COORDINATOR_NOT_AVAILABLE"
    (member_id,) = members(broker)
    broker.commits_at_once = True
    broker.note_commit(broker.end_offset)
    assert (await broker.calls.join(GROUP, request(member_id))).generation == 1


async def test_members_leave(broker: Broker) -> None:
    first, second = await settled(broker, 2)
    gone = (LeavingMember(second.member_id), LeavingMember("stranger"))
    results = await broker.calls.leave(GROUP, LeaveRequest(gone))
    assert results[0] is None
    assert results[1] is not None
    broker.commits_at_once = False
    leaving = begin(broker.calls.leave(GROUP, LeaveRequest((LeavingMember(first.member_id),))))
    await asyncio.sleep(1)
    assert not leaving.done()  # the group is empty, which is recorded
    broker.note_commit(broker.end_offset)
    assert await leaving == [None]


async def test_a_coordinator_that_is_not_heard_answers_nothing_from_memory(broker: Broker) -> None:
    leader, other = sorted(await settled(broker, 2), key=lambda one: not one.members)
    again = request(other.member_id)
    assert (await broker.calls.join(GROUP, again)).generation == 1
    broker.has_session = broker.commits_at_once = False  # another one may lead meanwhile
    calls = [begin(broker.calls.join(GROUP, again)), begin(synced(broker, other))]
    calls.append(begin(heartbeat(broker, leader)))
    await asyncio.sleep(1)
    assert not any(one.done() for one in calls)
    broker.note_commit(broker.end_offset)
    await asyncio.gather(*calls)


# Refusals


async def test_those_who_wait_hear_that_the_coordinator_has_moved(broker: Broker) -> None:
    leader, second = await settled(broker, 2)
    joining = begin(broker.calls.join(GROUP, request(leader.member_id)))
    await asyncio.sleep(1)
    broker.depose()
    assert await code_of(joining) == "NOT_COORDINATOR"
    for call in (
        heartbeat(broker, second),
        synced(broker, second),
        broker.calls.join(GROUP, request(second.member_id)),
        broker.calls.leave(GROUP, LeaveRequest((LeavingMember(second.member_id),))),
    ):
        assert await code_of(call) == "NOT_COORDINATOR"
    assert broker.calls.waiting_count == 0
    assert len(broker.calls._deadlines) == 0


async def test_those_who_wait_for_a_commit_hear_it_too(broker: Broker) -> None:
    broker.commits_at_once = False
    joining = begin(joined(broker, request()))
    await asyncio.sleep(4)
    assert broker.end_offset == 1
    broker.depose()
    assert await code_of(joining) == "NOT_COORDINATOR"


async def test_a_sync_that_waits_for_the_leader_hears_it_too(broker: Broker) -> None:
    answers = await asyncio.gather(*(joined(broker, request()) for _ in range(2)))
    follower = next(one for one in answers if one.leader != one.member_id)
    syncing = begin(synced(broker, follower))
    await asyncio.sleep(1)
    broker.depose()
    assert await code_of(syncing) == "NOT_COORDINATOR"


async def test_a_broker_that_stops_lets_nobody_wait(broker: Broker) -> None:
    joining = begin(joined(broker, request()))
    await asyncio.sleep(1)
    await broker.coordinator.stop()
    assert await code_of(joining) == "NOT_COORDINATOR"


@pytest.mark.parametrize("group_id", ["", "x" * 250])
async def test_bad_group_ids_are_refused(broker: Broker, group_id: str) -> None:
    for call in (
        broker.calls.join(group_id, request()),
        broker.calls.sync(group_id, SyncRequest("m", 1)),
        broker.calls.heartbeat(group_id, HeartbeatRequest("m", 1)),
        broker.calls.leave(group_id, LeaveRequest(())),
    ):
        assert await code_of(call) == "INVALID_GROUP_ID"


# Callers that go


async def test_a_cancelled_join_leaves_nothing_behind(broker: Broker) -> None:
    first, second = await settled(broker, 2)
    joining = begin(broker.calls.join(GROUP, request(first.member_id)))
    await asyncio.sleep(1)
    joining.cancel()
    await asyncio.wait({joining})
    assert broker.calls.waiting_count == 0
    group = broker.hosted.shard.classic.by_id[GROUP].state
    assert group.tickets == []
    again = begin(broker.calls.join(GROUP, request(first.member_id)))
    other = await broker.calls.join(GROUP, request(second.member_id))
    assert (await again).generation == other.generation == 2


async def test_a_newcomer_without_an_id_is_gone_with_its_caller(broker: Broker) -> None:
    joining = begin(broker.calls.join(GROUP, replace(request(), knows_required_id=False)))
    await asyncio.sleep(1)
    assert members(broker)
    joining.cancel()
    await asyncio.sleep(DELAY_MS / 1000)
    assert GROUP not in broker.hosted.shard.classic.by_id
    assert broker.hosted.shard.state_bytes == 0
    assert len(broker.calls._deadlines) == 0


async def test_a_newcomer_that_knows_its_id_has_a_while_to_come_back(broker: Broker) -> None:
    (first,) = await settled(broker, 1)
    patient = replace(request(), session_timeout_ms=MAX_SESSION_MS)
    with pytest.raises(MemberIdGivenError) as given:
        await broker.calls.join(GROUP, patient)
    joining = begin(broker.calls.join(GROUP, replace(patient, member_id=given.value.member_id)))
    await asyncio.sleep(0)
    joining.cancel()
    for _ in range(NEW_MEMBER_RETURN_MS_MAX // 1000 - 1):
        await asyncio.sleep(1)
        assert await code_of(heartbeat(broker, first)) == "REBALANCE_IN_PROGRESS"
    assert set(members(broker)) == {first.member_id, given.value.member_id}
    await asyncio.sleep(2)
    assert members(broker) == [first.member_id]


async def test_a_cancelled_sync_leaves_nothing_behind(broker: Broker) -> None:
    answers = await asyncio.gather(*(joined(broker, request()) for _ in range(2)))
    leader = next(one for one in answers if one.leader == one.member_id)
    follower = next(one for one in answers if one is not leader)
    syncing = begin(synced(broker, follower))
    await asyncio.sleep(1)
    syncing.cancel()
    await asyncio.sleep(0)
    assert broker.hosted.shard.classic.by_id[GROUP].state.tickets == []
    await synced(broker, leader, {follower.member_id: b"f"})
    assert (await synced(broker, follower)).assignment == b"f"


# Appends that fail


async def test_without_enough_replicas_a_group_goes_on_with_its_generation(broker: Broker) -> None:
    first, second = await settled(broker, 2)
    joining = begin(broker.calls.join(GROUP, request(first.member_id)))
    newcomer = begin(joined(broker, request()))
    await asyncio.sleep(1)
    broker.refusals = [NotEnoughReplicasError("few")]
    refused = broker.calls.join(GROUP, request(second.member_id))
    assert await code_of(refused) == "COORDINATOR_NOT_AVAILABLE"
    assert await code_of(joining) == await code_of(newcomer) == "COORDINATOR_NOT_AVAILABLE"
    assert members(broker) == [first.member_id, second.member_id]
    await heartbeat(broker, first)
    assert (await synced(broker, second)).assignment == second.member_id.encode()


async def test_a_first_generation_that_is_not_recorded_is_forgotten(broker: Broker) -> None:
    joining = begin(joined(broker, request()))
    broker.refusals = [NotEnoughReplicasError("few")]
    assert await code_of(joining) == "COORDINATOR_NOT_AVAILABLE"
    assert not broker.hosted.shard.exists(GROUP)
    assert broker.fatal == []
    assert (await joined(broker, request())).generation == 1


async def test_an_assignment_that_may_be_recorded_is_read_again(broker: Broker) -> None:
    answer = await joined(broker, request())
    broker.refusals = [UnknownServerError("half written")]
    refused = synced(broker, answer, {answer.member_id: b"a"})
    assert await code_of(refused) == "COORDINATOR_NOT_AVAILABLE"
    await until(lambda: not broker.coordinator.runtime.loading)
    assert await code_of(heartbeat(broker, answer)) == "REBALANCE_IN_PROGRESS"


# A new coordinator


async def test_members_stay_when_the_coordinator_moves(broker: Broker) -> None:
    first, second = await settled(broker, 2)
    await asyncio.sleep(9)
    broker.depose()
    again = await new_broker(2, broker.batches)
    await asyncio.sleep(9)
    await heartbeat(again, first)
    assert members(again) == [first.member_id, second.member_id]
    await asyncio.sleep(1.1)
    assert members(again) == [first.member_id]
    answer = await again.calls.join(GROUP, request(first.member_id))
    assert answer.generation == 2
    described = again.hosted.shard.classic.by_id[GROUP].state.rebalances
    assert "silent" in described[-1].cause
