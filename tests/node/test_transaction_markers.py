"""Markers on real partitions: what their leaders refuse, and when a marker counts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.client.real_cluster import ADDRESSES, CLUSTER_ID, RealCluster, started
from tests.node.transaction_calls import TransactionCalls

from tidelog.broker.partition import marker_appender
from tidelog.broker.transactions.transaction import Producer
from tidelog.core.errors import code_name
from tidelog.v1.methods import ABORT_HANGING_TRANSACTION, WRITE_TRANSACTION_MARKERS
from tidelog.v1.transactions_pb2 import (
    AbortHangingTransactionRequest,
    WriteTransactionMarkersRequest,
    WriteTransactionMarkersResponse,
)

pytestmark = pytest.mark.asyncio
LEADER = 1


@pytest_asyncio.fixture
async def calls() -> AsyncIterator[TransactionCalls]:
    cluster = await started()
    await cluster.create("orders", partitions=2, min_insync_replicas=1)
    yield TransactionCalls(cluster)


def request(
    cluster: RealCluster, *, epoch: int = 1, coordinator_epoch: int = 3, partitions: int = 1
) -> WriteTransactionMarkersRequest:
    asked = WriteTransactionMarkersRequest(cluster_id=CLUSTER_ID)
    marker = asked.markers.add(
        producer_id=7, producer_epoch=epoch, coordinator_epoch=coordinator_epoch, commit=True
    )
    topic_id = cluster.image.topics["orders"].topic_id
    marker.topics.add(topic="orders", topic_id=topic_id, partitions=range(partitions))
    return asked


async def write(
    calls: TransactionCalls, asked: WriteTransactionMarkersRequest
) -> list[tuple[str, int]]:
    """Write markers; the error and offset of each partition."""
    response: WriteTransactionMarkersResponse
    response = await calls.cluster.ask(LEADER, WRITE_TRANSACTION_MARKERS, asked)
    assert response.cluster_id == CLUSTER_ID
    if response.error.code:
        return [(code_name(response.error.code), -1)]
    return [
        (code_name(one.error.code), one.offset) for of in response.markers for one in of.partitions
    ]


async def test_each_partition_has_its_own_result(calls: TransactionCalls) -> None:
    results = await write(calls, request(calls.cluster, partitions=3))
    assert results == [
        ("NONE", 0),
        ("NOT_LEADER_OR_FOLLOWER", -1),
        ("UNKNOWN_TOPIC_OR_PARTITION", -1),
    ]
    assert len(calls.markers("orders", 0)) == 1
    assert calls.markers("orders", 1) == []


async def test_an_older_coordinator_and_an_older_epoch_are_refused(calls: TransactionCalls) -> None:
    assert await write(calls, request(calls.cluster, epoch=2)) == [("NONE", 0)]
    older = request(calls.cluster, epoch=2, coordinator_epoch=2)
    assert await write(calls, older) == [("TRANSACTION_COORDINATOR_FENCED", -1)]
    assert await write(calls, request(calls.cluster, epoch=1)) == [("INVALID_PRODUCER_EPOCH", -1)]
    newer = request(calls.cluster, epoch=2, coordinator_epoch=4)
    assert await write(calls, newer) == [("NONE", -1)], "it was there"
    assert len(calls.markers("orders", 0)) == 1


async def test_markers_of_another_incarnation_are_refused(calls: TransactionCalls) -> None:
    asked = request(calls.cluster)
    asked.markers[0].topics[0].topic_id = b"o" * 16
    assert await write(calls, asked) == [("INCONSISTENT_TOPIC_ID", -1)]
    asked.markers[0].topics[0].topic_id = b""
    assert await write(calls, asked) == [("INVALID_REQUEST", -1)]
    assert calls.markers("orders", 0) == []


async def test_too_many_markers_are_refused_before_any_is_written(
    calls: TransactionCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marker_appender, "MARKERS_MAX", 1)
    assert await write(calls, request(calls.cluster, partitions=2)) == [("INVALID_REQUEST", -1)]
    asked = request(calls.cluster)
    asked.markers[0].topics[0].topic = "x" * 250
    assert await write(calls, asked) == [("INVALID_REQUEST", -1)]
    assert calls.markers("orders", 0) == []
    assert await write(calls, request(calls.cluster)) == [("NONE", 0)]


async def test_a_marker_counts_once_the_in_sync_replicas_have_it_also_one_that_was_there(
    calls: TransactionCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = request(calls.cluster)
    asked.markers.append(asked.markers[0])
    with monkeypatch.context() as hasty:
        hasty.setattr(marker_appender, "COMMIT_TIMEOUT_MS", 0)
        assert await write(calls, asked) == [("REQUEST_TIMED_OUT", -1)] * 2
    assert await write(calls, asked) == [("NONE", -1)] * 2
    log = calls.leaders_log("orders", 0)
    assert log.high_watermark == log.log_end_offset == 1
    assert len(calls.markers("orders", 0)) == 1


async def abort(
    calls: TransactionCalls, start_offset: int, node_id: int = LEADER
) -> tuple[str, int]:
    asked = AbortHangingTransactionRequest(topic="orders", partition=0, start_offset=start_offset)
    response = await calls.cluster.ask(node_id, ABORT_HANGING_TRANSACTION, asked)
    if not response.error.code:
        assert (response.producer_id, response.producer_epoch) == (7, 4)
    elif node_id != LEADER:
        assert response.current_leader.address == ADDRESSES[LEADER]
    return code_name(response.error.code), response.marker_offset


async def test_a_transaction_that_no_coordinator_knows_is_aborted(calls: TransactionCalls) -> None:
    calls.append(Producer(7, 4), "orders", 0)
    log = calls.leaders_log("orders", 0)
    assert await abort(calls, 1) == ("INVALID_TXN_STATE", -1)
    assert await abort(calls, 0, node_id=2) == ("NOT_LEADER_OR_FOLLOWER", -1)
    assert log.last_stable_offset == 0
    assert await abort(calls, 0) == ("NONE", 1)
    assert log.last_stable_offset == 2
    assert log.aborted_transactions(0, 2) == [(7, 0)]
    assert calls.markers("orders", 0) == [(Producer(7, 5), False, 0)]
    assert await abort(calls, 0) == ("INVALID_TXN_STATE", -1)
