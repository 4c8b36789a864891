"""Bad input about groups to real coordinators: typed, nothing changed, others go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.client.real_cluster import ADDRESSES, RealCluster, started
from tests.node.group_calls import GroupCalls, HandMember

from tidelog.broker.coordinator import group_key
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_heartbeats import ID_CHARACTERS_MAX, Reply
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.member_streams import MemberKey, MemberStreams
from tidelog.core.errors import code_name
from tidelog.node.handlers.group_codec import OWNED_MAX, TOPIC_CHARACTERS_MAX
from tidelog.node.handlers.group_limits import DESCRIBED_BYTES_MAX, GROUPS_MAX, PARTITIONS_MAX
from tidelog.node.handlers.group_stream import GroupStream
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from tidelog.v1.methods import (
    CONSUMER_GROUP_HEARTBEAT,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    FIND_COORDINATOR,
    GROUP_STREAM,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
)

pytestmark = pytest.mark.asyncio

MILLION = 1_000_000
PIECE_MAX = 500
"""Partitions that hold the loop at once, at most."""


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    cluster = await started()
    await cluster.create("orders", partitions=4)
    yield cluster


@pytest.fixture
def calls(cluster: RealCluster) -> GroupCalls:
    return GroupCalls(cluster)


def whole_error(response: Any) -> str:
    assert response.error.message or not response.error.code
    return code_name(response.error.code)


def numbers(count: int) -> OffsetFetchRequest.Topic:
    return OffsetFetchRequest.Topic(topic="orders", partitions=range(count))


# Partitions


async def test_a_million_partitions_are_refused_at_once_and_nothing_is_changed(
    calls: GroupCalls,
) -> None:
    await calls.commit({("orders", 0): 7})
    commit = OffsetCommitRequest(group_id="g", member_epoch=-1)
    topic = commit.topics.add(topic="orders")
    one = OffsetCommitRequest.Partition(offset=9)
    topic.partitions.extend([one] * MILLION)
    response = await calls.ask(OFFSET_COMMIT, commit)
    assert whole_error(response) == "INVALID_REQUEST"
    assert "send several" in response.error.message
    fetch = OffsetFetchRequest(group_id="g", member_epoch=-1, topics=[numbers(MILLION)])
    assert whole_error(await calls.ask(OFFSET_FETCH, fetch)) == "INVALID_REQUEST"
    delete = OffsetDeleteRequest(group_id="g", topics=[numbers(MILLION)])
    assert whole_error(await calls.ask(OFFSET_DELETE, delete)) == "INVALID_REQUEST"
    many = OffsetFetchRequest(group_id="g", member_epoch=-1)
    many.topics.extend([OffsetFetchRequest.Topic(topic="x")] * (PARTITIONS_MAX + 1))
    assert whole_error(await calls.ask(OFFSET_FETCH, many)) == "INVALID_REQUEST"
    assert await calls.committed() == {("orders", 0): 7}


async def test_as_many_as_a_request_may_name_are_answered_one_by_one(
    calls: GroupCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces: the loop is never held for long."""
    await calls.commit({("orders", 0): 7})
    pieces: list[int] = []
    fetch = GroupShard.fetch

    def noted(
        self: GroupShard, group_id: str, committer: Committer, asked: Any, **stable: bool
    ) -> Any:
        pieces.append(len(asked))
        return fetch(self, group_id, committer, asked, **stable)

    monkeypatch.setattr(GroupShard, "fetch", noted)
    request = OffsetFetchRequest(group_id="g", member_epoch=-1, topics=[numbers(PARTITIONS_MAX)])
    response = await calls.ask(OFFSET_FETCH, request)
    found = [one for topic in response.topics for one in topic.partitions]
    assert len(found) == PARTITIONS_MAX
    assert [code_name(one.error.code) for one in found[:5]] == ["NONE"] * 4 + [
        "UNKNOWN_TOPIC_OR_PARTITION"
    ]
    assert found[0].offset == 7
    assert [topic.topic for topic in response.topics] == ["orders", "orders"]
    assert sum(pieces) == PARTITIONS_MAX
    assert max(pieces) <= PIECE_MAX
    deletion = OffsetDeleteRequest(group_id="g", topics=[numbers(PARTITIONS_MAX)])
    response = await calls.ask(OFFSET_DELETE, deletion)
    found = [one for topic in response.topics for one in topic.partitions]
    assert len(found) == PARTITIONS_MAX
    assert await calls.committed() == {}


