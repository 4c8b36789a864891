"""Electing leaders with the admin client: what it asks, what it answers, and when it asks again."""

from __future__ import annotations

import pytest
from tests.client.meddler import Mishap
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started

from tidelog.client import Admin, errors
from tidelog.client.records import TopicPartition
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import PREFERRED, UNCLEAN


def admin(cluster: RealCluster) -> Admin:
    return Admin(BOOTSTRAP, transport=cluster, api_timeout_ms=5_000)


async def test_each_partition_is_elected_or_says_why_not() -> None:
    cluster = await started()
    await cluster.create("t", partitions=3)
    await cluster.move("t", 0, leader_id=2)
    cluster.kill(3)
    await cluster.failed_over()
    async with admin(cluster) as a:
        results = await a.elect_leaders(["t"])
    codes = {number: error and error.code for (_, number), error in results.items()}
    assert codes == {
        0: None,
        1: common_pb2.ELECTION_NOT_NEEDED,
        2: common_pb2.PREFERRED_LEADER_NOT_AVAILABLE,
    }
    assert [one.leader_id for one in cluster.topics["t"].partitions[:2]] == [1, 2]
    (asked,) = cluster.requests("ElectLeaders")
    assert (asked.election_type, [topic.name for topic in asked.topics]) == (PREFERRED, ["t"])


async def test_while_no_controller_leads_it_asks_again() -> None:
    cluster = await started()
    await cluster.create("t", replicas=2)
    cluster.kill(2)
    await cluster.fenced(2)
    await cluster.leave_only(2)
    cluster.cut_off.update((ADDRESSES[1], ADDRESSES[3]))
    cluster.mishaps.append(Mishap("ElectLeaders", code=common_pb2.NOT_CONTROLLER, times=2))
    async with admin(cluster) as a:
        assert await a.elect_leaders(unclean=True) == {TopicPartition("t", 0): None}
    assert cluster.topics["t"].partitions[0].leader_id == 2
    assert [one.election_type for one in cluster.requests("ElectLeaders")] == [UNCLEAN] * 3


async def test_a_refusal_of_the_whole_is_raised() -> None:
    cluster = await started()
    cluster.mishaps.append(Mishap("ElectLeaders", code=common_pb2.INVALID_REQUEST))
    async with admin(cluster) as a:
        with pytest.raises(errors.KafkaError) as caught:
            await a.elect_leaders()
    assert caught.value.code == common_pb2.INVALID_REQUEST
