"""Bad input to the transaction coordinator: typed errors, and nothing is made of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.client.real_cluster import CLUSTER_ID, started
from tests.node.transaction_calls import TransactionCalls

from tidelog.broker.transactions.transaction import Producer
from tidelog.core.errors import InvalidRequestError, code_name
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.node.handlers import transaction_codec as codec
from tidelog.node.handlers import transactions
from tidelog.v1.methods import (
    ABORT_TRANSACTION,
    DESCRIBE_TRANSACTIONS,
    END_TRANSACTIONS,
    LIST_TRANSACTIONS,
)
from tidelog.v1.transactions_pb2 import (
    AbortTransactionRequest,
    AddPartitionsToTransactionsRequest,
    DescribeTransactionsRequest,
    EndTransactionsRequest,
    ListTransactionsRequest,
    TransactionMember,
    TransactionTopic,
)

ID = b"i" * 16


def additions(count: int, partitions: int = 1) -> AddPartitionsToTransactionsRequest:
    request = AddPartitionsToTransactionsRequest(cluster_id=CLUSTER_ID)
    for number in range(count):
        one = request.transactions.add(transactional_id=f"t{number}")
        one.topics.add(topic="orders", topic_id=ID, partitions=range(partitions))
    return request


def test_additions_are_bounded_before_anything_is_made_of_them() -> None:
    codec.check_additions(additions(codec.ADDITIONS_MAX))
    codec.check_additions(additions(1, codec.ADDED_MAX))
    twice = additions(1)
    twice.transactions.add(transactional_id="t0")
    for request in (additions(codec.ADDITIONS_MAX + 1), additions(1, codec.ADDED_MAX + 1), twice):
        with pytest.raises(InvalidRequestError):
            codec.check_additions(request)


@pytest.mark.parametrize(
    "topic",
    [
        TransactionTopic(topic="", topic_id=ID, partitions=[0]),
        TransactionTopic(topic="x" * 250, topic_id=ID, partitions=[0]),
        TransactionTopic(topic="orders", topic_id=b"", partitions=[0]),
        TransactionTopic(topic="orders", topic_id=ID, partitions=[0, -1]),
        TransactionTopic(topic=TRANSACTIONS_TOPIC, topic_id=ID, partitions=[0]),
    ],
)
def test_what_is_no_partition_is_refused(topic: TransactionTopic) -> None:
    with pytest.raises(InvalidRequestError):
        codec.added_partitions([topic])


def test_ids_of_a_request_are_bounded() -> None:
    codec.check_transactional_ids(["x"] * codec.IDS_MAX)
    with pytest.raises(InvalidRequestError, match="send several"):
        codec.check_transactional_ids(["x"] * (codec.IDS_MAX + 1))
    with pytest.raises(InvalidRequestError, match="send several"):
        codec.list_filter(ListTransactionsRequest(producer_ids=range(codec.IDS_MAX + 1)))
    with pytest.raises(InvalidRequestError, match="Ongoing"):
        codec.list_filter(ListTransactionsRequest(states=["Ongoing", "Sleeping"]))


@pytest_asyncio.fixture
async def calls() -> AsyncIterator[TransactionCalls]:
    cluster = await started()
    await cluster.create("orders")
    yield TransactionCalls(cluster)


@pytest.mark.asyncio
async def test_producers_that_cannot_be_are_refused(calls: TransactionCalls) -> None:
    assert await calls.init(-1) == "INVALID_TRANSACTION_TIMEOUT"
    assert await calls.init(900_001) == "INVALID_TRANSACTION_TIMEOUT"
    assert await calls.init(producer_id=7) == "INVALID_REQUEST"
    producer = await calls.producer()
    assert await calls.add(Producer(producer.id, 9), [("orders", 0)]) == "PRODUCER_FENCED"
    assert await calls.add(Producer(99, 0), [("orders", 0)]) == ("INVALID_PRODUCER_ID_MAPPING")
    assert await calls.add(producer, []) == "INVALID_REQUEST"
    assert await calls.end(producer) == "INVALID_TXN_STATE"


@pytest.mark.asyncio
async def test_only_members_of_a_group_end_together(calls: TransactionCalls) -> None:
    grouped = TransactionCalls(calls.cluster, "q/1")
    producer = await grouped.producer()
    assert await grouped.add(producer, [("orders", 0)]) == "NONE"

    async def end(*members: TransactionMember) -> str:
        request = EndTransactionsRequest(group="q", members=members)
        response = await grouped.ask(END_TRANSACTIONS, request)
        return code_name(response.error.code)

    def member(name: str, epoch: int = producer.epoch) -> TransactionMember:
        return TransactionMember(
            transactional_id=name, producer_id=producer.id, producer_epoch=epoch
        )

    assert await end(member("other/1")) == "INVALID_REQUEST"
    assert await end(member("q/1"), member("q/1")) == "INVALID_REQUEST"
    assert (await grouped.describe()).state == "Ongoing"
    assert await end(member("q/1")) == "NONE"
    assert await end(member("q/1")) == "NONE", "repeated"
    await grouped.until_state("CompleteCommit")


@pytest.mark.asyncio
async def test_an_operator_aborts_what_is_open(calls: TransactionCalls) -> None:
    async def abort(name: str) -> Any:
        request = AbortTransactionRequest(transactional_id=name)
        return await calls.ask(ABORT_TRANSACTION, request)

    producer = await calls.producer()
    assert code_name((await abort("pay")).error.code) == "INVALID_TXN_STATE"
    assert await calls.add(producer, [("orders", 0)]) == "NONE"
    aborted = await abort("pay")
    assert (aborted.producer_id, aborted.producer_epoch) == (producer.id, producer.epoch)
    await calls.until_state("CompleteAbort")
    assert await calls.end(producer) == "PRODUCER_FENCED"


@pytest.mark.asyncio
async def test_ids_are_listed_in_pages(
    calls: TransactionCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "IDS_PER_PAGE", 2)
    names = [f"pay/{number}" for number in range(5)]
    for name in names:
        await TransactionCalls(calls.cluster, name).producer()
    opened = TransactionCalls(calls.cluster, "pay/3")
    producer = await opened.producer()
    assert await opened.add(producer, [("orders", 0)]) == "NONE"
    found: list[str] = []
    request = ListTransactionsRequest()
    while True:
        page = await calls.ask(LIST_TRANSACTIONS, request)
        assert len(page.transactions) <= 2
        found += [one.transactional_id for one in page.transactions]
        if not page.has_more:
            break
        request.after_transactional_id = found[-1]
    assert found == names
    page = await calls.ask(LIST_TRANSACTIONS, ListTransactionsRequest(states=["Ongoing"]))
    assert [one.transactional_id for one in page.transactions] == ["pay/3"]
    by_producer = ListTransactionsRequest(producer_ids=[producer.id])
    page = await calls.ask(LIST_TRANSACTIONS, by_producer)
    assert [one.transactional_id for one in page.transactions] == ["pay/3"]
    refused = await calls.ask(LIST_TRANSACTIONS, ListTransactionsRequest(states=["no"]))
    assert code_name(refused.error.code) == "INVALID_REQUEST"


@pytest.mark.asyncio
async def test_ids_that_are_unknown_are_said_to_be(calls: TransactionCalls) -> None:
    producer = await calls.producer()
    assert await calls.add(producer, [("orders", 0)]) == "NONE"
    request = DescribeTransactionsRequest(transactional_ids=["pay", "pay/9", "", "pay"])
    described = (await calls.ask(DESCRIBE_TRANSACTIONS, request)).transactions
    assert [code_name(one.error.code) for one in described] == [
        *("NONE", "TRANSACTIONAL_ID_NOT_FOUND", "INVALID_REQUEST"),
    ]
    first = described[0]
    assert (first.state, first.producer_id, first.transaction_timeout_ms) == (
        *("Ongoing", producer.id),
        60_000,
    )
    assert first.HasField("start_ms")
    assert [(one.topic, list(one.partitions)) for one in first.topics] == [("orders", [0])]
