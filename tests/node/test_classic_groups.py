"""Classic groups on real nodes: generations, commits, descriptions, coordinators that go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started
from tests.node.group_calls import GroupCalls, HandMember
from tests.node.test_group_events import said
from tests.node.test_group_metrics import scraped

from tidelog.broker.coordinator.classic_calls import ClassicCalls
from tidelog.broker.coordinator.classic_messages import (
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveRequest,
    LeavingMember,
    MemberIdGivenError,
    MemberProtocol,
    SyncRequest,
)
from tidelog.broker.coordinator.group_key import partition_of
from tidelog.client import Consumer
from tidelog.core.errors import (
    CoordinatorNotAvailableError,
    InconsistentGroupProtocolError,
    KafkaError,
    code_name,
)
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.v1.coordinator_pb2 import ListGroupsRequest, OffsetDeleteRequest
from tidelog.v1.methods import LIST_GROUPS, OFFSET_DELETE

pytestmark = pytest.mark.asyncio

SUBSCRIPTION: Any = ConsumerProtocolSubscription
ASSIGNMENT: Any = ConsumerProtocolAssignment


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    cluster = await started()
    await cluster.create("orders", partitions=4)
    yield cluster


@pytest_asyncio.fixture
async def calls(cluster: RealCluster) -> GroupCalls:
    return GroupCalls(cluster)


async def classic(calls: GroupCalls) -> ClassicCalls:
    """The plain interface of the group's coordinator, once it has loaded."""
    await calls.describe()
    node: Any = calls.cluster.machines[await calls.coordinator()].node
    found: ClassicCalls = node._broker.groups.classic
    return found


async def join(calls: GroupCalls, member_id: str = "") -> JoinAnswer:
    metadata = SUBSCRIPTION(version=1, topics=["orders"], user_data=b"", owned_partitions=[])
    request = JoinRequest(
        "consumer",
        (MemberProtocol("range", metadata.encode(version=1)),),
        10_000,
        60_000,
        member_id,
        client_id="c",
        host="10.0.0.7",
    )
    try:
        return await (await classic(calls)).join("g", request)
    except MemberIdGivenError as given:
        return await join(calls, given.member_id)


async def settled(calls: GroupCalls, count: int) -> list[JoinAnswer]:
    """Have members join, and share the partitions of orders in their order."""
    answers = await asyncio.gather(*(join(calls) for _ in range(count)))
    leader = next(one for one in answers if one.members)
    parts = {
        one.member_id: _assignment(range(place, 4, count))
        for place, one in enumerate(leader.members)
    }
    on = await classic(calls)
    await asyncio.gather(
        *(
            on.sync(
                "g",
                SyncRequest(
                    one.member_id, one.generation, assignments=parts if one is leader else {}
                ),
            )
            for one in answers
        )
    )
    return list(answers)


def _assignment(numbers: range) -> bytes:
    parts = [ASSIGNMENT.TopicPartition(topic="orders", partitions=list(numbers)),
             ASSIGNMENT.TopicPartition(topic="gone", partitions=[0])]  # fmt: skip
    encoded: bytes = ASSIGNMENT(version=1, assigned_partitions=parts, user_data=b"").encode(
        version=1
    )
    return encoded


async def test_a_classic_group_is_listed_and_described(calls: GroupCalls) -> None:
    answers = await settled(calls, 2)
    listed = await calls.cluster.ask(await calls.coordinator(), LIST_GROUPS, ListGroupsRequest())
    (short,) = listed.groups
    assert (short.type, short.state, short.members) == ("classic", "Stable", 2)
    group = await calls.describe()
    assert (group.type, group.state) == ("classic", "Stable")
    assert (group.epoch, group.assignment_epoch, group.assignor) == (1, 1, "range")
    assert [one.member_id for one in group.members] == sorted(one.member_id for one in answers)
    found = []
    for member in group.members:
        (orders,) = member.assignment  # a topic that does not exist has no id
        assert orders.topic_id == calls.cluster.image.topics["orders"].topic_id
        found += list(orders.partitions)
        assert (member.client_id, member.host, member.epoch) == ("c", "10.0.0.7", 1)
        assert list(member.subscribed_topics) == ["orders"]
        assert member.target == member.assignment
    assert sorted(found) == [0, 1, 2, 3]
    assert [one.topic for one in group.topics] == ["orders"]
    assert group.rebalances[-1].epoch == 1
    assert "joined" in group.rebalances[-1].cause
    stats = calls.cluster.machines[await calls.coordinator()].node.stats()
    assert (stats["groups"], stats["group_members"]) == (1, 2)


async def test_members_commit_in_their_generation(calls: GroupCalls) -> None:
    first, second = await settled(calls, 2)
    own: dict[str, Any] = {"member_id": first.member_id, "epoch": first.generation}
    assert await calls.commit({("orders", 0): 7}, **own) == ["NONE"]
    assert await calls.commit({("orders", 0): 8}) == ["UNKNOWN_MEMBER_ID"]
    delete = OffsetDeleteRequest(group_id="g")
    delete.topics.add(topic="orders", partitions=[0])
    deleted = await calls.ask(OFFSET_DELETE, delete)
    code = deleted.topics[0].partitions[0].error.code
    assert code_name(code) == "GROUP_SUBSCRIBED_TO_TOPIC"
    assert await calls.delete() == "NON_EMPTY_GROUP"
    on = await classic(calls)
    await on.leave("g", LeaveRequest((LeavingMember(second.member_id),)))
    again = await join(calls, first.member_id)
    assert again.generation == 2
    assert await calls.commit({("orders", 0): 9}, **own) == ["ILLEGAL_GENERATION"]
    assert await calls.committed() == {("orders", 0): 7}
    await on.leave("g", LeaveRequest((LeavingMember(first.member_id),)))
    assert await calls.delete() == "NONE"
    assert await calls.listed() == {}


