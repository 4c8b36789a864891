"""Groups on real nodes: the coordinator, its internal topic, members, and committed offsets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.client.patience import until
from tests.client.real_cluster import ADDRESSES, GROUPS, RealCluster, started
from tests.node.group_calls import GroupCalls, HandMember

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_key import partition_of
from tidelog.core.errors import CallFailedError, code_name
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.node.handlers.group_codec import TOPICS_MAX
from tidelog.records.batch import iter_batches
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    FindCoordinatorRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from tidelog.v1.methods import (
    CONSUMER_GROUP_HEARTBEAT,
    FIND_COORDINATOR,
    OFFSET_COMMIT,
    OFFSET_FETCH,
)

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    cluster = await started()
    await cluster.create("orders", partitions=4)
    yield cluster


@pytest.fixture
def calls(cluster: RealCluster) -> GroupCalls:
    return GroupCalls(cluster)


# The coordinator


async def test_the_first_look_up_creates_the_internal_topic(cluster: RealCluster) -> None:
    assert OFFSETS_TOPIC not in cluster.image.topics
    request = FindCoordinatorRequest(group_ids=["g", "h", "", "x" * 250])
    found = await cluster.ask(2, FIND_COORDINATOR, request)
    codes = [code_name(one.error.code) for one in found.coordinators]
    assert codes == ["NONE", "NONE", "INVALID_GROUP_ID", "INVALID_GROUP_ID"]
    topic = cluster.image.topics[OFFSETS_TOPIC]
    assert len(topic.partitions) == GROUPS.offsets_topic_num_partitions
    assert {len(one.replicas) for one in topic.partitions} == {3}
    assert topic.configs["cleanup.policy"] == "compact"
    assert topic.configs["min.insync.replicas"] == "2"
    for one in found.coordinators[:2]:
        assert one.broker.address == ADDRESSES[one.broker.node_id]


async def test_with_too_few_brokers_there_is_no_coordinator(cluster: RealCluster) -> None:
    few = await started(groups=GroupConfig(offsets_topic_replication_factor=4))
    found = await few.ask(1, FIND_COORDINATOR, FindCoordinatorRequest(group_ids=["g"]))
    assert code_name(found.error.code) == "COORDINATOR_NOT_AVAILABLE"
    assert "offsets.topic.replication.factor" in found.error.message
    del cluster


async def test_another_broker_names_the_coordinator(calls: GroupCalls) -> None:
    leader = await calls.coordinator()
    await calls.commit({("orders", 0): 7})
    other = next(one for one in ADDRESSES if one != leader)
    request = OffsetFetchRequest(group_id="g", member_epoch=-1)
    refused = await calls.cluster.ask(other, OFFSET_FETCH, request)
    assert code_name(refused.error.code) == "NOT_COORDINATOR"
    assert refused.coordinator.leader_id == leader
    assert refused.coordinator.address == ADDRESSES[leader]
    beat = ConsumerGroupHeartbeatRequest(group_id="g", member_id="a")
    answer = await calls.cluster.ask(other, CONSUMER_GROUP_HEARTBEAT, beat)
    assert answer.coordinator.leader_id == leader


async def test_without_the_internal_topic_nobody_is_the_coordinator(cluster: RealCluster) -> None:
    request = OffsetFetchRequest(group_id="g", member_epoch=-1)
    refused = await cluster.ask(1, OFFSET_FETCH, request)
    assert code_name(refused.error.code) == "COORDINATOR_NOT_AVAILABLE"


# Offsets


async def test_committed_offsets_are_fetched_whoever_leads(calls: GroupCalls) -> None:
    assert await calls.commit({("orders", 0): 7, ("orders", 3): 1}) == ["NONE", "NONE"]
    assert await calls.commit({("orders", 0): 8}, metadata="x", leader_epoch=0) == ["NONE"]
    expected = {("orders", 0): 8, ("orders", 3): 1}
    assert await calls.committed() == expected
    before = await calls.coordinator()
    calls.cluster.kill(before)
    await calls.cluster.failed_over()
    assert await calls.coordinator() != before
    assert await calls.committed() == expected


async def test_offsets_of_named_partitions(calls: GroupCalls) -> None:
    await calls.commit({("orders", 0): 7}, metadata="here", leader_epoch=0)
    request = OffsetFetchRequest(group_id="g", member_epoch=-1)
    request.topics.add(topic="orders", partitions=[0, 1, 9])
    request.topics.add(topic="nosuch", partitions=[0])
    response = await calls.ask(OFFSET_FETCH, request)
    orders, nosuch = response.topics[0], response.topics[-1]
    assert orders.topic_id == calls.cluster.image.topics["orders"].topic_id
    first, second = orders.partitions
    assert (first.offset, first.metadata, first.leader_epoch) == (7, "here", 0)
    assert first.committed_ms > 0
    assert (second.offset, second.error.code, second.HasField("leader_epoch")) == (-1, 0, False)
    assert code_name(response.topics[1].partitions[0].error.code) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert code_name(nosuch.partitions[0].error.code) == "UNKNOWN_TOPIC_OR_PARTITION"


async def test_bad_commits_are_refused_one_by_one(calls: GroupCalls) -> None:
    codes = await calls.commit({("orders", 0): 1, ("nosuch", 0): 1, ("orders", 9): 1})
    assert codes == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION"]
    assert await calls.commit({("orders", 0): -1}) == ["INVALID_REQUEST"]
    assert await calls.commit({("orders", 0): 2}, metadata="m" * 4_097) == [
        "OFFSET_METADATA_TOO_LARGE"
    ]
    assert await calls.commit({("orders", 0): 2}, member_id="a", epoch=1) == ["UNKNOWN_MEMBER_ID"]
    assert await calls.committed() == {("orders", 0): 1}


async def test_a_long_commit_is_carried_out_in_parts(cluster: RealCluster) -> None:
    calls = GroupCalls(cluster)
    await cluster.create("wide", partitions=1_100, replicas=1)
    offsets = {("wide", number): number for number in range(1_100)}
    assert await calls.commit(offsets) == ["NONE"] * 1_100
    assert await calls.committed() == offsets


async def test_offsets_of_a_deleted_topic_go_and_a_new_one_of_its_name_has_none(
    calls: GroupCalls,
) -> None:
    await calls.commit({("orders", 0): 7})
    await calls.cluster.delete("orders")
    await calls.cluster.create("orders", partitions=4)
    assert await calls.committed() == {}
    async with asyncio.timeout(30):
        while await calls.listed():  # noqa: ASYNC110  # of real nodes
            await asyncio.sleep(0.05)


async def test_commits_of_one_moment_share_a_batch(calls: GroupCalls) -> None:
    await calls.commit({("orders", 0): 0})
    partition = calls.cluster.log(
        await calls.coordinator(), OFFSETS_TOPIC, _partition_of(calls, "g")
    )
    end = partition.log_end_offset
    await asyncio.gather(*(calls.commit({("orders", number % 4): 5}) for number in range(20)))
    assert partition.log_end_offset == end + 20
    batches = partition.read(end, max_bytes=1 << 20, upper_bound=end + 20).records
    assert _count_batches(batches) < 10


async def test_a_commit_that_no_replica_has_is_not_acknowledged(calls: GroupCalls) -> None:
    await calls.commit({("orders", 0): 7})
    leader = await calls.coordinator()
    others = [one for one in ADDRESSES if one != leader]
    for one in others:
        calls.cluster.kill(one)
    refused, read = await asyncio.gather(
        calls.commit({("orders", 0): 9}), _fetch_error(calls, leader)
    )
    assert refused == ["REQUEST_TIMED_OUT"]
    assert read == "COORDINATOR_NOT_AVAILABLE"
    for one in others:
        await calls.cluster.start(one)
    assert await calls.commit({("orders", 1): 1}) == ["NONE"]
    assert await calls.committed() == {("orders", 0): 9, ("orders", 1): 1}


async def test_one_that_the_controllers_do_not_hear_answers_what_its_replicas_confirm(
    calls: GroupCalls,
) -> None:
    member = await _idle_member(calls)
    leader = await calls.coordinator()
    broker: Any = calls.cluster.machines[leader].node._broker
    broker.groups._has_session = lambda: False
    assert await member.ask() == "NONE"  # they do
    assert await calls.committed() == {}
    others = [one for one in ADDRESSES if one != leader]
    for one in others:
        calls.cluster.kill(one)
    heard, read = await asyncio.gather(
        calls.cluster.ask(leader, CONSUMER_GROUP_HEARTBEAT, member.request()),
        _fetch_error(calls, leader),
    )
    assert code_name(heard.error.code) == read == "COORDINATOR_NOT_AVAILABLE"


async def test_one_that_the_controllers_hear_answers_at_once_what_is_committed(
    calls: GroupCalls,
) -> None:
    member = await _idle_member(calls)
    leader = await calls.coordinator()
    for one in ADDRESSES:
        if one != leader:
            calls.cluster.kill(one)
    assert await member.ask() == "NONE"


async def test_without_enough_replicas_nothing_is_appended(calls: GroupCalls) -> None:
    await calls.commit({("orders", 0): 7})
    leader = await calls.coordinator()
    others = [one for one in ADDRESSES if one != leader]
    for one in others:
        calls.cluster.kill(one)
    await calls.cluster.fenced(*others)
    await asyncio.sleep(1)
    request = OffsetCommitRequest(group_id="g", member_epoch=-1)
    request.topics.add(topic="orders").partitions.add(offset=9)
    refused = await calls.cluster.ask(leader, OFFSET_COMMIT, request)
    assert code_name(refused.error.code) == "COORDINATOR_NOT_AVAILABLE"
    assert await _fetch_error(calls, leader) == "NONE"
    for one in others:
        await calls.cluster.start(one)
    assert await calls.committed() == {("orders", 0): 7}


async def _idle_member(calls: GroupCalls) -> HandMember:
    """A member whose next heartbeat changes nothing."""
    member = HandMember(calls, "m", "orders")
    for _ in range(4):
        assert await member.ask() == "NONE"
        await asyncio.sleep(0.5)
    assert len(member.owned) == 4
    return member


async def _fetch_error(calls: GroupCalls, node_id: int) -> str:
    await asyncio.sleep(0.1)
    request = OffsetFetchRequest(group_id="g", member_epoch=-1)
    return code_name((await calls.cluster.ask(node_id, OFFSET_FETCH, request)).error.code)


# Groups


async def test_metrics_count_groups_members_and_commits(calls: GroupCalls) -> None:
    await calls.commit({("orders", 0): 7, ("orders", 9): 7})
    member = HandMember(GroupCalls(calls.cluster, "g"), "a", "orders")
    await member.connect()
    await member.until_owned(4)
    stats = calls.cluster.machines[await calls.coordinator()].node.stats()
    assert (stats["groups"], stats["group_members"], stats["group_member_streams"]) == (1, 1, 1)
    assert (stats["group_commits"], stats["group_partitions_loading"]) == (1, 0)
    assert stats["group_partition_loads"] >= 1


async def test_groups_are_listed_described_and_deleted(calls: GroupCalls) -> None:
    await calls.commit({("orders", 0): 7})
    assert await calls.listed() == {"g": "Empty"}
    described = await calls.describe()
    assert (described.type, described.state, len(described.members)) == ("classic", "Empty", 0)
    nobody = await GroupCalls(calls.cluster, "nobody").describe()
    assert code_name(nobody.error.code) == "GROUP_ID_NOT_FOUND"
    assert await calls.delete() == "NONE"
    assert await calls.delete() == "GROUP_ID_NOT_FOUND"
    assert await calls.committed() == {}


async def test_a_group_with_members_is_not_deleted(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    assert await member.ask() == "NONE"
    assert await calls.delete() == "NON_EMPTY_GROUP"
    assert await member.ask(epoch=-1) == "NONE"
    assert await calls.delete() == "NONE"
    assert await calls.listed() == {}


# Members


async def test_bad_heartbeats_are_refused(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    assert await member.ask(epoch=3) == "UNKNOWN_MEMBER_ID"
    member.topics = tuple(f"t{number}" for number in range(TOPICS_MAX + 1))
    assert await member.ask() == "INVALID_REQUEST"
    member.topics, member.member_id = ("orders",), ""
    assert await member.ask() == "INVALID_REQUEST"
    assert await calls.listed() == {}


async def test_a_stream_is_one_members(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    await member.connect()
    await member.until_owned(4)
    await member._stream.send(HandMember(calls, "b", "orders").request())
    assert member._task is not None
    with pytest.raises(CallFailedError, match="one member's"):
        await member._task


async def test_a_member_gets_all_partitions_by_a_push(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    await member.connect()
    began = asyncio.get_running_loop().time()
    await member.until_owned(4)
    assert asyncio.get_running_loop().time() - began < 0.5
    group = await calls.until_stable(1)
    assert group.type == "consumer"
    assert group.members[0].client_id == "hand"
    assert "joined" in group.rebalances[-1].cause


async def test_members_share_and_take_over_when_one_leaves(calls: GroupCalls) -> None:
    first, second = HandMember(calls, "a", "orders"), HandMember(calls, "b", "orders")
    await first.connect()
    await first.until_owned(4)
    await second.connect()
    await asyncio.gather(first.until_owned(2), second.until_owned(2))
    assert not first.owned & second.owned
    await calls.until_stable(2)
    assert await second.ask(epoch=-1) == "NONE"
    await first.until_owned(4)


async def test_members_without_streams_hear_of_it_at_their_heartbeats(calls: GroupCalls) -> None:
    first, second = HandMember(calls, "a", "orders"), HandMember(calls, "b", "orders")
    await first.ask()
    await second.ask()
    for _ in range(6):
        await first.ask()
        await second.ask()
        await asyncio.sleep(0.05)
    assert (len(first.owned), len(second.owned)) == (2, 2)


async def test_one_whose_stream_breaks_is_replaced_after_its_grace(calls: GroupCalls) -> None:
    first, second = HandMember(calls, "a", "orders"), HandMember(calls, "b", "orders")
    await first.connect()
    await second.connect()
    await asyncio.gather(first.until_owned(2), second.until_owned(2))
    second.disconnect()
    began = asyncio.get_running_loop().time()
    await first.until_owned(4)
    assert 1.0 <= asyncio.get_running_loop().time() - began < 2.0
    group = await calls.describe()
    assert "lost its connection" in group.rebalances[-1].cause


async def test_one_that_comes_back_in_its_grace_keeps_its_partitions(calls: GroupCalls) -> None:
    first, second = HandMember(calls, "a", "orders"), HandMember(calls, "b", "orders")
    await first.connect()
    await second.connect()
    await asyncio.gather(first.until_owned(2), second.until_owned(2))
    epoch = (await calls.until_stable(2)).epoch
    second.disconnect()
    await asyncio.sleep(0.5)
    await second.connect()
    await asyncio.sleep(3)
    assert (await calls.describe()).epoch == epoch
    assert len(second.owned) == 2


async def test_a_newer_stream_ends_the_older_one(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    await member.connect()
    await member.until_owned(4)
    older = member._task
    await member.connect()
    assert older is not None
    await asyncio.wait({older}, timeout=5)
    assert older.done()
    await asyncio.sleep(3)
    assert len((await calls.describe()).members) == 1


async def test_a_member_commits_at_its_epoch_what_nobody_else_owns(calls: GroupCalls) -> None:
    first, second = HandMember(calls, "a", "orders"), HandMember(calls, "b", "orders")
    await first.connect()
    await second.connect()
    await asyncio.gather(first.until_owned(2), second.until_owned(2))
    await calls.until_stable(2)
    own = next(iter(first.owned))[1]
    others = next(iter(second.owned))[1]
    as_first: dict[str, Any] = {"member_id": "a", "epoch": first.epoch}
    assert await calls.commit({("orders", own): 3}, **as_first) == ["NONE"]
    assert await calls.commit({("orders", others): 3}, **as_first) == ["STALE_MEMBER_EPOCH"]
    stale: dict[str, Any] = {"member_id": "a", "epoch": first.epoch - 1}
    assert await calls.commit({("orders", own): 4}, **stale) == ["STALE_MEMBER_EPOCH"]
    assert await calls.commit({("orders", own): 4}) == ["UNKNOWN_MEMBER_ID"]
    assert await calls.committed() == {("orders", own): 3}


async def test_partitions_that_are_added_are_given(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders", "later")
    await member.connect()
    await member.until_owned(4)
    await calls.cluster.create("later", partitions=2)
    await member.until_owned(6)
    assert "topics changed" in (await calls.describe()).rebalances[-1].cause


async def test_members_stay_when_the_coordinator_is_killed(calls: GroupCalls) -> None:
    members = [HandMember(calls, name, "orders") for name in "ab"]
    for one in members:
        await one.connect()
    await asyncio.gather(*(one.until_owned(2) for one in members))
    before = await calls.until_stable(2)
    calls.cluster.kill(await calls.coordinator())
    await calls.cluster.failed_over()
    for one in members:
        await one.connect()
    await asyncio.sleep(3)
    after = await calls.until_stable(2)
    assert after.epoch == before.epoch
    assert [len(one.owned) for one in members] == [2, 2]


async def test_members_that_do_not_come_back_to_a_new_coordinator_have_a_full_session() -> None:
    cluster = await started(
        groups=GroupConfig(offsets_topic_num_partitions=1, group_consumer_session_timeout_ms=6_000)
    )
    await cluster.create("orders", partitions=4)
    calls = GroupCalls(cluster)
    await HandMember(calls, "a", "orders").ask()
    await asyncio.sleep(5)
    cluster.kill(await calls.coordinator())
    await cluster.failed_over()
    await asyncio.sleep(3)
    assert len((await calls.describe()).members) == 1
    await asyncio.sleep(5)
    assert len((await calls.describe()).members) == 0
    assert "silent" in (await calls.describe()).rebalances[-1].cause


async def test_a_member_hears_that_the_coordinator_has_moved(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    await member.connect()
    await member.until_owned(4)
    leader = await calls.coordinator()
    other = next(one for one in ADDRESSES if one != leader)
    partition = _partition_of(calls, "g")
    await calls.cluster.move(OFFSETS_TOPIC, partition, leader_id=other)
    await until(lambda: "NOT_COORDINATOR" in member.errors)


def _partition_of(calls: GroupCalls, group_id: str) -> int:
    return partition_of(group_id, len(calls.cluster.image.topics[OFFSETS_TOPIC].partitions))


def _count_batches(batches: bytes) -> int:
    return sum(1 for _ in iter_batches(batches))


async def test_nothing_is_pushed_before_it_is_committed(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders", "later")
    await member.connect()
    await member.until_owned(4)
    await calls.until_stable(1)
    leader = await calls.coordinator()
    await calls.cluster.create("later", partitions=1, replicas=1)
    await member.until_owned(5)
    for node_id in ADDRESSES:
        if node_id != leader:
            calls.cluster.kill(node_id)
    other = HandMember(calls, "b", "orders")
    joining = asyncio.create_task(other.ask())
    await asyncio.sleep(2)  # until the ISR shrinks nothing is committed
    assert len(member.owned) == 5
    joining.cancel()


async def test_one_that_was_silent_for_its_session_hears_that_it_was_removed() -> None:
    cluster = await started(
        groups=GroupConfig(offsets_topic_num_partitions=1, group_consumer_session_timeout_ms=3_000)
    )
    await cluster.create("orders", partitions=4)
    member = HandMember(GroupCalls(cluster), "a", "orders")
    await member.connect()
    await member.until_owned(4)
    await until(lambda: member.errors == ["UNKNOWN_MEMBER_ID"])


async def test_one_that_does_not_let_go_in_time_hears_that_it_is_fenced(calls: GroupCalls) -> None:
    first, second = HandMember(calls, "a", "orders"), HandMember(calls, "b", "orders")
    first.rebalance_timeout_ms = 1_000
    await first.connect()
    await first.until_owned(4)
    first.is_stubborn = True
    await second.connect()
    await until(lambda: first.errors == ["FENCED_MEMBER_EPOCH"])
    assert len(second.owned) < 2
