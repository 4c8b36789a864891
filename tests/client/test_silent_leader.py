"""A call to a leader that does not answer: given up once others lead, and no sooner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.client.consumer_cases import consumer, take, turns
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, encoded, started

from tidelog.client.backoff import Backoff
from tidelog.client.errors import CallFailedError
from tidelog.client.ports import ClientPorts
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing, RoutingConfig
from tidelog.v1.data_pb2 import ListOffsetsRequest, ListOffsetsResponse
from tidelog.v1.methods import LIST_OFFSETS

OVERDUE_MS = 20
TWO = [TopicPartition("t", 0), TopicPartition("t", 1)]


@pytest.fixture
async def cluster() -> RealCluster:
    """Broker 1 leads both partitions; its answers to ListOffsets are held."""
    cluster = await started()
    await cluster.create("t", partitions=2)
    await cluster.move("t", 1, leader_id=1)
    cluster.held[ADDRESSES[1], "ListOffsets"] = asyncio.Event()
    return cluster


@pytest.fixture
async def call(cluster: RealCluster) -> AsyncIterator[asyncio.Task[ListOffsetsResponse]]:
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
    cluster: RealCluster, call: Call
) -> None:
    await asyncio.sleep(5 * OVERDUE_MS / 1000)
    assert not call.done()
    assert len(cluster.requests("Metadata")) > 1, "it is looked whether it still leads"
    cluster.held[ADDRESSES[1], "ListOffsets"].set()
    assert await call == ListOffsetsResponse()


async def test_a_leader_that_leads_one_of_the_partitions_is_waited_for(
    cluster: RealCluster, call: Call
) -> None:
    await cluster.move("t", 0, leader_id=2)
    await asyncio.sleep(5 * OVERDUE_MS / 1000)
    assert not call.done()


async def test_a_leader_that_was_replaced_is_given_up_with_unknown_outcome(
    cluster: RealCluster, call: Call
) -> None:
    for number in range(2):
        await cluster.move("t", number, leader_id=2)
    async with asyncio.timeout(5):
        with pytest.raises(CallFailedError) as failed:
            await call
    assert failed.value.is_outcome_unknown


async def test_a_leader_that_answers_in_time_costs_no_look(
    cluster: RealCluster, call: Call
) -> None:
    cluster.held[ADDRESSES[1], "ListOffsets"].set()
    await call
    await asyncio.sleep(3 * OVERDUE_MS / 1000)
    assert len(cluster.requests("Metadata")) == 1


async def test_what_a_silent_leader_answers_late_is_not_handed_out_a_second_time() -> None:
    cluster = await started()
    may_answer = cluster.held[ADDRESSES[1], "Fetch"] = asyncio.Event()
    (state,) = (await cluster.create("t")).partitions
    for value in range(3):
        await state.append(encoded([b"%d" % value]))
    async with consumer(cluster) as c:
        c.assign([("t", 0)])
        c.seek(("t", 0), 0)
        reading = asyncio.create_task(take(c, 3))
        await turns(50)
        assert len(cluster.requests("Fetch")) == 1
        await cluster.move("t", 0, leader_id=2)
        c._routing.request_refresh()
        assert [r.value for r in await reading] == [b"0", b"1", b"2"]
        may_answer.set()
        await turns(50)
        await state.append(encoded([b"3"]))
        assert [r.value for r in await take(c, 1)] == [b"3"]
