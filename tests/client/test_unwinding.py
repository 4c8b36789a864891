"""Closing ends in time, whatever the tasks under way make of their cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import pytest
from tests.client.consumer_cases import WAIT_MS, consumer, filled, turns
from tests.client.real_cluster import BOOTSTRAP, RealCluster, start_all
from tests.stubborn import Stubborn

from tidelog.client import Producer, errors, unwinding
from tidelog.client.arrow.table_reader import read_chunks
from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.consuming.range_reader import RangeReader
from tidelog.client.unwinding import unwind
from tidelog.v1.methods import Method, Request, Response


@pytest.fixture
async def stubborn() -> AsyncIterator[Stubborn]:
    one = Stubborn()
    yield one
    one.released.set()


async def test_a_task_that_swallows_its_cancellation_is_left_alone(
    stubborn: Stubborn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unwinding, "UNWIND_MS", 1)
    task = asyncio.create_task(stubborn.work())
    obedient = asyncio.create_task(asyncio.Event().wait())
    await stubborn.began.wait()
    async with asyncio.timeout(10):
        await unwind([task, obedient])
    assert obedient.cancelled()
    assert not task.done()
    assert stubborn.cancellations == 1
    stubborn.released.set()
    await task


async def test_a_task_that_is_being_cancelled_is_not_cancelled_again(stubborn: Stubborn) -> None:
    task = asyncio.create_task(stubborn.work())
    await stubborn.began.wait()
    task.cancel()
    await turns(2)
    await unwind([task])
    assert stubborn.cancellations == 1


async def test_nothing_to_end_is_no_wait() -> None:
    await unwind([])


class StubbornCluster(RealCluster):
    """Neither the look-up of offsets nor the opening of a stream heeds a cancellation."""

    def __init__(self, stubborn: Stubborn, *, where: str) -> None:
        super().__init__()
        self._stubborn, self._where = stubborn, where

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        await self._hold(method.name)
        return await super().call(address, method, request, timeout_ms=timeout_ms)

    async def open_stream(self, address: str, method: Method[Any, Any]) -> Any:  # of either kind
        await self._hold(method.name)
        return await super().open_stream(address, method)

    async def _hold(self, name: str) -> None:
        if name == self._where:
            await self._stubborn.work()


@pytest.mark.parametrize("where", ["ListOffsets", "FetchStream"])
async def test_a_call_that_heeds_no_cancellation_does_not_hold_up_a_consumers_close(
    stubborn: Stubborn, where: str
) -> None:
    cluster = await start_all(StubbornCluster(stubborn, where=where))
    await filled(cluster)
    c = consumer(cluster)
    c.assign([("t", 0)])
    reading = asyncio.create_task(c.getmany(timeout_ms=WAIT_MS))
    await stubborn.began.wait()
    async with asyncio.timeout(10):
        await c.close()
    assert await reading == []
    stubborn.released.set()
    await turns(50)
    assert cluster.tasks_of_clients() == set()


async def test_a_stream_that_opens_after_a_producers_close_is_closed(stubborn: Stubborn) -> None:
    cluster = await start_all(StubbornCluster(stubborn, where="ProduceStream"))
    await filled(cluster)
    p = Producer(BOOTSTRAP, transport=cluster)
    outcome = await p.submit("t", value=b"v")
    await stubborn.began.wait()
    async with asyncio.timeout(10):
        await p.close(timeout_ms=0)
    assert isinstance(outcome.exception(), errors.ClientClosedError)
    stubborn.released.set()
    await turns(50)
    assert cluster.tasks_of_clients() == set()
    assert not cluster.requests("Produce")


class StubbornReader:
    """Its second range comes only once it is released; `closed` counts ended generators."""

    def __init__(self, stubborn: Stubborn) -> None:
        self._stubborn = stubborn
        self.closed = 0

    async def chunks(self, wanted: OffsetRange, **_: bool) -> AsyncGenerator[bytes, None]:
        try:
            if wanted.partition == 1:
                await self._stubborn.work()
            yield b"chunk"
        finally:
            self.closed += 1


async def test_a_fetch_that_heeds_no_cancellation_does_not_hold_up_a_table_reader(
    stubborn: Stubborn, caplog: pytest.LogCaptureFixture
) -> None:
    reader = StubbornReader(stubborn)
    planned = [OffsetRange("t", b"id", partition, 0, 10) for partition in range(2)]
    async with asyncio.timeout(10):
        chunks = read_chunks(cast("RangeReader", reader), planned, fail_on_data_loss=True)
        async with aclosing(chunks):
            assert (await anext(chunks)).data == b"chunk"
            await stubborn.began.wait()
    (line,) = caplog.messages
    assert line.startswith("close continues without tasks that do not end: ")
    assert reader.closed == 1
    stubborn.released.set()
    await turns(10)
    assert reader.closed == 2
    assert asyncio.all_tasks() == {asyncio.current_task()}
