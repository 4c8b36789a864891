"""Subscriptions by pattern on real nodes: what is matched, what follows, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.client.patience import until
from tests.client.real_cluster import RealCluster, started
from tests.node.group_calls import GroupCalls, HandMember

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_coordinator import TICK_S
from tidelog.broker.coordinator.pattern_matching import PatternMatching
from tidelog.core.errors import code_name
from tidelog.v1.coordinator_pb2 import OffsetDeleteRequest, OffsetFetchRequest
from tidelog.v1.methods import CONSUMER_GROUP_HEARTBEAT, OFFSET_DELETE

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    cluster = await started()
    for topic, partitions in {"orders.eu": 2, "orders.us": 2, "stock": 1}.items():
        await cluster.create(topic, partitions=partitions)
    yield cluster


@pytest.fixture
def calls(cluster: RealCluster) -> GroupCalls:
    return GroupCalls(cluster)


def by_pattern(calls: GroupCalls, pattern: str, *topics: str, member_id: str = "a") -> HandMember:
    member = HandMember(calls, member_id, *topics)
    member.pattern = pattern
    return member


def topics_of(member: HandMember) -> set[str]:
    image = member.calls.cluster.image
    found = (image.topic_by_id(topic_id) for topic_id, _ in member.owned)
    return {"gone" if one is None else one.name for one in found}


async def until_topics(member: HandMember, *topics: str) -> float:
    """Wait until the member owns partitions of exactly these; how long that took, seconds."""
    began = asyncio.get_running_loop().time()
    await until(lambda: topics_of(member) == set(topics))
    return asyncio.get_running_loop().time() - began


async def test_topics_that_match_come_and_go_within_a_tick(calls: GroupCalls) -> None:
    member = by_pattern(calls, r"orders\..*")
    await member.connect()
    await until_topics(member, "orders.eu", "orders.us")
    await calls.cluster.create("stock.orders.eu", partitions=1)  # not from its beginning
    await calls.cluster.create("orders.asia", partitions=1)
    assert await until_topics(member, "orders.eu", "orders.us", "orders.asia") < 3 * TICK_S
    await calls.cluster.delete("orders.us")
    assert await until_topics(member, "orders.eu", "orders.asia") < 3 * TICK_S
    group = await calls.until_stable(1)
    assert group.rebalances[-1].cause == "subscribed topics changed"
    assert group.members[0].subscribed_pattern == r"orders\..*"
    assert list(group.members[0].subscribed_topics) == []


async def test_a_topic_made_again_is_another_one(calls: GroupCalls) -> None:
    member = by_pattern(calls, "stoc.")
    await member.connect()
    await until_topics(member, "stock")
    before = set(member.owned)
    await calls.cluster.delete("stock")
    await calls.cluster.create("stock", partitions=1)
    await until(lambda: topics_of(member) == {"stock"} and not member.owned & before)


async def test_internal_topics_are_not_matched(calls: GroupCalls) -> None:
    member = by_pattern(calls, ".*")
    await member.connect()
    await until_topics(member, "orders.eu", "orders.us", "stock")
    await asyncio.sleep(2)
    assert topics_of(member) == {"orders.eu", "orders.us", "stock"}


async def test_names_and_a_pattern_go_together(calls: GroupCalls) -> None:
    member = by_pattern(calls, ".*eu", "stock", "not.yet")
    await member.connect()
    await until_topics(member, "orders.eu", "stock")
    await calls.cluster.create("not.yet", partitions=1)
    await until_topics(member, "orders.eu", "stock", "not.yet")


async def test_members_with_other_patterns_share_what_both_match(calls: GroupCalls) -> None:
    first = by_pattern(calls, "orders.*")
    second = by_pattern(calls, "stock|orders[.]eu", member_id="b")
    await first.connect()
    await until_topics(first, "orders.eu", "orders.us")
    await second.connect()
    await calls.until_stable(2)
    assert len(first.owned) + len(second.owned) == 5
    assert "orders.us" in topics_of(first)
    assert "stock" in topics_of(second)
    assert not first.owned & second.owned


async def test_another_pattern_takes_the_place_of_the_first(calls: GroupCalls) -> None:
    member = by_pattern(calls, "orders.*")
    await member.connect()
    await until_topics(member, "orders.eu", "orders.us")
    member.pattern = "st.*"
    await member._stream.send(member.request())
    await until_topics(member, "stock")
    group = await calls.until_stable(1)
    assert any("changed its subscription" in one.cause for one in group.rebalances)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "without its )"),
        ("(a+)+", "backtrack without bound"),
        (r"(a)\1", "cannot be referred to"),
        ("(?!stock).*", "looks around"),
        ("x" * 1_001, "at most 1000"),
        ("(a?){500}", "written out"),
    ],
)
async def test_a_pattern_that_is_refused_changes_nothing(
    calls: GroupCalls, pattern: str, why: str
) -> None:
    member = by_pattern(calls, pattern)
    response = await calls.ask(CONSUMER_GROUP_HEARTBEAT, member.request())
    assert code_name(response.error.code) == "INVALID_REGULAR_EXPRESSION"
    assert why in response.error.message
    assert await calls.listed() == {}
    member.pattern = "stock"
    assert await member.ask() == "NONE"
    member.pattern = pattern
    assert await member.ask() == "INVALID_REGULAR_EXPRESSION"
    assert (await calls.describe()).members[0].subscribed_pattern == "stock"


async def test_the_next_coordinator_knows_what_members_match(calls: GroupCalls) -> None:
    member = by_pattern(calls, "orders.*")
    await member.connect()
    await until_topics(member, "orders.eu", "orders.us")
    epoch = (await calls.until_stable(1)).epoch
    calls.cluster.kill(await calls.coordinator())
    await calls.cluster.failed_over()
    await member.connect()
    await calls.until_stable(1)
    await asyncio.sleep(2 * TICK_S)
    assert (await calls.describe()).epoch == epoch, "a rebalance for nothing"
    await calls.cluster.create("orders.asia", partitions=1)
    await until_topics(member, "orders.eu", "orders.us", "orders.asia")


async def test_slow_matching_is_waited_for_after_a_load_and_for_new_topics(
    calls: GroupCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = by_pattern(calls, "orders.*")
    await member.connect()
    await until_topics(member, "orders.eu", "orders.us")
    epoch = (await calls.until_stable(1)).epoch
    work = PatternMatching._work

    async def late(matching: PatternMatching) -> None:
        await asyncio.sleep(8 * TICK_S)
        await work(matching)

    monkeypatch.setattr(PatternMatching, "_work", late)
    calls.cluster.kill(await calls.coordinator())
    await calls.cluster.failed_over()
    await asyncio.sleep(20 * TICK_S)
    assert (await calls.describe()).epoch == epoch, "it looked at a group of unknown topics"
    await member.connect()
    await calls.cluster.create("orders.asia", partitions=1)
    took_s = await until_topics(member, "orders.eu", "orders.us", "orders.asia")
    assert 8 * TICK_S <= took_s < 12 * TICK_S


async def test_topics_that_went_while_nobody_coordinated_are_missed(calls: GroupCalls) -> None:
    member = by_pattern(calls, "st.*")
    await member.ask()
    for _ in range(3):
        await member.ask()
        await asyncio.sleep(0.1)
    assert topics_of(member) == {"stock"}
    coordinator = await calls.coordinator()
    calls.cluster.lag(coordinator)
    await calls.cluster.delete("stock")
    calls.cluster.kill(coordinator)
    await calls.cluster.failed_over()
    await until_rebalanced(calls)
    await member.ask()
    assert member.owned == set()


async def until_rebalanced(calls: GroupCalls) -> None:
    async with asyncio.timeout(60):
        cause = ""
        while cause != "subscribed topics changed":
            cause = (await calls.describe()).rebalances[-1].cause
            await asyncio.sleep(0.05)


async def test_offsets_of_topics_that_a_pattern_matches_are_not_deleted() -> None:
    calls = GroupCalls(await started(groups=GroupConfig(offsets_topic_num_partitions=1)))
    await calls.cluster.create("orders", partitions=1)
    await calls.commit({("orders", 0): 7})
    assert await by_pattern(calls, "ord.*").ask() == "NONE"
    assert await delete_error(calls) == "GROUP_SUBSCRIBED_TO_TOPIC"
    calls.cluster.kill(await calls.coordinator())
    await calls.cluster.failed_over()
    assert await delete_error(calls) == "GROUP_SUBSCRIBED_TO_TOPIC"  # as soon as it is loaded
    assert await calls.committed() == {("orders", 0): 7}


async def delete_error(calls: GroupCalls) -> str:
    topic = OffsetFetchRequest.Topic(topic="orders", partitions=[0])
    request = OffsetDeleteRequest(group_id=calls.group_id, topics=[topic])
    response: Any = await calls.ask(OFFSET_DELETE, request)
    return code_name(response.topics[0].partitions[0].error.code)
