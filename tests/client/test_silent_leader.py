"""A call to a leader that does not answer: given up once others lead, and no sooner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.client.consumer_cases import consumer, take, turns
from tests.client.fake_cluster import ADDRESSES, BOOTSTRAP, FakeCluster, encoded

from tidelog.client.backoff import Backoff
from tidelog.client.errors import CallFailedError
from tidelog.client.ports import ClientPorts
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing, RoutingConfig
from tidelog.v1.data_pb2 import ListOffsetsRequest, ListOffsetsResponse
from tidelog.v1.methods import FETCH, LIST_OFFSETS

OVERDUE_MS = 20
TWO = [TopicPartition("t", 0), TopicPartition("t", 1)]


class SilentLeader(FakeCluster):
    """Node 1 answers no ListOffsets until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()
        self.create("t", partitions=2)
        self.topics["t"].partitions[1].leader_id = 1

    async def call(self, address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        if method is LIST_OFFSETS and address == ADDRESSES[1]:
            await self.may_answer.wait()
            return ListOffsetsResponse()
        return await super().call(address, method, request, timeout_ms=timeout_ms)


@pytest.fixture
def cluster() -> SilentLeader:
    return SilentLeader()


@pytest.fixture
async def call(cluster: SilentLeader) -> AsyncIterator[asyncio.Task[ListOffsetsResponse]]:
    config = RoutingConfig(
        overdue_ms=OVERDUE_MS, overdue_interval_ms=5, backoff=Backoff(initial_ms=1, max_ms=1)
    )
    ports = ClientPorts.of(transport=cluster, clock=None, random=None)
    routing = Routing(BOOTSTRAP, ports=ports, config=config)
    await routing.topic("t", timeout_ms=1000)
    call = asyncio.create_task(
        routing.call_leader(
            ADDRESSES[1],
            LIST_OFFSETS,
            ListOffsetsRequest(),
            partitions=TWO,
            answer_ms=0,
            timeout_ms=60_000,
        )
    )
    yield call
    call.cancel()
    await routing.close()


Call = asyncio.Task[ListOffsetsResponse]


async def test_a_leader_that_is_slow_and_still_leads_is_waited_for(
    cluster: SilentLeader, call: Call
) -> None:
    await asyncio.sleep(5 * OVERDUE_MS / 1000)
    assert not call.done()
    assert len(cluster.requests("Metadata")) > 1, "it is looked whether it still leads"
    cluster.may_answer.set()
    assert await call == ListOffsetsResponse()


async def test_a_leader_that_leads_one_of_the_partitions_is_waited_for(
    cluster: SilentLeader, call: Call
) -> None:
    cluster.move("t", 0, leader_id=2)
    await asyncio.sleep(5 * OVERDUE_MS / 1000)
    assert not call.done()


async def test_a_leader_that_was_replaced_is_given_up_with_unknown_outcome(
    cluster: SilentLeader, call: Call
) -> None:
    for number in range(2):
        cluster.move("t", number, leader_id=2)
    async with asyncio.timeout(5):
        with pytest.raises(CallFailedError) as failed:
            await call
    assert failed.value.is_outcome_unknown


async def test_a_leader_that_answers_in_time_costs_no_look(
    cluster: SilentLeader, call: Call
) -> None:
    cluster.may_answer.set()
    await call
    await asyncio.sleep(3 * OVERDUE_MS / 1000)
    assert len(cluster.requests("Metadata")) == 1


class LateLeader(FakeCluster):
    """Node 1 works on a Fetch and keeps the answer to itself until it may tell."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()

    async def call(self, address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        answer = await super().call(address, method, request, timeout_ms=timeout_ms)
        if method is FETCH and address == ADDRESSES[1]:
            await self.may_answer.wait()
        return answer


async def test_what_a_silent_leader_answers_late_is_not_handed_out_a_second_time() -> None:
    cluster = LateLeader()
    (state,) = cluster.create("t").partitions
    for value in range(3):
        state.append(encoded([b"%d" % value]))
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        c.seek(("t", 0), 0)
        reading = asyncio.create_task(take(c, 3))
        await turns(50)
        assert len(cluster.requests("Fetch")) == 1
        cluster.move("t", 0, leader_id=2)
        c._routing.request_refresh()
        assert [r.value for r in await reading] == [b"0", b"1", b"2"]
        cluster.may_answer.set()
        await turns(50)
        state.append(encoded([b"3"]))
        assert [r.value for r in await take(c, 1)] == [b"3"]
