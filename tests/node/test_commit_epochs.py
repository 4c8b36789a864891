"""Leader epochs in commits: those that nobody has had are refused, those not heard of awaited."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio
from tests.client.real_cluster import ADDRESSES, RealCluster, started
from tests.node.group_calls import GroupCalls

from tidelog.core.errors import code_name
from tidelog.v1.coordinator_pb2 import OffsetCommitRequest
from tidelog.v1.methods import OFFSET_COMMIT

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def calls() -> GroupCalls:
    cluster = await started()
    await cluster.create("orders", partitions=4)
    return GroupCalls(cluster)


async def test_an_epoch_that_no_leader_has_had_is_refused(calls: GroupCalls) -> None:
    assert await calls.commit({("orders", 0): 7}, leader_epoch=99) == ["INVALID_REQUEST"]
    assert await calls.committed() == {}


async def test_a_coordinator_behind_its_members_waits_for_the_epoch(calls: GroupCalls) -> None:
    leader = await calls.coordinator()
    calls.cluster.lag(leader)
    await _elect_another(calls.cluster)
    commit = asyncio.create_task(calls.commit({("orders", 0): 7}, leader_epoch=1))
    await asyncio.sleep(0.2)
    assert not commit.done()
    calls.cluster.lag(leader, is_behind=False)
    assert await commit == ["NONE"]
    assert await calls.committed() == {("orders", 0): 7}


async def test_a_broker_that_is_no_coordinator_waits_for_nothing(calls: GroupCalls) -> None:
    leader = await calls.coordinator()
    other = next(one for one in ADDRESSES if one != leader)
    calls.cluster.lag(other)
    await _elect_another(calls.cluster)
    request = OffsetCommitRequest(group_id="g", member_epoch=-1)
    request.topics.add(topic="orders").partitions.add(offset=7, leader_epoch=99)
    refused = await calls.cluster.ask(other, OFFSET_COMMIT, request)
    assert code_name(refused.error.code) == "NOT_COORDINATOR"


async def test_a_coordinator_that_does_not_catch_up_says_so(calls: GroupCalls) -> None:
    leader = await calls.coordinator()
    calls.cluster.lag(leader)
    await _elect_another(calls.cluster)
    request = OffsetCommitRequest(group_id="g", member_epoch=-1)
    request.topics.add(topic="orders").partitions.add(offset=7, leader_epoch=99)
    refused = await calls.cluster.ask(leader, OFFSET_COMMIT, request)
    assert code_name(refused.error.code) == "COORDINATOR_NOT_AVAILABLE"
    assert "has not heard of the controllers' decisions" in refused.error.message


async def _elect_another(cluster: RealCluster) -> None:
    before = cluster.image.topics["orders"].partitions[0].leader_id
    other = next(one for one in ADDRESSES if one != before)
    await cluster.move("orders", 0, leader_id=other)
    assert cluster.image.topics["orders"].partitions[0].leader_epoch == 1
