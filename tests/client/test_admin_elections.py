"""Electing leaders with the admin client: what it asks, what it answers, and when it asks again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.fake_cluster import BOOTSTRAP, FakeCluster

from tidelog.client import Admin, errors
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import PREFERRED, UNCLEAN, ElectLeadersRequest, ElectLeadersResponse
from tidelog.v1.common_pb2 import Error, ErrorCode


class Electing(FakeCluster):
    """Answers elections as it is told."""

    def __init__(self, *answers: ElectLeadersResponse) -> None:
        super().__init__()
        self.answers = list(answers)
        self.elections: list[ElectLeadersRequest] = []

    async def call(self, address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        if method.name != "ElectLeaders":
            return await super().call(address, method, request, timeout_ms=timeout_ms)
        self.elections.append(request)
        return self.answers.pop(0)


def admin(cluster: FakeCluster) -> Admin:
    return Admin(BOOTSTRAP, transport=cluster, api_timeout_ms=5_000)


def partition(number: int, code: ErrorCode = common_pb2.NONE) -> ElectLeadersResponse.Partition:
    return ElectLeadersResponse.Partition(topic="t", partition=number, error=Error(code=code))


async def test_each_partition_is_elected_or_says_why_not() -> None:
    needless, absent = (
        common_pb2.ELECTION_NOT_NEEDED,
        common_pb2.PREFERRED_LEADER_NOT_AVAILABLE,
    )
    answer = ElectLeadersResponse(
        partitions=[partition(0), partition(1, needless), partition(2, absent)]
    )
    cluster = Electing(answer)
    async with admin(cluster) as a:
        results = await a.elect_leaders(["t"])
    codes = {number: error and error.code for (_, number), error in results.items()}
    assert codes == {0: None, 1: needless, 2: absent}
    (asked,) = cluster.elections
    assert (asked.election_type, [topic.name for topic in asked.topics]) == (PREFERRED, ["t"])


async def test_while_no_controller_leads_it_asks_again() -> None:
    nobody = ElectLeadersResponse(error=Error(code=common_pb2.NOT_CONTROLLER))
    cluster = Electing(nobody, nobody, ElectLeadersResponse(partitions=[partition(0)]))
    async with admin(cluster) as a:
        assert list((await a.elect_leaders(unclean=True)).values()) == [None]
    assert [one.election_type for one in cluster.elections] == [UNCLEAN] * 3


async def test_a_refusal_of_the_whole_is_raised() -> None:
    cluster = Electing(ElectLeadersResponse(error=Error(code=common_pb2.INVALID_REQUEST)))
    async with admin(cluster) as a:
        with pytest.raises(errors.KafkaError) as caught:
            await a.elect_leaders()
    assert caught.value.code == common_pb2.INVALID_REQUEST
