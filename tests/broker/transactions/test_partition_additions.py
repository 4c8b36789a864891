"""Additions of partitions: bundled by coordinator, repeated in time, with certain outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
import pytest_asyncio

from tidelog.broker.partition_adder import Producer, Topic, TransactionPartition
from tidelog.broker.transactions import partition_additions
from tidelog.broker.transactions.partition_additions import (
    ATTEMPT_S,
    BACKOFF_S_MAX,
    BACKOFF_S_MIN,
    REQUESTS_MAX,
    TIMEOUT_S,
    PartitionAdditions,
)
from tidelog.core.background import Background
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import (
    OUTCOME_UNKNOWN_CODES,
    CallFailedError,
    ConcurrentTransactionsError,
    CoordinatorNotAvailableError,
    InvalidRequestError,
    ProducerFencedError,
    ThrottlingQuotaExceededError,
    TidelogError,
    error_for,
)
from tidelog.core.wire_errors import to_wire
from tidelog.v1 import common_pb2
from tidelog.v1.transactions_pb2 import (
    AddPartitionsToTransactionsRequest,
    AddPartitionsToTransactionsResponse,
)

pytestmark = pytest.mark.asyncio

TOPIC = Topic(b"i" * 16, "flights")


def place(number: int) -> TransactionPartition:
    return TransactionPartition(TOPIC, number)


class Coordinators:
    """Brokers that answer additions as they are told to."""

    def __init__(self) -> None:
        self.broker_id: int | None = 1
        self.asked: list[tuple[int, list[tuple[str, int, list[int]]]]] = []
        self.times_s: list[float] = []
        self.failures: list[TidelogError] = []
        """Of the next calls as a whole."""
        self.refusals: dict[str, list[TidelogError]] = {}
        """Of an id's next additions."""
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.silent: set[int] = set()
        self.in_flight = 0
        self.answers_other_ids = False

    async def ask(
        self, broker_id: int, request: AddPartitionsToTransactionsRequest
    ) -> AddPartitionsToTransactionsResponse:
        ids = [
            (one.transactional_id, one.producer_epoch, list(one.topics[0].partitions))
            for one in request.transactions
        ]
        self.asked.append((broker_id, ids))
        self.times_s.append(asyncio.get_running_loop().time())
        assert self.in_flight < partition_additions.REQUESTS_MAX or self.silent
        self.in_flight += 1
        try:
            if broker_id in self.silent:
                await asyncio.sleep(3600)
            await self.may_answer.wait()
        finally:
            self.in_flight -= 1
        if self.failures:
            raise self.failures.pop(0)
        response = AddPartitionsToTransactionsResponse()
        for name, _, _ in ids:
            refusals = self.refusals.get(name)
            result = response.transactions.add(transactional_id=name)
            if refusals:
                result.error.CopyFrom(to_wire(refusals.pop(0)))
        if self.answers_other_ids:
            response.transactions[0].transactional_id = "another"
        return response


class Stage:
    def __init__(self) -> None:
        self.fatal: list[BaseException] = []
        self.brokers = Coordinators()
        self.background = Background(self.fatal.append)
        self.additions = PartitionAdditions(
            coordinator_of=lambda _: self.brokers.broker_id,
            ask=self.brokers.ask,
            random=SeededRandom(1),
            background=self.background,
        )

    def later(self, name: str, number: int = 0, *, epoch: int = 0) -> asyncio.Task[None]:
        return asyncio.create_task(self.additions.add(name, Producer(7, epoch), place(number)))

    async def busy(self, requests: int) -> list[asyncio.Task[None]]:
        """Have so many requests under way, with an addition each."""
        tasks = []
        for number in range(requests):
            tasks.append(self.later(f"busy-{number}"))
            await asyncio.sleep(0.01)
        return tasks


@pytest_asyncio.fixture
async def stage() -> AsyncIterator[Stage]:
    made = Stage()
    yield made
    await made.background.stop()
    assert made.fatal == []


async def test_what_comes_together_is_one_request_and_what_comes_meanwhile_the_next(
    stage: Stage,
) -> None:
    stage.brokers.may_answer.clear()
    tasks = [stage.later("a", 2), stage.later("a", 1), stage.later("b")]
    await asyncio.sleep(0.1)
    assert stage.brokers.asked == [(1, [("a", 0, [1, 2]), ("b", 0, [0])])]
    tasks += await stage.busy(REQUESTS_MAX - 1)
    tasks += [stage.later("c"), stage.later("a", 3)]
    await asyncio.sleep(0.1)
    assert len(stage.brokers.asked) == REQUESTS_MAX
    stage.brokers.may_answer.set()
    await asyncio.gather(*tasks)
    assert stage.brokers.asked[REQUESTS_MAX:] == [(1, [("c", 0, [0]), ("a", 0, [3])])]


async def test_a_request_that_waits_for_its_answer_does_not_hold_up_the_next(stage: Stage) -> None:
    stage.brokers.may_answer.clear()
    slow = await stage.busy(1)
    stage.brokers.may_answer = asyncio.Event()  # of requests from now on
    stage.brokers.may_answer.set()
    await stage.later("quick")
    assert not any(one.done() for one in slow)


