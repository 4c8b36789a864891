"""Consumers of a group, on real nodes: what they commit, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.client.group_consumers import (
    ALL,
    Heard,
    consumer,
    orders_cluster,
    places,
    read,
)
from tests.client.patience import until
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started
from tests.node.group_calls import GroupCalls

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.client import (
    Consumer,
    InvalidGroupIdError,
    OffsetAndMetadata,
    RebalanceListener,
    TopicPartition,
)
from tidelog.client.errors import (
    ClientConfigError,
    CommitFailedError,
    KafkaError,
    OffsetMetadataTooLargeError,
    OffsetOutOfRangeError,
    UnsupportedAssignorError,
)
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    yield await orders_cluster()


# Commits


async def test_commits_by_hand(cluster: RealCluster) -> None:
    async with consumer(cluster, enable_auto_commit=False) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        assert await reader.committed([("orders", 0)]) == {TopicPartition("orders", 0): None}
        offsets: dict[tuple[str, int], OffsetAndMetadata | int]
        offsets = {("orders", 0): OffsetAndMetadata(3, "half", 0), ("orders", 1): 2}
        await reader.commit(offsets)
        found = await reader.committed([("orders", 0), ("orders", 1)])
        assert found[TopicPartition("orders", 0)] == OffsetAndMetadata(3, "half", 0)
        assert found[TopicPartition("orders", 1)] == OffsetAndMetadata(2, leader_epoch=0)
        done: list[object] = []
        reader.commit_soon(on_done=done.append)
        await until(lambda: bool(done))
        assert done == [None]
        with pytest.raises(OffsetMetadataTooLargeError):
            await reader.commit({("orders", 0): OffsetAndMetadata(1, "m" * 4_097)})
        with pytest.raises(KafkaError):
            await reader.commit({("nosuch", 0): 1})
    assert await GroupCalls(cluster).committed() == {("orders", one): 5 for one in range(4)}


async def test_commits_are_made_in_the_order_of_the_calls(cluster: RealCluster) -> None:
    async with consumer(cluster, enable_auto_commit=False) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        for offset in range(5):
            reader.commit_soon({("orders", 0): offset})
        await reader.commit({("orders", 0): 5})
        assert (await GroupCalls(cluster).committed())["orders", 0] == 5


async def test_a_commit_that_is_given_up_does_not_change_the_order(cluster: RealCluster) -> None:
    async with consumer(cluster, enable_auto_commit=False) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        held = cluster.held[ADDRESSES[await GroupCalls(cluster).coordinator()], "OffsetCommit"] = (
            asyncio.Event()
        )
        reader.commit_soon({("orders", 0): 1})
        given_up = asyncio.create_task(reader.commit({("orders", 0): 2}))
        last = asyncio.create_task(reader.commit({("orders", 0): 3}))
        await asyncio.sleep(0.1)
        given_up.cancel()
        await asyncio.sleep(0.1)
        offsets = [one.topics[0].partitions[0].offset for one in cluster.requests("OffsetCommit")]
        assert offsets == [1]
        held.set()
        await last
        assert (await GroupCalls(cluster).committed())["orders", 0] == 3


async def test_a_commit_with_an_old_epoch_is_sent_again_with_the_newer_one(
    cluster: RealCluster,
) -> None:
    async with consumer(cluster, enable_auto_commit=False) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        group: Any = reader._group
        membership = group._membership
        membership.epoch -= 1  # the newer one is on its way

        def arrive(method: str, answer: Any) -> None:
            if method == "OffsetCommit" and answer.error.code:
                membership.epoch += 1

        cluster.spoil = arrive
        await reader.commit({("orders", 0): 4})
        assert (await GroupCalls(cluster).committed())["orders", 0] == 4
        assert len(cluster.requests("OffsetCommit")) == 2


async def test_a_commit_does_not_outlive_the_membership_it_was_made_in(
    cluster: RealCluster,
) -> None:
    async with consumer(cluster, enable_auto_commit=False) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        group: Any = reader._group
        membership = group._membership
        epoch, membership.epoch = membership.epoch, membership.epoch - 1

        def lose(method: str, answer: Any) -> None:
            if method == "OffsetCommit" and answer.error.code:
                membership.lose()
                membership.epoch = epoch  # it has joined again meanwhile

        cluster.spoil = lose
        with pytest.raises(CommitFailedError):
            await reader.commit({("orders", 0): 4})
        assert await GroupCalls(cluster).committed() == {}


@pytest.mark.parametrize("code", [common_pb2.NOT_COORDINATOR, common_pb2.REQUEST_TIMED_OUT])
async def test_no_attempt_of_a_commit_outlives_the_membership(
    cluster: RealCluster, code: Any
) -> None:
    """One that joined again may have its old epoch, under which the coordinator would take it."""
    async with consumer(cluster, enable_auto_commit=False) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        await reader.commit({("orders", 0): 3})
        group: Any = reader._group
        membership = group._membership
        epoch = membership.epoch

        def lose(method: str, answer: Any) -> None:
            if method == "OffsetCommit":
                answer.error.code = code
                membership.lose()
                membership.epoch = epoch  # it has joined again meanwhile

        cluster.spoil = lose
        reader.commit_soon({("orders", 0): 3})
        with pytest.raises(CommitFailedError):
            await reader.commit({("orders", 0): 4})
        assert len(cluster.requests("OffsetCommit")) == 2
        assert await GroupCalls(cluster).committed() == {("orders", 0): 3}


@pytest.mark.parametrize(
    ("code", "is_unknown"),
    [(common_pb2.NOT_COORDINATOR, False), (common_pb2.REQUEST_TIMED_OUT, True)],
)
async def test_a_refusal_after_an_attempt_without_an_answer_does_not_say_that_nothing_was_done(
    cluster: RealCluster, code: Any, *, is_unknown: bool
) -> None:
    async with consumer(cluster, enable_auto_commit=False) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        group: Any = reader._group

        def lose(method: str, answer: Any) -> None:
            if method == "OffsetCommit":
                answer.error.code = code
                group._membership.lose()

        cluster.spoil = lose
        with pytest.raises(CommitFailedError) as refused:
            await reader.commit({("orders", 0): 4})
        assert refused.value.is_outcome_unknown == is_unknown


async def test_no_attempt_of_a_commit_outlives_the_partition(cluster: RealCluster) -> None:
    """It may be this member's again, which began where the group had committed."""
    async with consumer(cluster, enable_auto_commit=False) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        await reader.commit({("orders", 0): 3, ("orders", 1): 3})
        group: Any = reader._group

        def release(method: str, answer: Any) -> None:
            if method == "OffsetCommit":
                answer.error.code = common_pb2.NOT_COORDINATOR
                group._offsets.note_released([TopicPartition("orders", 0)])
                cluster.spoil = lambda *_: None

        cluster.spoil = release
        reader.commit_soon({("orders", 1): 4})
        with pytest.raises(CommitFailedError, match="let go"):
            await reader.commit({("orders", 0): 4})
        await reader.commit({("orders", 0): 3})
        found = await GroupCalls(cluster).committed()
        assert (found["orders", 0], found["orders", 1]) == (3, 4)


