"""A consumer's fetch streams: what is named, what an answer is worth, and how a stream ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.client.consumer_cases import turns

from tidelog.client.consuming.fetch_stream import Answer, FetchLimits, FetchStreams
from tidelog.client.errors import CallFailedError, UnreachableError
from tidelog.client.records import TopicPartition
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import FetchPartition, FetchRequest, FetchResponse

ADDRESS = "broker:1"
TIMEOUT_MS = 5_000


class Broker:
    """Its transport and its stream; the test gives the answers."""

    def __init__(self) -> None:
        self.requests: asyncio.Queue[FetchRequest] = asyncio.Queue()
        self.answers: asyncio.Queue[FetchResponse | CallFailedError] = asyncio.Queue()
        self.opened = self.closed = 0
        self.refusal: UnreachableError | None = None

    async def open_stream(self, address: str, _method: Any) -> Any:  # this object
        assert address == ADDRESS
        if self.refusal is not None:
            raise self.refusal
        self.opened += 1
        return self

    async def send(self, request: FetchRequest) -> None:
        await self.requests.put(request)

    async def receive(self) -> FetchResponse:
        answer = await self.answers.get()
        if isinstance(answer, CallFailedError):
            raise answer
        return answer

    def close(self) -> None:
        self.closed += 1

    def answer(self, **records: bytes) -> None:
        """Records of partitions `p0`, `p1` …"""
        response = FetchResponse()
        for name, content in records.items():
            response.partitions.add(topic="t", partition=int(name[1:]), records=content)
        self.answers.put_nowait(response)

    async def asked(self) -> tuple[dict[int, int], list[int]]:
        """Of the next request: what it names, with offsets, and what it forgets."""
        async with asyncio.timeout(5):
            request = await self.requests.get()
        named = {one.partition: one.fetch_offset for one in request.partitions}
        return named, [one.partition for one in request.forgotten]


class Bench:
    def __init__(self) -> None:
        self.broker = Broker()
        transport: Any = self.broker
        self.streams = FetchStreams(transport, FetchLimits(500, 1, 1 << 20))

    def fetch(self, *, timeout_ms: int = TIMEOUT_MS, **offsets: int) -> asyncio.Task[Answer]:
        """Ask for partitions `p0`, `p1` … from these offsets on."""
        wanted = {}
        for name, offset in offsets.items():
            tp = TopicPartition("t", int(name[1:]))
            wanted[tp] = FetchPartition(topic="t", partition=tp.partition, fetch_offset=offset)
        return asyncio.create_task(self.streams.fetch(ADDRESS, wanted, timeout_ms=timeout_ms))


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await asyncio.wait([*bench.streams.close(), asyncio.create_task(asyncio.sleep(0))])


def records(answer: Answer) -> dict[int, bytes]:
    return {tp.partition: one.records for tp, one in answer.items()}


async def test_only_what_changed_is_named(bench: Bench) -> None:
    first = bench.fetch(p0=0, p1=0)
    assert await bench.broker.asked() == ({0: 0, 1: 0}, [])
    bench.broker.answer(p0=b"r")
    assert records(await first) == {0: b"r"}
    second = bench.fetch(p0=1, p1=0)
    assert await bench.broker.asked() == ({0: 1}, []), "partition 1 waits as before"
    bench.broker.answer()
    assert await second == {}


async def test_what_is_not_wanted_is_forgotten_and_named_again_when_it_is(bench: Bench) -> None:
    for offsets, asked in (
        ({"p0": 0, "p1": 0}, ({0: 0, 1: 0}, [])),
        ({"p1": 0}, ({}, [0])),
        ({"p0": 0, "p1": 0}, ({0: 0}, [])),
    ):
        answer = bench.fetch(**offsets)
        assert await bench.broker.asked() == asked
        bench.broker.answer()
        await answer


async def test_an_answer_that_was_given_up_is_not_taken_for_the_next(bench: Bench) -> None:
    given_up = bench.fetch(p0=0, p1=5)
    await bench.broker.asked()
    given_up.cancel()
    answer = bench.fetch(p0=7, p1=5)  # the application sought on in partition 0
    assert await bench.broker.asked() == ({0: 7}, [])
    bench.broker.answer(p0=b"from 0", p1=b"from 5")
    assert records(await answer) == {1: b"from 5"}, "it waits for these, too"
    answer = bench.fetch(p0=7, p1=9)
    assert await bench.broker.asked() == ({1: 9}, [])
    bench.broker.answer(p0=b"from 7")
    assert records(await answer) == {0: b"from 7"}


async def test_an_answer_that_nobody_waited_for_is_the_next_ones_if_it_asks_the_same(
    bench: Bench,
) -> None:
    for again, asked in (({"p0": 0}, None), ({"p0": 4}, ({0: 4}, []))):
        given_up = bench.fetch(p0=0)
        assert await bench.broker.asked() == ({0: 0}, [])
        given_up.cancel()
        await asyncio.wait([given_up])
        bench.broker.answer(p0=b"from 0")
        await turns(3)
        answer = bench.fetch(**again)
        if asked is None:
            assert records(await answer) == {0: b"from 0"}
            assert bench.broker.requests.empty()
        else:
            assert await bench.broker.asked() == asked
            bench.broker.answer(p0=b"from 4")
            assert records(await answer) == {0: b"from 4"}


async def test_a_late_answer_without_news_ends_no_wait(bench: Bench) -> None:
    given_up = bench.fetch(p0=0)
    await bench.broker.asked()
    given_up.cancel()
    answer = bench.fetch(p0=0, p1=5)
    assert await bench.broker.asked() == ({1: 5}, [])
    bench.broker.answer()
    await turns(3)
    assert not answer.done()
    bench.broker.answer(p1=b"from 5")
    assert records(await answer) == {1: b"from 5"}


async def test_a_refused_partition_is_named_again(bench: Bench) -> None:
    for _ in range(2):
        answer = bench.fetch(p0=3)
        assert await bench.broker.asked() == ({0: 3}, [])
        response = FetchResponse()
        response.partitions.add(topic="t", partition=0).error.code = common_pb2.OFFSET_OUT_OF_RANGE
        bench.broker.answers.put_nowait(response)
        assert (await answer)[TopicPartition("t", 0)].is_final


async def test_what_nobody_asked_for_is_not_handed_over(bench: Bench) -> None:
    answer = bench.fetch(p0=0)
    bench.broker.answer(p0=b"r", p9=b"?")
    assert records(await answer) == {0: b"r"}


async def test_after_a_break_everything_is_named_on_a_new_stream(bench: Bench) -> None:
    answer = bench.fetch(p0=0)
    await bench.broker.asked()
    bench.broker.answers.put_nowait(CallFailedError("it broke"))
    with pytest.raises(CallFailedError, match="it broke"):
        await answer
    again = bench.fetch(p0=0)
    assert await bench.broker.asked() == ({0: 0}, [])
    assert bench.broker.opened == 2
    again.cancel()


async def test_a_broker_that_does_not_answer_in_time_loses_the_stream(bench: Bench) -> None:
    with pytest.raises(CallFailedError, match="within 20 ms"):
        await bench.fetch(p0=0, timeout_ms=20)
    assert bench.broker.closed == 1


async def test_a_broker_that_is_not_there_is_said_to_be(bench: Bench) -> None:
    bench.broker.refusal = UnreachableError("nobody listens")
    with pytest.raises(UnreachableError):
        await bench.fetch(p0=0)


@pytest.mark.parametrize("turns", range(8))
async def test_who_is_cancelled_leaves_a_stream_that_works(bench: Bench, turns: int) -> None:
    given_up = bench.fetch(p0=0)
    for _ in range(turns):
        await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    answer = bench.fetch(p0=4)

    async def broker() -> None:
        """Answers each request with where it asked partition 0 to be read."""
        while True:
            named, _ = await bench.broker.asked()
            bench.broker.answer(p0=b"%d" % named[0]) if named else bench.broker.answer()

    working = asyncio.create_task(broker())
    assert records(await asyncio.wait_for(answer, 5)) == {0: b"4"}
    working.cancel()


async def test_close_ends_what_waits(bench: Bench) -> None:
    answer = bench.fetch(p0=0)
    await bench.broker.asked()
    _, ended = await asyncio.wait(bench.streams.close(), timeout=5)
    assert not ended
    with pytest.raises(CallFailedError, match="closed"):
        await answer
