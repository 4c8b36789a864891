"""Admin and transactions: lists, descriptions, aborts, and what may be said to hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.client.meddler import Mishap
from tests.client.test_transactions import producer
from tests.client.transaction_broker import ADDRESS, TransactionBroker

from tidelog.client import Admin, errors
from tidelog.client.admin.transaction_views import HangingTransaction
from tidelog.v1 import common_pb2


def admin(broker: TransactionBroker) -> Admin:
    return Admin(ADDRESS, transport=broker, api_timeout_ms=1_000, request_timeout_ms=500)


async def opened(broker: TransactionBroker) -> None:
    """Have an id with an open transaction, and another one that is done."""
    async with producer(broker, transactional_id="done") as p, p.transaction():
        await p.send("t", b"d", partition=1)
    p = producer(broker)
    await p.start()
    await p.begin_transaction()
    await p.send("t", b"a", partition=0)


async def test_ids_are_listed_page_by_page_and_described() -> None:
    broker = TransactionBroker()
    await opened(broker)
    async with admin(broker) as a:
        listed = await a.list_transactions()
        assert [(one.transactional_id, one.state) for one in listed] == [
            ("done", "CompleteCommit"),
            ("id", "Ongoing"),
        ]
        assert [one.transactional_id for one in await a.list_transactions(["Ongoing"])] == ["id"]
        found = await a.describe_transactions(["id", "nobody"])
        one = found["id"]
        assert not isinstance(one, errors.TidelogError)
        assert (one.state, one.timeout_ms, one.coordinator_epoch) == ("Ongoing", 60_000, 3)
        assert one.partitions == (("t", 0),)
        assert one.coordinator_id == 1
        assert isinstance(found["nobody"], errors.TransactionalIdNotFoundError)


async def test_an_open_transaction_is_aborted_once() -> None:
    broker = TransactionBroker()
    await opened(broker)
    async with admin(broker) as a:
        assert await a.abort_transaction("id") == (8, 0, None)
        with pytest.raises(errors.InvalidTxnStateError):
            await a.abort_transaction("id")
    assert broker.state() == "CompleteAbort"


async def test_what_its_coordinator_has_open_does_not_hang_and_what_nobody_knows_does() -> None:
    broker = TransactionBroker()
    await opened(broker)
    async with admin(broker) as a:
        assert await a.find_hanging_transactions() == []
        del broker.shard.transactions["id"]
        (found,) = await a.find_hanging_transactions()
        assert found._replace(age_ms=0) == HangingTransaction("t", 0, 8, 0, 0, 0)
        aborted = await a.abort_hanging_transaction(("t", 0), start_offset=0)
        assert aborted == (8, 0, 1)
        assert await a.find_hanging_transactions() == []
        with pytest.raises(errors.InvalidTxnStateError):
            await a.abort_hanging_transaction(("t", 0), start_offset=0)


async def test_one_whose_coordinator_is_done_with_it_hangs() -> None:
    """An unclean election has lost its marker."""
    broker = TransactionBroker()
    await opened(broker)
    broker.abort()
    broker.logs["t", 0].pop()
    async with admin(broker) as a:
        assert [one.start_offset for one in await a.find_hanging_transactions()] == [0]


async def test_a_young_one_does_not_hang() -> None:
    broker = TransactionBroker()
    await opened(broker)
    del broker.shard.transactions["id"]
    async with admin(broker) as a:
        broker.last_ms = a._ports.clock.wall_ms() - 10_000
        assert await a.find_hanging_transactions(max_age_ms=60_000) == []
        assert len(await a.find_hanging_transactions(max_age_ms=5_000)) == 1


async def test_one_that_ends_during_the_look_does_not_hang() -> None:
    broker = TransactionBroker()
    await opened(broker)

    def end(method: str) -> None:
        if method == "DescribeProducers":
            broker.before_answer = lambda _: None
            broker.abort()

    broker.before_answer = end
    async with admin(broker) as a:
        assert await a.find_hanging_transactions() == []


async def test_nothing_is_said_to_hang_while_a_coordinator_is_loading() -> None:
    broker = TransactionBroker()
    await opened(broker)
    del broker.shard.transactions["id"]
    loading = common_pb2.COORDINATOR_LOAD_IN_PROGRESS
    broker.mishaps.append(Mishap("ListTransactions", code=loading, times=10**6))
    async with admin(broker) as a:
        with pytest.raises(errors.CoordinatorLoadInProgressError):
            await a.find_hanging_transactions()
        broker.mishaps.clear()
        broker.mishaps.append(Mishap("ListTransactions", code=loading, times=2))
        assert len(await a.find_hanging_transactions()) == 1, "it has loaded by the third time"


async def test_nothing_is_said_to_hang_without_all_coordinators_or_if_they_move() -> None:
    broker = TransactionBroker()
    await opened(broker)
    del broker.shard.transactions["id"]
    looks = 0
    changes: list[Callable[[Any], None]] = []

    def spoil(method: str, answer: Any) -> None:  # of every type
        nonlocal looks
        for topic in answer.topics if method == "Metadata" else ():
            if topic.name == "__transaction_state":
                looks += 1
                changes[-1](topic)

    def leaderless(topic: Any) -> None:
        topic.partitions[1].ClearField("leader_id")

    def moving(topic: Any) -> None:
        topic.partitions[1].leader_epoch = looks

    broker.spoil = spoil
    async with admin(broker) as a:
        for change in (leaderless, moving):
            changes.append(change)
            with pytest.raises(errors.CoordinatorNotAvailableError):
                await a.find_hanging_transactions(topics=["t"])
