"""The broker's end of ProduceStream: begun in order, answered when done, bounded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any

import pytest

from tidelog.core.errors import InvariantError
from tidelog.node.handlers.produce_stream import REQUESTS_MAX, ProduceStream
from tidelog.v1.data_pb2 import ProduceAnswers, ProduceRequest, ProduceResponse


class Broker:
    """Begins requests in turn; the test says which are done."""

    def __init__(self) -> None:
        self.arriving: asyncio.Queue[ProduceRequest | None] = asyncio.Queue()
        self.begun: list[int] = []
        self.may_end: dict[int, asyncio.Event] = {}
        self.read = 0
        self.is_full = False
        self.failure: Exception | None = None
        self.cancelled: list[int] = []

    def start(self) -> AsyncGenerator[ProduceAnswers, None]:
        stream = ProduceStream(self._begin, is_full=lambda: self.is_full)
        return stream.answers(self._requests())

    def send(self, *numbers: int) -> None:
        for number in numbers:
            self.may_end.setdefault(number, asyncio.Event())
            self.arriving.put_nowait(ProduceRequest(correlation_id=number))

    def end(self, *numbers: int) -> None:
        for number in numbers:
            self.may_end[number].set()

    async def _requests(self) -> AsyncIterator[ProduceRequest]:
        while (request := await self.arriving.get()) is not None:
            self.read += 1
            yield request

    async def _begin(self, request: ProduceRequest) -> Coroutine[Any, Any, ProduceResponse]:
        if request.correlation_id % 2:
            await asyncio.sleep(0)  # its topic has to be made first
        return self._work(request.correlation_id)

    async def _work(self, number: int) -> ProduceResponse:
        self.begun.append(number)
        if self.failure is not None:
            raise self.failure
        try:
            await self.may_end[number].wait()
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        return ProduceResponse(correlation_id=number)


async def turns(count: int = 300) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def numbers(answers: AsyncGenerator[ProduceAnswers, None]) -> list[int]:
    async with asyncio.timeout(5):
        return [one.correlation_id for one in (await anext(answers)).answers]


async def test_requests_begin_in_the_order_sent_and_are_answered_when_they_are_done() -> None:
    broker = Broker()
    answers = broker.start()
    broker.send(1, 2, 3, 4)
    waiting = asyncio.create_task(numbers(answers))
    await turns()
    assert broker.begun == [1, 2, 3, 4]
    broker.end(3)
    assert await waiting == [3]
    broker.end(4, 1)
    await turns()
    assert sorted(await numbers(answers)) == [1, 4], "what is done by then travels together"
    await answers.aclose()
    await turns()
    assert broker.cancelled == [2], "nobody waits for it any more"


async def test_the_stream_is_read_no_further_while_it_owes_answers_for_too_many() -> None:
    broker = Broker()
    answers = broker.start()
    broker.send(*range(2 * REQUESTS_MAX))
    waiting = asyncio.create_task(numbers(answers))
    await turns()
    assert broker.read == REQUESTS_MAX
    broker.end(0)
    assert await waiting == [0]
    await turns()
    assert broker.read == REQUESTS_MAX + 1
    broker.end(*range(1, 2 * REQUESTS_MAX))
    await turns()
    assert broker.read < 2 * REQUESTS_MAX, "answers that nobody takes count, too"
    await answers.aclose()


async def test_a_full_broker_reads_no_further_from_who_has_something_in_flight() -> None:
    broker = Broker()
    answers = broker.start()
    broker.is_full = True
    broker.send(0, 2)
    waiting = asyncio.create_task(numbers(answers))
    await turns()
    assert broker.begun == [0], "others may have filled it: one is taken, and perhaps refused"
    broker.end(0)
    assert await waiting == [0]
    await turns()
    assert broker.begun == [0, 2]
    await answers.aclose()


async def test_every_request_is_answered_before_the_end() -> None:
    broker = Broker()
    answers = broker.start()
    broker.send(0, 2)
    broker.arriving.put_nowait(None)
    broker.end(0, 2)
    found = [one.correlation_id async for answer in answers for one in answer.answers]
    assert found == [0, 2]


async def test_what_breaks_a_rule_ends_the_stream_with_it() -> None:
    broker = Broker()
    broker.failure = InvariantError("a rule")
    broker.send(0)
    with pytest.raises(InvariantError):
        await numbers(broker.start())
