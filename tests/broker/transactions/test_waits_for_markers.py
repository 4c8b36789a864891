"""Partitions that are added while the transaction before lacks its markers: the wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.broker.transactions.coordinated_ids import P0, P1
from tests.broker.transactions.test_transaction_coordinator import Coordinated

from tidelog.broker.partition.partition_listener import Leadership
from tidelog.broker.partition_adder import Producer
from tidelog.broker.transactions import transaction_coordinator
from tidelog.broker.transactions.end_transactions import Member
from tidelog.broker.transactions.transaction import State
from tidelog.core.errors import (
    ConcurrentTransactionsError,
    NotCoordinatorError,
    StorageError,
    ThrottlingQuotaExceededError,
)

pytestmark = pytest.mark.asyncio
LONG_S = 60.0


@pytest_asyncio.fixture
async def ending(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Coordinated]:
    """A coordinator whose leaders answer when `brokers.gate` is opened."""
    monkeypatch.setattr(transaction_coordinator, "MARKERS_WAIT_S", LONG_S)
    made = Coordinated()
    await made.elected()
    made.brokers.gate.clear()
    yield made
    made.brokers.gate.set()
    await made.background.stop()
    assert made.fatal == []


async def ended(ending: Coordinated) -> Producer:
    """The next transaction's producer, the one before lacks its markers."""
    producer = await ending.begun("a")
    return await ending.coordinator.end("a", producer, is_commit=True)


def adding(ending: Coordinated, producer: Producer) -> asyncio.Task[None]:
    return asyncio.create_task(ending.coordinator.add_partitions("a", producer, [P0]))


async def test_an_addition_waits_for_the_markers_of_the_transaction_before(
    ending: Coordinated,
) -> None:
    following = await ended(ending)
    tasks = [adding(ending, following), adding(ending, following)]
    await asyncio.sleep(0.2)
    assert not any(one.done() for one in tasks)
    ending.brokers.gate.set()
    async with asyncio.timeout(LONG_S / 2):
        await asyncio.gather(*tasks)
    assert ending.state("a") is State.Ongoing


async def test_the_wait_is_short_and_then_the_caller_asks_again(
    ending: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_coordinator, "MARKERS_WAIT_S", 0.05)
    following = await ended(ending)
    began_s = asyncio.get_running_loop().time()
    with pytest.raises(ConcurrentTransactionsError):
        await adding(ending, following)
    assert 0.05 <= asyncio.get_running_loop().time() - began_s < 1.0
    ending.brokers.gate.set()
    await ending.until(lambda: ending.state("a") is State.CompleteCommit)
    await adding(ending, following)


async def test_who_waits_hears_that_the_coordinator_is_another(ending: Coordinated) -> None:
    task = adding(ending, await ended(ending))
    await asyncio.sleep(0.01)
    ending.deposed()
    with pytest.raises(NotCoordinatorError):
        async with asyncio.timeout(LONG_S / 2):
            await task


async def test_waits_count_as_waiting_requests(ending: Coordinated) -> None:
    task = adding(ending, await ended(ending))
    await asyncio.sleep(0.01)
    assert ending.coordinator.stats()["transaction_requests_waiting"] == 1
    ending.brokers.gate.set()
    await task
    assert ending.coordinator.stats()["transaction_requests_waiting"] == 0


async def test_a_completion_that_cannot_be_appended_ends_the_wait_for_now(
    ending: Coordinated,
) -> None:
    task = adding(ending, await ended(ending))
    await asyncio.sleep(0.01)
    ending.brokers.refusals += [StorageError("full")] * 2  # of the last marker, and of a look at it
    ending.brokers.gate.set()
    with pytest.raises(ConcurrentTransactionsError):
        async with asyncio.timeout(LONG_S / 2):
            await task
    await ending.until(lambda: ending.state("a") is State.CompleteCommit)


async def test_followers_get_the_end_of_one_transaction_and_the_next_one_together(
    ending: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the two alone would cost a round of replication, one after the other."""
    task = adding(ending, await ended(ending))
    await asyncio.sleep(0.01)
    brokers, fetched = ending.brokers, []
    append = brokers.append

    def waking_followers(leadership: Leadership, records: bytes) -> Any:
        written = append(leadership, records)
        asyncio.get_running_loop().call_soon(lambda: fetched.append(len(brokers.batches)))
        return written

    monkeypatch.setattr(brokers, "append", waking_followers)
    before = len(brokers.batches)
    brokers.gate.set()
    await task
    assert fetched[0] == before + 2


async def test_other_partitions_markers_are_waited_for_too(ending: Coordinated) -> None:
    ending.brokers.answers[P1] = [StorageError("not yet")] * 2
    task = adding(ending, await ended(ending))
    ending.brokers.gate.set()
    await task
    assert len([one for broker_id, one in ending.brokers.requests if broker_id == 2]) == 3


def ending_group(ending: Coordinated, producer: Producer) -> asyncio.Task[None]:
    members = [Member("g/1", producer)]
    return asyncio.create_task(ending.coordinator.end_group("g", members))


async def test_the_end_of_a_group_waits_for_the_markers_of_all_of_it(
    ending: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_coordinator, "GROUP_MARKERS_WAIT_S", LONG_S)
    producer = await ending.begun("g/1")
    await ending.begun("g/failed")
    task = ending_group(ending, producer)
    await ending.until(lambda: ending.state("g/1") is State.PrepareCommit)
    await asyncio.sleep(0.2)
    assert not task.done()
    assert ending.coordinator.stats()["transaction_requests_waiting"] == 1
    ending.brokers.gate.set()
    async with asyncio.timeout(LONG_S / 2):
        await task
    assert ending.coordinator.stats()["transaction_requests_waiting"] == 0
    assert ending.state("g/1") is State.CompleteCommit
    assert ending.state("g/failed") is State.CompleteAbort


async def test_that_wait_is_bounded_and_ends_with_the_leadership(
    ending: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_coordinator, "GROUP_MARKERS_WAIT_S", 0.05)
    producer = await ending.begun("g/1")
    await ending_group(ending, producer)
    assert ending.state("g/1") is State.PrepareCommit
    monkeypatch.setattr(transaction_coordinator, "GROUP_MARKERS_WAIT_S", LONG_S)
    task = ending_group(ending, producer)
    await asyncio.sleep(0.01)
    ending.deposed()
    async with asyncio.timeout(LONG_S / 2):
        await task


async def test_waits_for_the_markers_of_a_group_count_as_waiting_requests(
    ending: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = await ending.begun("g/1")
    monkeypatch.setattr(transaction_coordinator, "GROUP_MARKERS_WAIT_S", LONG_S)
    monkeypatch.setattr(transaction_coordinator, "WAITING_MAX", 1)
    first = ending_group(ending, producer)
    await ending.until(lambda: ending.state("g/1") is State.PrepareCommit)
    await asyncio.sleep(0.01)
    with pytest.raises(ThrottlingQuotaExceededError):
        await ending_group(ending, producer)
    ending.brokers.gate.set()
    async with asyncio.timeout(LONG_S / 2):
        await first


async def test_whoever_stops_waiting_for_markers_is_held_no_longer(
    ending: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_coordinator, "MARKERS_WAIT_S", 0.05)
    following = await ended(ending)
    late = [adding(ending, following) for _ in range(3)]
    await asyncio.sleep(0.01)
    waits = ending.coordinator.decided._ended
    assert len(waits) == 1
    await asyncio.wait(late)
    assert waits == {}
