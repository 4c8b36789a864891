"""The producer's streams: order, whose answer is whose, and what is unknown after each end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP

from tidelog.client.backoff import Backoff
from tidelog.client.errors import CallFailedError, UnreachableError
from tidelog.client.ports import ClientPorts
from tidelog.client.producing.produce_stream import ProduceStreams
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing, RoutingConfig
from tidelog.v1.data_pb2 import ProduceAnswers, ProduceRequest, ProduceResponse

HERE, THERE = "here:1", "there:1"
LONG_MS = 60_000


class HandStream:
    """Answers what the test says."""

    def __init__(self) -> None:
        self.sent: list[ProduceRequest] = []
        self.is_closed = False
        self.may_send = asyncio.Event()
        self.may_send.set()
        self._incoming: asyncio.Queue[ProduceAnswers | CallFailedError] = asyncio.Queue()

    async def send(self, request: ProduceRequest) -> None:
        self.sent.append(request)
        await self.may_send.wait()

    async def receive(self) -> ProduceAnswers:
        item = await self._incoming.get()
        if isinstance(item, CallFailedError):
            raise item
        return item

    def close(self) -> None:
        self.is_closed = True

    def answer(self, *places: int) -> None:
        ids = [self.sent[place].correlation_id for place in places]
        answers = [ProduceResponse(correlation_id=one) for one in ids]
        self._incoming.put_nowait(ProduceAnswers(answers=answers))

    def fail(self) -> None:
        self._incoming.put_nowait(CallFailedError("the broker went away"))


class HandTransport:
    """Opens hand streams; every opening waits until it may."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, HandStream]] = []
        self.openings = 0
        self.is_reachable = True
        self.may_open = asyncio.Event()
        self.may_open.set()

    async def open_stream(self, address: str, method: Any) -> Any:
        del method
        self.openings += 1
        await self.may_open.wait()
        if not self.is_reachable:
            raise UnreachableError(f"nobody at {address}")
        stream = HandStream()
        self.opened.append((address, stream))
        return stream

    async def call(self, address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        raise NotImplementedError

    @property
    def stream(self) -> HandStream:
        """The newest."""
        return self.opened[-1][1]


class Stage:
    def __init__(self) -> None:
        self.transport = HandTransport()
        self.open_notices = 0
        self.streams = ProduceStreams(self.transport, on_open=self._on_open)
        self.tasks: list[asyncio.Task[ProduceResponse]] = []

    def ask(
        self, *, address: str = HERE, timeout_ms: int = LONG_MS
    ) -> asyncio.Task[ProduceResponse]:
        call = self.streams.call(address, ProduceRequest(), timeout_ms=timeout_ms)
        self.tasks.append(asyncio.create_task(call))
        return self.tasks[-1]

    def _on_open(self) -> None:
        self.open_notices += 1

    async def ask_some(self, count: int) -> list[asyncio.Task[ProduceResponse]]:
        tasks = [self.ask() for _ in range(count)]
        await settle()
        return tasks


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    yield stage
    tasks = [*stage.tasks, *stage.streams.close()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def settle(turns: int = 20) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def outcomes(tasks: list[asyncio.Task[ProduceResponse]]) -> list[Any]:
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_requests_go_out_in_order_on_one_stream_and_answers_find_theirs(
    stage: Stage,
) -> None:
    stage.transport.may_open.clear()
    tasks = await stage.ask_some(4)
    stage.transport.may_open.set()
    await settle()
    assert (stage.transport.openings, stage.open_notices) == (1, 1)
    stream = stage.transport.stream
    ids = [request.correlation_id for request in stream.sent]
    assert ids == sorted(ids)
    assert len(set(ids)) == 4
    stream.answer(2)
    stream.answer(3, 0)
    await settle()
    assert [task.done() for task in tasks] == [True, False, True, True]
    stream.answer(1)
    assert [answer.correlation_id for answer in await outcomes(tasks)] == ids


async def test_a_stream_that_breaks_leaves_only_what_was_not_answered_unknown(
    stage: Stage,
) -> None:
    tasks = await stage.ask_some(3)
    stage.transport.stream.answer(1)
    stage.transport.stream.fail()
    first, second, third = await outcomes(tasks)
    assert isinstance(second, ProduceResponse)
    for error in (first, third):
        assert isinstance(error, CallFailedError)
        assert error.is_outcome_unknown
    assert first is not third, "what is told of one is not told of the other"


async def test_the_request_after_a_break_has_a_stream_of_its_own(stage: Stage) -> None:
    (lost,) = await stage.ask_some(1)
    stage.transport.stream.fail()
    await outcomes([lost])
    assert not stage.streams.is_open(HERE)
    (task,) = await stage.ask_some(1)
    assert len(stage.transport.opened) == 2
    stage.transport.stream.answer(0)
    assert isinstance(await task, ProduceResponse)


async def test_what_could_not_be_sent_was_certainly_not_and_all_that_wait_hear_it_at_once(
    stage: Stage,
) -> None:
    stage.transport.is_reachable = False
    stage.transport.may_open.clear()
    tasks = await stage.ask_some(3)
    stage.transport.may_open.set()
    errors = await outcomes(tasks)
    assert {type(error) for error in errors} == {UnreachableError}
    assert stage.transport.openings == 1, "not one after the other"


async def test_brokers_have_streams_of_their_own(stage: Stage) -> None:
    here, there = stage.ask(), stage.ask(address=THERE)
    await settle()
    assert [address for address, _ in stage.transport.opened] == [HERE, THERE]
    stage.transport.opened[0][1].fail()
    stage.transport.opened[1][1].answer(0)
    assert isinstance((await outcomes([here]))[0], CallFailedError)
    assert isinstance(await there, ProduceResponse)


async def test_an_overdue_request_ends_the_stream_for_all(stage: Stage) -> None:
    patient = stage.ask()
    overdue = stage.ask(timeout_ms=5)
    async with asyncio.timeout(5):
        errors = await outcomes([patient, overdue])
    assert {type(error) for error in errors} == {CallFailedError}
    assert stage.transport.stream.is_closed


async def test_a_request_overdue_before_it_was_its_turn_was_not_sent(stage: Stage) -> None:
    stage.transport.may_open.clear()
    opening, waiting = stage.ask(), stage.ask(timeout_ms=5)
    assert isinstance((await outcomes([waiting]))[0], UnreachableError)
    assert not opening.done()


async def test_a_request_let_go_leaves_the_others_theirs_and_the_last_ends_the_stream(
    stage: Stage,
) -> None:
    first, second = await stage.ask_some(2)
    first.cancel()
    await settle()
    stream = stage.transport.stream
    assert not stream.is_closed
    stream.answer(0)
    await settle()
    assert not second.done(), "the answer of one let go is nobody's"
    second.cancel()
    await settle()
    assert stream.is_closed
    assert not stage.streams.is_open(HERE)


async def test_close_ends_every_stream(stage: Stage) -> None:
    tasks = [stage.ask(), stage.ask(address=THERE)]
    await settle()
    receiving = stage.streams.close()
    assert {type(error) for error in await outcomes(tasks)} == {CallFailedError}
    assert all(stream.is_closed for _, stream in stage.transport.opened)
    await asyncio.wait(receiving)


async def test_cancelled_at_any_turn_a_request_disturbs_nobody(stage: Stage) -> None:
    for turn in range(12):
        other = stage.ask()
        task = stage.ask()
        await settle(turn)
        task.cancel()
        await settle()
        stage.transport.stream.answer(*range(len(stage.transport.stream.sent)))
        assert isinstance(await other, ProduceResponse)


async def test_a_leader_that_is_overdue_and_leads_no_more_is_let_go(stage: Stage) -> None:
    config = RoutingConfig(overdue_ms=5, overdue_interval_ms=5, backoff=Backoff(1, 1))
    ports = ClientPorts.of(transport=stage.transport, clock=None, random=None)
    routing = Routing(BOOTSTRAP, ports=ports, config=config)
    address = ADDRESSES[1]
    call = stage.streams.call(address, ProduceRequest(), timeout_ms=LONG_MS)
    partitions = [TopicPartition("t", 0)]
    async with asyncio.timeout(5):
        with pytest.raises(CallFailedError, match="other brokers lead"):
            await routing.while_it_leads(address, call, partitions=partitions, answer_ms=0)
    assert stage.transport.stream.is_closed