async def test_bad_partitions_of_a_commit_are_named_and_good_ones_committed(
    calls: GroupCalls,
) -> None:
    request = OffsetCommitRequest(group_id="g", member_epoch=-1)
    orders = request.topics.add(topic="orders")
    for partition, offset, metadata in (
        *((0, 5, ""), (0, 6, "twice"), (1, -1, ""), (9, 1, ""), (-1, 1, "")),
        *((2, 1, "m" * 4_097), (3, 2**63 - 1, ""), (2**31 - 1, 0, "")),
    ):
        orders.partitions.add(partition=partition, offset=offset, metadata=metadata)
    request.topics.add(topic="nosuch").partitions.add(offset=1)
    request.topics.add(topic="orders", topic_id=b"x" * 16).partitions.add(offset=1)
    request.topics.add(topic="x" * 5_000).partitions.add(offset=1)
    response: Any = await calls.ask(OFFSET_COMMIT, request)
    codes = [code_name(one.error.code) for topic in response.topics for one in topic.partitions]
    unknown = "UNKNOWN_TOPIC_OR_PARTITION"
    assert codes == [
        *("NONE", "NONE", "INVALID_REQUEST", unknown, unknown),
        *("OFFSET_METADATA_TOO_LARGE", "NONE", unknown),
        *(unknown, "UNKNOWN_TOPIC_ID", unknown),
    ]
    assert len(response.topics[-1].partitions[0].error.message) < 500
    assert await calls.committed() == {("orders", 0): 6, ("orders", 3): 2**63 - 1}


@pytest.mark.parametrize("topic_id", [b"short", b"x" * 17])
async def test_a_topic_id_of_another_length_refuses_the_request(
    calls: GroupCalls, topic_id: bytes
) -> None:
    request = OffsetCommitRequest(group_id="g", member_epoch=-1)
    request.topics.add(topic="orders").partitions.add(offset=1)
    request.topics.add(topic="orders", topic_id=topic_id).partitions.add(offset=1)
    assert whole_error(await calls.ask(OFFSET_COMMIT, request)) == "INVALID_REQUEST"
    assert await calls.committed() == {}


# Groups


@pytest.mark.parametrize("count", [GROUPS_MAX, 100_000])
async def test_many_groups_in_one_request(calls: GroupCalls, count: int) -> None:
    await calls.commit({("orders", 0): 7})
    ids = [f"group-{number}" for number in range(count - 1)] + ["g"]
    node_id = await calls.coordinator()
    find = FindCoordinatorRequest(group_ids=ids)
    found = await calls.cluster.ask(node_id, FIND_COORDINATOR, find)
    described = await calls.cluster.ask(
        node_id, DESCRIBE_GROUPS, DescribeGroupsRequest(group_ids=ids)
    )
    deleted = await calls.cluster.ask(
        node_id, DELETE_GROUPS, DeleteGroupsRequest(group_ids=ids[:-1] * (count > GROUPS_MAX))
    )
    if count > GROUPS_MAX:
        for response in (found, described, deleted):
            assert whole_error(response) == "INVALID_REQUEST"
            assert f"at most {GROUPS_MAX}" in response.error.message
    else:
        assert len(found.coordinators) == len(described.groups) == count
        codes = {code_name(one.error.code) for one in described.groups[:-1]}
        assert codes <= {"GROUP_ID_NOT_FOUND", "NOT_COORDINATOR"}
        assert described.groups[-1].state == "Empty"
    assert await calls.committed() == {("orders", 0): 7}


