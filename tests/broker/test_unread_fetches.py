"""Fetches whose answers nobody reads: others wait for room as long as they may; no follower."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage, values_in

from tidelog.broker.partition.fetch import Fetch, FetchPosition
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.net.call import LOCAL_CALL
from tidelog.net.unread_responses import UnreadLimits

pytestmark = pytest.mark.sim

LEADER = 1
WAIT_MS = 400
MIB = 1 << 20
VALUE = bytes(900_000)
RECORDS = 8
SMALL = replace(CONFIG, unread=UnreadLimits(4 * MIB, 2 * MIB))
Story = Callable[[ReplicaStage, ReplicaManager], Coroutine[Any, Any, None]]


def run(story: Story, *, values: int = RECORDS) -> None:
    """On the leader's loop, over so many records."""

    async def whole(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.until(lambda: stage.hosted(LEADER).replica.leader is not None)
        for _ in range(values):
            await stage.must_produce(LEADER, VALUE)
        await stage.on(LEADER, lambda manager: story(stage, manager))

    ReplicaStage(SMALL).run(whole)


def request(**fields: Any) -> Fetch:
    asked = FetchPosition(TOPIC, 0, 0, partition_max_bytes=8 * MIB)
    return Fetch([asked], **{"max_wait_ms": WAIT_MS} | fields)


class Caller:
    """Fetches over one connection and reads no answer before `read`."""

    def __init__(self, manager: ReplicaManager, connection: str) -> None:
        self._manager = manager
        self._unread: list[Callable[[], None]] = []
        self._call = LOCAL_CALL._replace(connection=connection, when_taken=self._unread.append)

    async def fetch(self, **fields: Any) -> int:
        """How many records came; the high watermark always does."""
        (result,) = await self._manager.session(self._call).fetch(request(**fields))
        assert result.high_watermark == RECORDS
        return len(values_in(result))

    def read(self) -> None:
        self._unread.pop(0)()


def test_answers_are_as_large_as_there_is_room_and_then_wait_and_come_empty() -> None:
    async def story(_: ReplicaStage, manager: ReplicaManager) -> None:
        caller, loop = Caller(manager, "a"), asyncio.get_running_loop()
        assert await caller.fetch() == 2, "2 MiB are a connection's share"
        began_s = loop.time()
        assert await caller.fetch() == 0
        assert loop.time() - began_s >= WAIT_MS / 1000
        assert await Caller(manager, "b").fetch() == 1, "another connection has room"
        caller.read()
        assert await caller.fetch() == 1, "half of what is free"

    run(story)


def test_a_fetch_that_waits_is_answered_when_an_answer_was_read() -> None:
    async def story(_: ReplicaStage, manager: ReplicaManager) -> None:
        caller = Caller(manager, "a")
        assert await caller.fetch() == 2
        waiting = asyncio.create_task(caller.fetch(max_wait_ms=20_000))
        await asyncio.sleep(1)
        assert not waiting.done()
        caller.read()
        async with asyncio.timeout(1):
            assert await waiting == 2

    run(story)


def test_a_fetch_that_is_given_up_while_it_waits_leaves_nothing_behind() -> None:
    async def story(_: ReplicaStage, manager: ReplicaManager) -> None:
        caller = Caller(manager, "a")
        await caller.fetch()
        waiting = asyncio.create_task(caller.fetch(max_wait_ms=20_000))
        await asyncio.sleep(0.1)
        waiting.cancel()
        await asyncio.wait([waiting])
        caller.read()
        assert manager.reader._unread.size_bytes == 0

    run(story)


def test_an_answer_of_a_stream_is_unread_until_the_next_one_is_asked_for() -> None:
    async def story(_: ReplicaStage, manager: ReplicaManager) -> None:
        async def requests() -> AsyncIterator[Fetch]:
            while True:
                yield request()

        call = LOCAL_CALL._replace(connection="a", when_taken=lambda _: None)
        answers = manager.session(call).answers(requests())
        (result,) = await anext(answers)
        assert len(values_in(result)) == 2
        held_bytes = manager.reader._unread.size_bytes
        assert held_bytes > MIB
        assert await Caller(manager, "a").fetch() == 0
        await answers.aclose()
        assert manager.reader._unread.size_bytes == 0
        assert await Caller(manager, "a").fetch() == 2

    run(story)


def test_followers_go_on_whatever_consumers_leave_unread() -> None:
    async def whole(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.until(lambda: stage.hosted(LEADER).replica.leader is not None)
        for _ in range(RECORDS):
            await stage.must_produce(LEADER, VALUE)

        async def fill(manager: ReplicaManager) -> None:
            for number in range(20):
                await Caller(manager, str(number)).fetch(max_wait_ms=0)
            assert manager.reader._unread.room("another") < MIB

        await stage.on(LEADER, fill)
        await stage.must_produce(LEADER, VALUE, acks=-1)
        assert sorted(stage.state().isr) == [1, 2, 3]

    ReplicaStage(SMALL).run(whole)