async def test_two_epochs_of_an_id_are_two_requests(stage: Stage) -> None:
    tasks = [stage.later("a", epoch=0), stage.later("a", epoch=1), stage.later("b")]
    await asyncio.gather(*tasks)
    assert stage.brokers.asked == [(1, [("a", 0, [0]), ("b", 0, [0])]), (1, [("a", 1, [0])])]


async def test_what_does_not_fit_a_request_goes_into_the_next(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_additions, "PARTITIONS_PER_REQUEST", 3)
    await asyncio.gather(*(stage.later("a", n) for n in range(4)))
    assert stage.brokers.asked == [(1, [("a", 0, [0, 1, 2])]), (1, [("a", 0, [3])])]


async def test_each_id_gets_its_own_answer(stage: Stage) -> None:
    stage.brokers.refusals["b"] = [ProducerFencedError("fenced")]
    first, second, third = stage.later("a"), stage.later("b"), stage.later("c")
    await asyncio.gather(first, third)
    with pytest.raises(ProducerFencedError):
        await second
    assert len(stage.brokers.asked) == 1


@pytest.mark.parametrize(
    "code",
    [
        common_pb2.NOT_COORDINATOR,
        common_pb2.COORDINATOR_LOAD_IN_PROGRESS,
        common_pb2.COORDINATOR_NOT_AVAILABLE,
        common_pb2.CONCURRENT_TRANSACTIONS,
        common_pb2.REQUEST_TIMED_OUT,
        common_pb2.UNKNOWN_SERVER_ERROR,
    ],
)
async def test_what_may_succeed_later_is_asked_again(
    stage: Stage, code: common_pb2.ErrorCode
) -> None:
    stage.brokers.refusals["a"] = [error_for(code, "not now")] * 2
    stage.brokers.failures = [CallFailedError("the answer was lost")]
    await stage.later("a")
    assert len(stage.brokers.asked) == 4


async def test_an_addition_is_repeated_with_a_backoff(stage: Stage) -> None:
    stage.brokers.refusals["a"] = [ConcurrentTransactionsError("not now")] * 1_000
    with pytest.raises(ConcurrentTransactionsError):
        await stage.later("a")
    times = stage.brokers.times_s
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert BACKOFF_S_MIN / 2 <= pauses[0] <= BACKOFF_S_MIN
    assert all(BACKOFF_S_MAX / 2 <= one <= BACKOFF_S_MAX for one in pauses[6:])
    assert len(times) < 40


@pytest.mark.parametrize("code", [*sorted(OUTCOME_UNKNOWN_CODES), common_pb2.NOT_COORDINATOR])
async def test_an_addition_ends_in_time_and_its_outcome_is_certain(
    stage: Stage, code: common_pb2.ErrorCode
) -> None:
    stage.brokers.refusals["a"] = [error_for(code, "not now")] * 1_000
    began_s = asyncio.get_running_loop().time()
    with pytest.raises(CoordinatorNotAvailableError, match="nothing was appended") as told:
        await stage.later("a")
    assert told.value.is_retriable
    assert not told.value.is_outcome_unknown
    assert asyncio.get_running_loop().time() - began_s <= TIMEOUT_S + 0.1


async def test_an_addition_leaves_a_silent_broker_for_the_next_coordinator(stage: Stage) -> None:
    stage.brokers.silent = {1}
    adding = stage.later("a")
    await asyncio.sleep(ATTEMPT_S / 2)
    stage.brokers.broker_id = 2
    await adding
    assert [broker_id for broker_id, _ in stage.brokers.asked] == [1, 2]


async def test_without_a_coordinator_an_addition_waits_for_one(stage: Stage) -> None:
    stage.brokers.broker_id = None
    adding = stage.later("a")
    await asyncio.sleep(1)
    assert stage.brokers.asked == []
    stage.brokers.broker_id = 3
    await adding
    assert [broker_id for broker_id, _ in stage.brokers.asked] == [3]


async def test_answers_of_other_ids_count_for_nobody(stage: Stage) -> None:
    stage.brokers.answers_other_ids = True
    with pytest.raises(CoordinatorNotAvailableError):
        await stage.later("a")


async def test_no_more_than_so_many_additions_wait(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_additions, "ADDITIONS_MAX", 2)
    stage.brokers.may_answer.clear()
    waiting = [stage.later("a"), stage.later("b")]
    await asyncio.sleep(0)
    with pytest.raises(ThrottlingQuotaExceededError):
        await stage.later("c")
    waiting.pop().cancel()
    await asyncio.sleep(0)
    stage.brokers.may_answer.set()
    await stage.later("c")
    await asyncio.gather(*waiting)


@pytest.mark.parametrize("name", ["", "x" * 250])
async def test_no_coordinator_is_asked_about_an_impossible_id(stage: Stage, name: str) -> None:
    with pytest.raises(InvalidRequestError):
        await stage.later(name)
    assert stage.brokers.asked == []


async def test_an_addition_that_nobody_awaits_any_more_is_not_sent(stage: Stage) -> None:
    stage.brokers.may_answer.clear()
    sent = await stage.busy(REQUESTS_MAX)
    gone = stage.later("b")
    await asyncio.sleep(0.1)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    stage.brokers.may_answer.set()
    await asyncio.gather(*sent)
    assert len(stage.brokers.asked) == REQUESTS_MAX