@pytest.mark.parametrize("group_id", ["", "x" * 250, "x" * MILLION])
async def test_an_empty_or_long_id_is_no_group(
    cluster: RealCluster, group_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await GroupCalls(cluster).commit({("orders", 0): 7})
    beat = HandMember(GroupCalls(cluster, group_id), "m", "o").request()
    asked: list[tuple[Any, Any]] = [
        (OFFSET_COMMIT, OffsetCommitRequest(group_id=group_id, member_epoch=-1)),
        (OFFSET_FETCH, OffsetFetchRequest(group_id=group_id, member_epoch=-1)),
        (OFFSET_DELETE, OffsetDeleteRequest(group_id=group_id)),
        (CONSUMER_GROUP_HEARTBEAT, beat),
        (DESCRIBE_GROUPS, DescribeGroupsRequest(group_ids=[group_id])),
        (DELETE_GROUPS, DeleteGroupsRequest(group_ids=[group_id])),
    ]
    hashed: list[str] = []
    java_hash = group_key.java_hash

    def noted(text: str) -> int:
        hashed.append(text)
        return java_hash(text)

    monkeypatch.setattr(group_key, "java_hash", noted)
    for method, request in asked:
        for node_id in ADDRESSES:
            response: Any = await cluster.ask(node_id, method, request)
            result = response.groups[0] if hasattr(response, "groups") else response
            assert whole_error(result) == "INVALID_GROUP_ID", method.path
    assert group_id not in hashed, "the hash of a million characters takes a second"


async def test_a_members_long_name_commits_nothing(calls: GroupCalls) -> None:
    for field in ("member_id", "instance_id"):
        request = OffsetCommitRequest(group_id="g", member_epoch=1)
        setattr(request, field, "x" * MILLION)
        response = await calls.ask(OFFSET_COMMIT, request)
        assert whole_error(response) == "INVALID_REQUEST"
        assert len(response.error.message) < 500


async def test_an_answer_describes_only_so_much(
    calls: GroupCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert DESCRIBED_BYTES_MAX > 1 << 20
    monkeypatch.setattr("tidelog.node.handlers.coordinator.DESCRIBED_BYTES_MAX", 50)
    single = GroupCalls(await started(groups=GroupConfig(offsets_topic_num_partitions=1)))
    await single.cluster.create("orders", partitions=1)
    for group_id in ("g", "h", "i"):
        await GroupCalls(single.cluster, group_id).commit({("orders", 0): 7})
        await HandMember(GroupCalls(single.cluster, group_id), "m" * 60, "orders").ask()
    request = DescribeGroupsRequest(group_ids=["g", "h", "i"])
    groups = (await single.ask(DESCRIBE_GROUPS, request)).groups
    codes = [code_name(one.error.code) for one in groups]
    assert codes == ["NONE", "INVALID_REQUEST", "INVALID_REQUEST"]
    assert "fewer at a time" in groups[1].error.message
    del calls


async def test_a_large_group_is_deleted_in_parts(cluster: RealCluster) -> None:
    await cluster.create("wide", partitions=1_000, replicas=1)
    calls = GroupCalls(cluster)
    assert set(await calls.commit({("wide", one): 1 for one in range(1_000)})) == {"NONE"}
    assert await calls.delete() == "NONE"
    assert await calls.delete() == "GROUP_ID_NOT_FOUND"
    assert await calls.committed() == {}


# Members


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("member_id", "m" * (ID_CHARACTERS_MAX + 1)),
        ("member_id", ""),
        ("instance_id", "i" * (ID_CHARACTERS_MAX + 1)),
        ("instance_id", ""),
        ("client_id", "c" * (ID_CHARACTERS_MAX + 1)),
        ("rack_id", "r" * MILLION),
        ("rebalance_timeout_ms", 0),
        ("rebalance_timeout_ms", -1),
        ("member_epoch", -3),
        ("assignor", "x" * MILLION),
    ],
)
async def test_a_bad_field_of_a_join_is_refused(
    calls: GroupCalls, field: str, value: object
) -> None:
    request = HandMember(calls, "m", "orders").request()
    setattr(request, field, value)
    response = await calls.ask(CONSUMER_GROUP_HEARTBEAT, request)
    expected = "UNSUPPORTED_ASSIGNOR" if field == "assignor" else "INVALID_REQUEST"
    assert whole_error(response) == expected
    assert len(response.error.message) < 5_000
    assert await calls.listed() == {}


