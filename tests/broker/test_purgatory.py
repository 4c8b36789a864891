"""Requests that wait: each is answered exactly once, by an event or by its deadline."""

from __future__ import annotations

from tidelog.broker.partition.purgatory import (
    ANSWERED_KEPT,
    DelayedAnswer,
    FetchWaiters,
    OffsetWaiters,
)
from tidelog.core.wire_errors import error_message
from tidelog.v1 import common_pb2

FAILURE = error_message(common_pb2.REQUEST_TIMED_OUT, "leadership ended")


async def test_a_produce_is_answered_when_its_last_partition_is() -> None:
    produce, first, second = DelayedAnswer("appended"), OffsetWaiters(), OffsetWaiters()
    first.add(5, produce, 0)
    second.add(8, produce, 1)
    first.complete_up_to(4)
    second.complete_up_to(8)
    assert not produce.is_over
    first.complete_up_to(5)
    assert await produce.wait(1000) == {}


async def test_a_produce_that_waits_for_nothing_is_answered_at_once() -> None:
    assert await DelayedAnswer("appended").wait(1000) == {}


async def test_one_failed_partition_does_not_answer_for_the_others() -> None:
    produce, first, second = DelayedAnswer("appended"), OffsetWaiters(), OffsetWaiters()
    first.add(5, produce, 0)
    second.add(8, produce, 1)
    first.fail_all(FAILURE)
    assert not produce.is_over
    second.complete_up_to(100)
    assert await produce.wait(1000) == {0: FAILURE}


async def test_an_entry_that_failed_before_the_last_was_there_does_not_answer_for_it() -> None:
    """Cluster seed 4139: two batches, the second one's disk failed, then one for elsewhere."""
    produce, first, second = DelayedAnswer("appended"), OffsetWaiters(), OffsetWaiters()
    first.add(5, produce, 0)
    first.fail_all(FAILURE)
    second.add(8, produce, 2)
    assert {index: error.code for index, error in (await produce.wait(1)).items()} == {
        0: FAILURE.code,
        2: common_pb2.REQUEST_TIMED_OUT,
    }


async def test_at_the_deadline_only_what_is_open_has_an_unknown_outcome() -> None:
    produce, waiters = DelayedAnswer("appended"), OffsetWaiters()
    waiters.add(5, produce, 0)
    waiters.add(8, produce, 1)
    waiters.complete_up_to(5)
    failures = await produce.wait(1)
    assert {index: error.code for index, error in failures.items()} == {
        1: common_pb2.REQUEST_TIMED_OUT
    }
    waiters.complete_up_to(8)
    waiters.fail_all(FAILURE)


async def test_who_comes_later_for_a_lower_offset_is_answered_first() -> None:
    waiters = OffsetWaiters()
    later, earlier = DelayedAnswer("deleted"), DelayedAnswer("deleted")
    waiters.add(8, later, 0)
    waiters.add(5, earlier, 0)
    waiters.complete_up_to(5)
    assert await earlier.wait(0) == {}
    assert 0 in await later.wait(0)


async def test_answered_requests_do_not_pile_up_on_a_stuck_partition() -> None:
    waiters, patient = OffsetWaiters(), DelayedAnswer("appended")
    waiters.add(1, patient, 0)
    for offset in range(10 * ANSWERED_KEPT):
        produce = DelayedAnswer("appended")
        waiters.add(offset + 1, produce, 0)
        await produce.wait(0)
    assert len(waiters._queue) <= ANSWERED_KEPT
    waiters.complete_up_to(1)
    assert await patient.wait(0) == {}


async def test_requests_that_wait_stay_however_many_they_are() -> None:
    waiters = OffsetWaiters()
    waiting = [DelayedAnswer("appended") for _ in range(3 * ANSWERED_KEPT)]
    for offset, answer in enumerate(waiting, start=1):
        waiters.add(offset, answer, 0)
    waiters.complete_up_to(len(waiting))
    assert [await answer.wait(0) for answer in waiting] == [{}] * len(waiting)


class Waiter:
    def __init__(self, heard: list[str], name: str) -> None:
        self._heard, self._name = heard, name

    def wake(self) -> None:
        self._heard.append(f"{self._name} woken")

    def note(self) -> None:
        self._heard.append(f"{self._name} noted")


def test_fetches_hear_of_a_partitions_news_until_they_wait_no_more() -> None:
    heard: list[str] = []
    waiters, one, other = FetchWaiters(), Waiter(heard, "one"), Waiter(heard, "other")
    for waiter in (one, other, one):
        waiters.add(waiter)
    waiters.wake()
    waiters.discard(one)
    waiters.discard(one)
    waiters.note()
    assert heard == ["one woken", "other woken", "other noted"]
