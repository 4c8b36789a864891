"""Transactions on real nodes: their coordinator, its internal topic, markers in partitions."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.client.real_cluster import ADDRESSES, CLUSTER_ID, RealCluster, started
from tests.node.transaction_calls import TransactionCalls

from tidelog.broker.transactions.transaction import Producer
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.broker.transactions.transaction_key import partition_of
from tidelog.core.errors import CallFailedError, code_name
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.v1.admin_pb2 import ListEventsRequest
from tidelog.v1.coordinator_pb2 import FindCoordinatorRequest
from tidelog.v1.methods import (
    ADD_PARTITIONS_TO_TRANSACTIONS,
    END_TRANSACTION,
    FIND_COORDINATOR,
    INIT_TRANSACTIONAL_PRODUCER,
    WRITE_TRANSACTION_MARKERS,
)
from tidelog.v1.transactions_pb2 import (
    AddPartitionsToTransactionsRequest,
    EndTransactionRequest,
    InitTransactionalProducerRequest,
    WriteTransactionMarkersRequest,
)

pytestmark = pytest.mark.asyncio
OUT = [("orders", 0), ("orders", 1), ("orders", 2)]


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    cluster = await started()
    await cluster.create("orders", partitions=3, min_insync_replicas=1)
    yield cluster


@pytest.fixture
def calls(cluster: RealCluster) -> TransactionCalls:
    return TransactionCalls(cluster)


async def begun(calls: TransactionCalls) -> Producer:
    """Begin a transaction with a batch in each partition."""
    producer = await calls.producer()
    assert await calls.add(producer, OUT) == "NONE"
    for topic, number in OUT:
        calls.append(producer, topic, number)
    return producer


# The coordinator


async def test_the_first_look_up_creates_the_internal_topic(cluster: RealCluster) -> None:
    assert TRANSACTIONS_TOPIC not in cluster.image.topics
    request = FindCoordinatorRequest(
        group_ids=["g"], transactional_ids=["pay", "", "x" * 250, "pay/2"]
    )
    found = await cluster.ask(2, FIND_COORDINATOR, request)
    assert [code_name(one.error.code) for one in found.coordinators] == [
        *("NONE", "NONE"),
        *("INVALID_REQUEST", "INVALID_REQUEST"),
        "NONE",
    ]
    named = [(one.group_id, one.transactional_id) for one in found.coordinators]
    assert named[:2] == [("g", ""), ("", "pay")]
    topic = cluster.image.topics[TRANSACTIONS_TOPIC]
    assert [len(one.replicas) for one in topic.partitions] == [3, 3, 3]
    assert topic.configs["cleanup.policy"] == "compact"
    assert topic.configs["min.insync.replicas"] == "2"
    leader = topic.partitions[partition_of("pay", 3)].leader_id
    for one in (found.coordinators[1], found.coordinators[4]):
        assert one.broker.node_id == leader
        assert one.broker.address == ADDRESSES[one.broker.node_id]


async def test_with_too_few_brokers_there_is_no_coordinator() -> None:
    few = await started(transactions=TransactionConfig(transaction_state_log_replication_factor=4))
    found = await few.ask(1, FIND_COORDINATOR, FindCoordinatorRequest(transactional_ids=["pay"]))
    assert code_name(found.error.code) == "COORDINATOR_NOT_AVAILABLE"
    assert "transaction.state.log.replication.factor" in found.error.message
    assert TRANSACTIONS_TOPIC not in few.image.topics


async def test_without_the_internal_topic_nobody_is_the_coordinator(cluster: RealCluster) -> None:
    request = InitTransactionalProducerRequest(transactional_id="pay", transaction_timeout_ms=9)
    refused = await cluster.ask(1, INIT_TRANSACTIONAL_PRODUCER, request)
    assert code_name(refused.error.code) == "COORDINATOR_NOT_AVAILABLE"


async def test_another_broker_names_the_coordinator(calls: TransactionCalls) -> None:
    await calls.producer()
    leader = await calls.coordinator()
    other = next(one for one in ADDRESSES if one != leader)
    request = EndTransactionRequest(transactional_id="pay", producer_id=1)
    refused = await calls.cluster.ask(other, END_TRANSACTION, request)
    assert code_name(refused.error.code) == "NOT_COORDINATOR"
    assert refused.coordinator.leader_id == leader
    assert refused.coordinator.address == ADDRESSES[leader]
    addition = AddPartitionsToTransactionsRequest(cluster_id=CLUSTER_ID)
    addition.transactions.add(transactional_id="pay")
    answer = await calls.cluster.ask(other, ADD_PARTITIONS_TO_TRANSACTIONS, addition)
    assert answer.transactions[0].coordinator.leader_id == leader


# Transactions


@pytest.mark.parametrize("commit", [True, False])
async def test_each_partition_gets_one_marker_of_the_end(
    calls: TransactionCalls, *, commit: bool
) -> None:
    producer = await begun(calls)
    for topic, number in OUT:
        assert calls.leaders_log(topic, number).last_stable_offset == 0
    following = await calls.end(producer, commit=commit)
    assert following == Producer(producer.id, producer.epoch + 1)
    assert await calls.end(producer, commit=commit) == following, "repeated"
    await calls.until_state("CompleteCommit" if commit else "CompleteAbort")
    described = await calls.describe()
    for topic, number in OUT:
        await calls.until_marked(topic, number)
        log = calls.leaders_log(topic, number)
        assert log.last_stable_offset == log.high_watermark == log.log_end_offset == 2
        aborted = [] if commit else [(producer.id, 0)]
        assert log.aborted_transactions(0, 2) == aborted
        markers = calls.markers(topic, number)
        assert markers == [(following, commit, described.coordinator_epoch)]
    assert list(described.topics) == []


async def test_a_decided_transaction_is_ended_by_the_next_coordinator(
    calls: TransactionCalls,
) -> None:
    producer = await begun(calls)
    cluster = calls.cluster
    first = await calls.coordinator()
    before = await calls.describe()
    # A partition without a leader keeps it from being complete.
    await cluster.move("orders", 1, leader_id=None)
    following = await calls.end(producer)
    assert isinstance(following, Producer)
    await calls.until_marked("orders", 0)
    await calls.until_marked("orders", 2)
    assert (await calls.describe()).state == "PrepareCommit"
    assert await calls.add(following, OUT) == "CONCURRENT_TRANSACTIONS"
    moved = partition_of("pay", 3)
    other = next(one for one in ADDRESSES if one != first)
    await cluster.move(TRANSACTIONS_TOPIC, moved, leader_id=other)
    described = await calls.describe()
    assert (await calls.coordinator(), described.state) == (other, "PrepareCommit")
    assert described.coordinator_epoch == before.coordinator_epoch + 1
    await cluster.move("orders", 1, leader_id=2)
    await calls.until_state("CompleteCommit")
    await calls.until_marked("orders", 1)
    [(of, is_commit, epoch)] = calls.markers("orders", 1)
    assert (of, is_commit, epoch) == (following, True, described.coordinator_epoch)
    for number in (0, 2):  # they had theirs, of the first coordinator
        assert [one[2] for one in calls.markers("orders", number)] == [before.coordinator_epoch]
    assert await calls.add(following, OUT) == "NONE"


async def test_a_newer_producer_aborts_what_the_older_one_left_open(
    calls: TransactionCalls,
) -> None:
    older = await begun(calls)
    assert await calls.init() == "CONCURRENT_TRANSACTIONS"
    await calls.until_state("CompleteAbort")
    newer = await calls.producer()
    assert (newer.id, newer.epoch) == (older.id, older.epoch + 2)
    assert await calls.end(older) == "PRODUCER_FENCED"
    assert await calls.add(older, OUT) == "PRODUCER_FENCED"
    assert [one[1] for one in calls.markers("orders", 0)] == [False]
    node = calls.cluster.machines[await calls.coordinator()].node
    events = node._journal.list_events(ListEventsRequest(kinds=["transaction"])).events
    assert [one.cause for one in events] == ["pay: a newer producer was initialised"] * 2
    assert events[0].after.startswith("PrepareAbort")
    assert events[1].after == f"Empty, producer {newer.id} epoch {newer.epoch}"


async def test_a_late_transaction_is_aborted(calls: TransactionCalls) -> None:
    producer = await calls.init(timeout_ms=1)
    assert isinstance(producer, Producer)
    assert await calls.add(producer, OUT) == "NONE"
    await calls.until_state("CompleteAbort")
    assert await calls.end(producer) == "PRODUCER_FENCED"
    node = calls.cluster.machines[await calls.coordinator()].node
    [event] = node._journal.list_events(ListEventsRequest(kinds=["transaction"])).events
    assert (event.cause, event.topic) == ("pay: its time was over", TRANSACTIONS_TOPIC)
    assert event.before == f"Ongoing, producer {producer.id} epoch 0"
    assert event.after == f"PrepareAbort, producer {producer.id} epoch 1"
    stats = node.stats()
    assert (stats["transactional_ids"], stats["transactions_open"]) == (1, 0)
    assert (stats["transactions_timed_out"], stats["transactions_lacking_markers"]) == (1, 0)


async def test_a_deleted_topic_needs_no_marker(calls: TransactionCalls) -> None:
    await calls.cluster.create("gone")
    producer = await calls.producer()
    assert await calls.add(producer, [("gone", 0), ("orders", 0)]) == "NONE"
    await calls.cluster.delete("gone")
    await calls.cluster.create("gone")
    await calls.end(producer)
    await calls.until_state("CompleteCommit")
    assert calls.markers("gone", 0) == []
    assert len(calls.markers("orders", 0)) == 1


# Strangers


async def test_brokers_of_another_cluster_are_refused(calls: TransactionCalls) -> None:
    producer = await begun(calls)
    leader = await calls.coordinator()
    topic_id = calls.cluster.image.topics["orders"].topic_id
    addition = AddPartitionsToTransactionsRequest(cluster_id="other")
    asked = addition.transactions.add(transactional_id="pay", producer_id=producer.id)
    asked.topics.add(topic="orders", topic_id=topic_id, partitions=[0])
    with pytest.raises(CallFailedError, match="INCONSISTENT_CLUSTER_ID"):
        await calls.cluster.ask(leader, ADD_PARTITIONS_TO_TRANSACTIONS, addition)
    request = WriteTransactionMarkersRequest(cluster_id="other")
    marker = request.markers.add(producer_id=producer.id, producer_epoch=5, coordinator_epoch=9)
    marker.topics.add(topic="orders", topic_id=topic_id, partitions=[0])
    with pytest.raises(CallFailedError, match="INCONSISTENT_CLUSTER_ID"):
        await calls.cluster.ask(1, WRITE_TRANSACTION_MARKERS, request)
    assert calls.markers("orders", 0) == []