async def test_a_consumer_that_assigns_its_partitions_commits_to_an_empty_group(
    cluster: RealCluster,
) -> None:
    async with consumer(cluster) as reader:
        reader.assign([("orders", 0)])
        await read(reader, 5)
        await reader.commit({("orders", 0): 3})
    assert await GroupCalls(cluster).committed() == {("orders", 0): 3}


async def test_a_consumer_that_assigns_its_partitions_begins_where_the_group_committed(
    cluster: RealCluster,
) -> None:
    await GroupCalls(cluster).commit({("orders", 0): 3})
    async with consumer(cluster, auto_offset_reset="none") as reader:
        reader.assign([("orders", 0)])
        assert places(await read(reader, 2)) == {(0, 3), (0, 4)}
        reader.seek_to_beginning(("orders", 0))
        assert len(await read(reader, 5)) == 5
        reader.assign([("orders", 1)])
        with pytest.raises(OffsetOutOfRangeError):
            await reader.getmany(timeout_ms=10_000)
    async with consumer(cluster) as reader:
        reader.assign([("orders", 0), ("orders", 1)])
        assert await reader.position(("orders", 0)) == 3
        assert await reader.position(("orders", 1)) == 0


# Refusals


async def test_without_a_group_there_is_nothing_to_commit(cluster: RealCluster) -> None:
    async with Consumer(BOOTSTRAP, transport=cluster) as reader:
        with pytest.raises(InvalidGroupIdError, match="group_id="):
            await reader.commit()


async def test_what_the_coordinator_refuses_is_raised_by_the_next_read(
    cluster: RealCluster,
) -> None:
    async with consumer(cluster, group_remote_assignor="nosuch") as reader:
        await reader.subscribe(["orders"])
        for _ in range(2):
            with pytest.raises(UnsupportedAssignorError, match="nosuch"):
                await reader.getmany(timeout_ms=10_000)
    async with consumer(cluster, group_id="x" * 250) as reader:
        await reader.subscribe(["orders"])
        with pytest.raises(InvalidGroupIdError):
            await reader.getmany(timeout_ms=10_000)


async def test_what_the_listener_raises_is_raised_by_the_next_read(cluster: RealCluster) -> None:
    class Broken(RebalanceListener):
        async def on_partitions_assigned(self, *_: object) -> None:
            raise ZeroDivisionError

    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"], listener=Broken())
        with pytest.raises(ZeroDivisionError):
            await reader.getmany(timeout_ms=10_000)
        assert places(await read(reader, 20)) == ALL


async def test_assign_is_refused_while_subscribed(cluster: RealCluster) -> None:
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"])
        with pytest.raises(ClientConfigError, match="unsubscribe"):
            reader.assign([("orders", 0)])


async def test_closing_ends_in_time_though_nobody_answers(cluster: RealCluster) -> None:
    reader = consumer(cluster)
    await reader.subscribe(["orders"])
    await read(reader, 20)
    cluster.cut_off.update(ADDRESSES.values())
    began = asyncio.get_running_loop().time()
    await reader.close(timeout_ms=2_000)
    assert asyncio.get_running_loop().time() - began < 3


async def test_a_coordinator_that_moves_is_followed(cluster: RealCluster) -> None:
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"])
        await read(reader, 20)
        leader = await GroupCalls(cluster).coordinator()
        count = len(cluster.image.topics[OFFSETS_TOPIC].partitions)
        other = next(one for one in ADDRESSES if one != leader)
        for number in range(count):
            await cluster.move(OFFSETS_TOPIC, number, leader_id=other)
        await reader.commit()
        assert len(reader.assignment()) == 4


async def test_a_group_of_short_sessions_keeps_its_members() -> None:
    cluster = await started(
        groups=GroupConfig(
            offsets_topic_num_partitions=1,
            group_consumer_session_timeout_ms=1_000,
            group_consumer_heartbeat_interval_ms=300,
        )
    )
    await cluster.create("orders", partitions=2)
    heard = Heard()
    async with consumer(cluster) as reader:
        await reader.subscribe(["orders"], listener=heard)
        await reader.getmany(timeout_ms=10_000)
        assert [what for what, _ in heard.calls] == ["assigned"]