async def test_topics_and_partitions_of_a_heartbeat_are_bounded(calls: GroupCalls) -> None:
    member = HandMember(calls, "m", "t" * (TOPIC_CHARACTERS_MAX + 1))
    assert await member.ask() == "INVALID_REQUEST"
    member.topics = ("orders",)
    assert await member.ask() == "NONE"
    request = member.request()
    request.owned.topics.add(topic_id=b"x" * 16, partitions=range(OWNED_MAX + 1))
    assert whole_error(await calls.ask(CONSUMER_GROUP_HEARTBEAT, request)) == "INVALID_REQUEST"
    assert await member.ask() == "NONE"


# Streams


async def test_a_broker_has_only_so_many_streams() -> None:
    config = GroupConfig(offsets_topic_num_partitions=1, group_streams_max=2)
    cluster = await started(groups=config)
    await cluster.create("orders", partitions=4)
    calls = GroupCalls(cluster)
    first, second = HandMember(calls, "a", "orders"), HandMember(calls, "b", "orders")
    for one in (first, second):
        await one.connect()
        await one.until_owned(2 if one is second else 4)
    third = HandMember(calls, "c", "orders")
    assert await stream_error(third) == "GROUP_MAX_SIZE_REACHED"
    await first.connect()  # its own takes the place of the one before
    await calls.until_stable(2)
    assert len((await calls.describe()).members) == 2
    second.disconnect()
    await first.until_owned(4)
    await third.connect()
    await third.until_owned(2)


async def test_a_stream_of_a_bad_name_is_refused(calls: GroupCalls) -> None:
    await calls.describe()
    for member in (
        HandMember(calls, "m" * 250, "orders"),
        HandMember(GroupCalls(calls.cluster, "g" * 250), "m", "orders"),
    ):
        assert await stream_error(member) in ("INVALID_REQUEST", "INVALID_GROUP_ID")
        assert (
            member.calls.cluster.machines[await calls.coordinator()].node.stats()[
                "group_member_streams"
            ]
            == 0
        )


async def stream_error(member: HandMember) -> str:
    """First answer on a stream of its own; the coordinator is the one of the group g."""
    cluster = member.calls.cluster
    address = ADDRESSES[await GroupCalls(cluster).coordinator()]
    stream = await cluster.direct.open_stream(address, GROUP_STREAM)
    await stream.send(member.request())
    return whole_error(await stream.receive())  # it stays open, if it is not ended


async def test_a_stream_that_nobody_reads_keeps_one_request_and_one_push() -> None:
    member = HandMember(GroupCalls(RealCluster(), "g"), "m", "orders")
    taken = 0

    async def requests() -> AsyncIterator[ConsumerGroupHeartbeatRequest]:
        nonlocal taken
        while True:
            taken += 1
            yield member.request()

    async def answer(_: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        return ConsumerGroupHeartbeatResponse(member_id="m")

    def encode(pushed: Any) -> ConsumerGroupHeartbeatResponse:  # a Reply
        return ConsumerGroupHeartbeatResponse(member_epoch=pushed.epoch)

    streams = MemberStreams(streams_max=1)
    stream = GroupStream(
        answer=answer,
        encode=encode,
        connect=lambda group_id, member_id: streams.connect(MemberKey(group_id, member_id)),
        disconnect=lambda one: _ignore(streams.disconnect(one)),
    )
    answers = stream.answers(requests())
    assert (await anext(answers)).member_id == "m"
    connection = streams.find(MemberKey("g", "m"))
    assert connection is not None
    for epoch in range(1_000):
        connection.push(Reply("m", epoch, None, epoch))
        await asyncio.sleep(0)
    assert taken <= 3
    assert (await anext(answers)).member_epoch == 999, "the newest alone"
    await answers.aclose()
    assert len(streams) == 0


def _ignore(_: object) -> None: ...
