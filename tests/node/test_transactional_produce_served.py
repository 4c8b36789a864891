"""Transactional batches on three nodes: their leaders have the coordinator add the partitions."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.broker.test_transactional_produce import part
from tests.client.real_cluster import RealCluster, started
from tests.node.transaction_calls import TransactionCalls

from tidelog.broker.partition_adder import Producer
from tidelog.core.errors import code_name
from tidelog.v1.data_pb2 import PartitionProduceData, ProduceRequest
from tidelog.v1.methods import PRODUCE

pytestmark = pytest.mark.asyncio
PARTITIONS = 3


@pytest_asyncio.fixture
async def calls() -> AsyncIterator[TransactionCalls]:
    cluster: RealCluster = await started()
    await cluster.create("orders", partitions=PARTITIONS, min_insync_replicas=1)
    yield TransactionCalls(cluster)


async def produce(calls: TransactionCalls, producer: Producer, number: int) -> str:
    """Send a producer's first batch to a partition's leader; the error's name."""
    records = part(b"v", producer_id=producer.id, epoch=producer.epoch)
    request = ProduceRequest(
        timeout_ms=5_000,
        transactional_id=calls.transactional_id,
        partitions=[PartitionProduceData(topic="orders", partition=number, records=records)],
    )
    leader_id = calls.cluster.image.topics["orders"].partitions[number].leader_id
    assert leader_id is not None
    response = await calls.cluster.ask(leader_id, PRODUCE, request)
    return code_name(response.partitions[0].error.code)


async def test_a_produced_transaction_is_added_ended_and_followed_by_the_next(
    calls: TransactionCalls,
) -> None:
    first = await calls.producer()
    for number in range(PARTITIONS):
        assert await produce(calls, first, number) == "NONE"
    second = await calls.end(first)
    assert isinstance(second, Producer)
    await calls.until_marked("orders", 0)
    assert await produce(calls, first, 0) in ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED")
    assert await produce(calls, second, 0) == "NONE"  # after the markers of the first
    assert isinstance(await calls.end(second, commit=False), Producer)


async def test_a_producer_that_the_coordinator_does_not_know_appends_nothing(
    calls: TransactionCalls,
) -> None:
    known = await calls.producer()
    stranger = Producer(known.id + 1_000, 0)
    assert await produce(calls, stranger, 0) == "INVALID_PRODUCER_ID_MAPPING"
    assert await produce(calls, Producer(known.id, known.epoch + 1), 1) == "PRODUCER_FENCED"
