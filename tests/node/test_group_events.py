"""The journal of groups on real nodes: members, rebalances, coordinators, each with its reason."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.client.patience import until
from tests.client.real_cluster import ADDRESSES, RealCluster, started
from tests.node.group_calls import GroupCalls, HandMember

from tidelog.broker.coordinator.consumer_member import AWAY, LEAVING
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.v1.admin_pb2 import JournalEvent, ListEventsRequest
from tidelog.v1.coordinator_pb2 import OffsetDeleteRequest
from tidelog.v1.methods import LIST_EVENTS, OFFSET_DELETE

pytestmark = pytest.mark.asyncio
CONFIG = GroupConfig(
    offsets_topic_num_partitions=1,
    group_consumer_session_timeout_ms=6_000,
    offsets_retention_minutes=1,
    offsets_retention_check_interval_ms=1_000,
)


@pytest_asyncio.fixture
async def calls() -> AsyncIterator[GroupCalls]:
    cluster = await started(groups=CONFIG)
    await cluster.create("orders", partitions=4)
    yield GroupCalls(cluster)


async def listed(calls: GroupCalls, group: str = "g") -> list[JournalEvent]:
    """Events of a group, of all brokers; those of coordinators for the empty name."""
    found: list[JournalEvent] = []
    for node_id in ADDRESSES:
        if calls.cluster.machines[node_id].is_up:
            request = ListEventsRequest(kinds=["group"], group=group, limit=1_000)
            found += (await calls.cluster.ask(node_id, LIST_EVENTS, request)).events
    return sorted(found, key=lambda one: (one.time_ms, one.sequence))


async def said(calls: GroupCalls, group: str = "g") -> list[str]:
    """Each event in a line, numbers of milliseconds left out."""
    return [
        f"{one.before or '-'} > {one.after or '-'}: {_without_ms(one.cause)}"
        for one in await listed(calls, group)
    ]


def _without_ms(cause: str) -> str:
    words = cause.split(" ")
    return " ".join(
        "N" if word.isdecimal() and after == "ms:" else word
        for word, after in zip(words, [*words[1:], ""], strict=True)
    )


async def test_a_life_of_a_group_is_said_in_order(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    await member.connect()
    await member.until_owned(4)
    await calls.until_stable(1)
    other = HandMember(calls, "b", "orders")
    await other.connect()
    await asyncio.gather(member.until_owned(2), other.until_owned(2))
    await calls.until_stable(2)
    assert await other.ask(epoch=LEAVING) == "NONE"
    await member.until_owned(4)
    await calls.until_stable(1)
    member.disconnect()
    await until(lambda: _is_empty(calls))
    assert await calls.delete() == "NONE"
    assert await said(calls) == [
        "- > consumer group: member a (hand) joined",
        "members 0 > members 1: member a (hand) joined",
        "- > epoch 2: rebalance begins: member a (hand) joined",
        "epoch 2 > Stable: rebalance complete after N ms: members 1, their partitions 4",
        "members 1 > members 2: member b (hand) joined",
        "- > epoch 3: rebalance begins: member b (hand) joined",
        "epoch 3 > Stable: rebalance complete after N ms: members 2, their partitions 4",
        "members 2 > members 1: member b (hand) left",
        "- > epoch 4: rebalance begins: member b (hand) left",
        "epoch 4 > Stable: rebalance complete after N ms: members 1, their partitions 4",
        "members 1 > members 0: member a (hand) lost its connection and did not come back",
        "- > epoch 5: rebalance begins: member a (hand) lost its connection and did not come back",
        "epoch 5 > Empty: rebalance complete after N ms: members 0, their partitions 0",
        "consumer group > deleted: it was deleted on request",
    ]


def _is_empty(calls: GroupCalls) -> bool:
    return not any(
        live.state.members
        for machine in calls.cluster.machines.values()
        if machine.node._broker is not None
        for hosted in machine.node._broker.groups.runtime.active()
        for live in hosted.shard.groups.values()
    )


async def test_each_one_that_is_silent_is_named_with_its_reason(calls: GroupCalls) -> None:
    names = [f"m{number}" for number in range(5)]
    for name in names:
        await HandMember(calls, name, "orders").ask()
    await until(lambda: _is_empty(calls))
    lines = await said(calls)
    for name in names:
        (line,) = [
            one
            for one in lines
            if one.startswith("members") and f" {name} " in one and "joined" not in one
        ]
        assert line.endswith(f"member {name} (hand) was silent for its session")


async def test_one_that_does_not_let_go_is_said_to_be_fenced_and_removed(
    calls: GroupCalls,
) -> None:
    first, second = HandMember(calls, "a", "orders"), HandMember(calls, "b", "orders")
    first.rebalance_timeout_ms = 1_000
    await first.connect()
    await first.until_owned(4)
    first.is_stubborn = True
    await second.connect()
    for _ in range(8):  # the session of the first one is 6 s
        await asyncio.sleep(1)
        await second.ask()
    await second.until_owned(4)
    lines = await said(calls)
    fenced = "member a > fenced: member a did not let go of partitions within its rebalance timeout"
    removed = "members 2 > members 1: member a (hand) did not let go of partitions within N ms"
    assert lines.index(fenced) < lines.index(removed.replace("N ms", "1000 ms"))


async def test_a_static_member_goes_comes_back_and_is_replaced(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    member.instance_id = "i"
    await member.ask()
    await member.ask()
    await member.ask(epoch=AWAY)
    later = HandMember(calls, "b", "orders")
    later.instance_id = "i"
    assert await later.ask() == "NONE"
    lines = await said(calls)
    assert "members 1 > members 1: static member a (i) left for a while" in lines
    assert "member a > member b: static member i came back, in place of a" in lines
    assert not [one for one in lines if "members 1 > members 0" in one or "removed" in one]


async def test_groups_of_offsets_alone_are_created_deleted_and_expire(calls: GroupCalls) -> None:
    await calls.commit({("orders", 0): 1})
    await calls.commit({("orders", 1): 1})
    request = OffsetDeleteRequest(group_id="g")
    request.topics.add(topic="orders", partitions=[0, 1])
    await calls.ask(OFFSET_DELETE, request)
    await calls.commit({("orders", 0): 1})
    await asyncio.sleep(62)
    created = "- > offsets alone: its first offset was committed"
    assert await said(calls) == [
        created,
        "offsets alone > deleted: its offsets were deleted on request",
        created,
        "offsets alone > deleted: it expired: offsets.retention.minutes",
    ]


async def test_a_group_that_expires_and_one_whose_topic_goes(calls: GroupCalls) -> None:
    member = HandMember(calls, "a", "orders")
    await member.ask()
    await member.ask(epoch=LEAVING)
    other = GroupCalls(calls.cluster, "other")
    await other.commit({("orders", 0): 1})
    await calls.cluster.delete("orders")
    await asyncio.sleep(62)
    assert (await said(calls))[-1] == (
        "consumer group > deleted: it expired: offsets.retention.minutes"
    )
    assert (await said(calls, "other"))[-1] == (
        "offsets alone > deleted: the topics of its offsets were deleted"
    )


async def test_coordinators_say_what_they_read_and_why_they_end(calls: GroupCalls) -> None:
    assert await listed(calls, "") == []
    member = HandMember(calls, "a", "orders")
    await member.ask()
    await asyncio.sleep(0.1)
    await member.ask()
    assert (await calls.describe()).state == "Stable"
    before = await calls.coordinator()
    assert [one for one in await listed(calls, "") if not one.group] == []  # it read nothing
    other = next(one for one in ADDRESSES if one != before)
    await calls.cluster.move(OFFSETS_TOPIC, 0, leader_id=other)
    await calls.describe()
    found = [one for one in await listed(calls, "") if not one.group]
    read, ended = sorted(found, key=lambda one: one.before)
    assert (ended.before, ended.after, ended.topic, ended.partition) == (
        *("coordinator", "none", OFFSETS_TOPIC),
        0,
    )
    assert ended.cause.startswith("DEPOSED: 1 groups, offsets of 0 are dropped here")
    assert read.after == "coordinator"
    assert read.leader_epoch == ended.leader_epoch + 1
    assert read.cause.startswith("read 1 groups, offsets of 0: ")
    # Nothing happened to the group.
    assert [one.cause for one in await listed(calls)][-1].startswith("rebalance complete")


async def test_what_was_not_committed_is_not_said(calls: GroupCalls) -> None:
    await HandMember(calls, "a", "orders").ask()
    leader = await calls.coordinator()
    for node_id in ADDRESSES:
        if node_id != leader:
            calls.cluster.kill(node_id)
    joining = asyncio.create_task(HandMember(calls, "late", "orders").ask())
    await asyncio.sleep(2)  # until the ISR shrinks nothing is committed
    assert not [one for one in await said(calls) if "late" in one]
    joining.cancel()


async def test_a_member_that_comes_and_goes_all_the_time_fills_no_journal(
    calls: GroupCalls,
) -> None:
    member = HandMember(calls, "a", "orders")
    for _ in range(60):
        await member.ask(epoch=0)
        await member.ask(epoch=LEAVING)
        member.epoch = 0
    assert len(await listed(calls)) == 100
    cluster: RealCluster = calls.cluster
    stats = cluster.machines[await calls.coordinator()].node.stats()
    left_out = stats["group_events_left_out"]
    assert left_out >= 60 * 4 - 100
    await asyncio.sleep(61)
    said_so = f"{left_out:.0f} further events of the group within a minute were left out"
    assert said_so in [one.cause for one in await listed(calls)]