async def test_members_stay_when_the_coordinator_is_killed(calls: GroupCalls) -> None:
    answers = await settled(calls, 2)
    before = await calls.describe()
    calls.cluster.kill(await calls.coordinator())
    await calls.cluster.failed_over()
    after = await calls.describe()
    assert after.members == before.members
    assert (after.state, after.epoch) == ("Stable", 1)
    on = await classic(calls)
    for one in answers:
        await on.heartbeat("g", HeartbeatRequest(one.member_id, one.generation))


async def test_those_who_wait_hear_that_the_coordinator_moves(calls: GroupCalls) -> None:
    waiting = asyncio.create_task(join(calls))
    await asyncio.sleep(1)
    leader = await calls.coordinator()
    other = next(one for one in (1, 2, 3) if one != leader)
    partitions = len(calls.cluster.image.topics[OFFSETS_TOPIC].partitions)
    partition = partition_of("g", partitions)
    await calls.cluster.move(OFFSETS_TOPIC, partition, leader_id=other)
    with pytest.raises(KafkaError) as refused:
        await waiting
    assert code_name(refused.value.code) == "NOT_COORDINATOR"


async def test_one_that_the_controllers_do_not_hear_keeps_no_member_by_its_memory(
    calls: GroupCalls,
) -> None:
    (member,) = await settled(calls, 1)
    on, leader = await classic(calls), await calls.coordinator()
    heartbeat = HeartbeatRequest(member.member_id, member.generation)
    broker: Any = calls.cluster.machines[leader].node._broker
    broker.groups._has_session = lambda: False
    await on.heartbeat("g", heartbeat)  # its replicas confirm
    for one in ADDRESSES:
        if one != leader:
            calls.cluster.kill(one)
    with pytest.raises(CoordinatorNotAvailableError):
        await on.heartbeat("g", heartbeat)


async def test_a_group_has_one_protocol_at_a_time(calls: GroupCalls) -> None:
    (first,) = await settled(calls, 1)
    stranger = HandMember(calls, "a", "orders")
    assert await stranger.ask() == "INCONSISTENT_GROUP_PROTOCOL"
    async with Consumer(BOOTSTRAP, group_id="g", transport=calls.cluster) as consumer:
        await consumer.subscribe(["orders"])
        with pytest.raises(InconsistentGroupProtocolError):
            await consumer.getmany(timeout_ms=10_000)
    on = await classic(calls)
    await on.leave("g", LeaveRequest((LeavingMember(first.member_id),)))
    assert await stranger.ask() == "NONE"
    assert (await calls.describe()).type == "consumer"
    with pytest.raises(InconsistentGroupProtocolError):
        await join(calls)
    assert await stranger.ask(epoch=-1) == "NONE"
    assert (await join(calls)).generation > first.generation
    assert (await calls.describe()).type == "classic"


async def test_a_life_of_a_classic_group_is_said_in_order(calls: GroupCalls) -> None:
    first, second = await settled(calls, 2)
    on = await classic(calls)
    await on.leave("g", LeaveRequest((LeavingMember(second.member_id, reason="done"),)))
    again = await join(calls, first.member_id)
    await on.leave("g", LeaveRequest((LeavingMember(again.member_id),)))
    member = HandMember(calls, "a", "orders")
    assert await member.ask() == "NONE"
    names = {first.member_id: "FIRST", second.member_id: "SECOND"}
    lines = await said(calls)
    for member_id, name in names.items():
        lines = [line.replace(member_id, name) for line in lines]
    joined = sorted(lines[1:3])
    assert lines[0] == "- > classic group: FIRST (c) joined"
    assert joined == [
        "members 0 > members 2: member FIRST (c) joined from 10.0.0.7",
        "members 0 > members 2: member SECOND (c) joined from 10.0.0.7",
    ]
    assert lines[3:] == [
        "- > epoch 1: rebalance begins: FIRST (c) joined",
        "epoch 1 > Stable: rebalance complete after N ms: members 2, their partitions 6",
        "members 2 > members 1: member SECOND (c) was removed: SECOND (c) left (done)",
        "- > epoch 2: rebalance begins: SECOND (c) left (done)",
        "members 1 > members 0: member FIRST (c) was removed: FIRST (c) left",
        "- > epoch 3: rebalance begins: FIRST (c) left",
        "epoch 3 > Empty: rebalance complete after N ms: members 0, their partitions 0",
        "members 0 > members 1: member a (hand) joined",
        "- > epoch 4: rebalance begins: member a (hand) joined",
        "classic group > consumer group: a member of the consumer protocol joined the empty group",
    ]


async def test_metrics_show_classic_groups(calls: GroupCalls) -> None:
    (first,) = await settled(calls, 1)
    own: dict[str, Any] = {"member_id": first.member_id, "epoch": first.generation}
    assert await calls.commit({("orders", 0): 0}, **own) == ["NONE"]
    assert await scraped(calls, "members") == {("g",): 1}
    assert await scraped(calls, "state") == {("g", "classic", "Stable"): 1}
    assert await scraped(calls, "rebalances") == {("g",): 1}
