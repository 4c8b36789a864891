"""Leader epochs in commits: those nobody has had are read as the newest, others awaited."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started
from tests.node.group_calls import GroupCalls

from tidelog.client import Consumer, Producer
from tidelog.core.errors import code_name
from tidelog.v1.coordinator_pb2 import OffsetFetchRequest
from tidelog.v1.methods import OFFSET_FETCH

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def calls() -> GroupCalls:
    cluster = await started()
    await cluster.create("orders", partitions=4)
    return GroupCalls(cluster)


async def epoch_told(calls: GroupCalls, node_id: int) -> int | str:
    """Of the committed offset, or the error's name."""
    request = OffsetFetchRequest(group_id="g", member_epoch=-1)
    answer = await calls.cluster.ask(node_id, OFFSET_FETCH, request)
    if answer.error.code:
        return code_name(answer.error.code)
    (part,) = answer.topics[0].partitions
    return part.leader_epoch


async def test_an_epoch_that_no_leader_has_had_is_read_as_the_newest(calls: GroupCalls) -> None:
    assert await calls.commit({("orders", 0): 7}, leader_epoch=99) == ["NONE"]
    assert await calls.committed() == {("orders", 0): 7}
    assert await epoch_told(calls, await calls.coordinator()) == 0
    await _elect_another(calls.cluster)
    assert await epoch_told(calls, await calls.coordinator()) == 1


async def test_a_member_reads_on_from_such_an_epoch(calls: GroupCalls) -> None:
    async with Producer(BOOTSTRAP, transport=calls.cluster) as producer:
        for n in range(3):
            await producer.send("orders", b"%d" % n, partition=0)
    assert await calls.commit({("orders", 0): 1}, leader_epoch=99) == ["NONE"]
    async with (
        asyncio.timeout(30),
        Consumer(BOOTSTRAP, group_id="g", transport=calls.cluster) as consumer,
    ):
        await consumer.subscribe(["orders"])
        records = aiter(consumer)
        assert [(await anext(records)).value for _ in range(2)] == [b"1", b"2"]


async def test_a_coordinator_behind_its_members_waits_for_the_epoch(calls: GroupCalls) -> None:
    leader = await calls.coordinator()
    calls.cluster.lag(leader)
    await _elect_another(calls.cluster)
    assert await calls.commit({("orders", 0): 7}, leader_epoch=1) == ["NONE"]
    reading = asyncio.create_task(epoch_told(calls, leader))
    await asyncio.sleep(0.2)
    assert not reading.done()
    calls.cluster.lag(leader, is_behind=False)
    assert await reading == 1


async def test_a_coordinator_that_does_not_catch_up_says_so(calls: GroupCalls) -> None:
    leader = await calls.coordinator()
    calls.cluster.lag(leader)
    await _elect_another(calls.cluster)
    assert await calls.commit({("orders", 0): 7}, leader_epoch=99) == ["NONE"]
    assert await epoch_told(calls, leader) == "COORDINATOR_NOT_AVAILABLE"


async def _elect_another(cluster: RealCluster) -> None:
    before = cluster.image.topics["orders"].partitions[0].leader_id
    other = next(one for one in ADDRESSES if one != before)
    await cluster.move("orders", 0, leader_id=other)
    assert cluster.image.topics["orders"].partitions[0].leader_epoch == 1
