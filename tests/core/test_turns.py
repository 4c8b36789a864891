"""Turns of the loop: the loop is yielded in time, and the turns of clients are shared fairly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from tidelog.core.turns import (
    PER_PIECE,
    PER_TURN,
    Caller,
    SharedTurns,
    Turns,
    answer_turn,
    in_turns,
    listed,
    turn,
    work_for,
    written,
)


async def passes_during(work: AsyncIterator[object]) -> int:
    """Number of the loop's passes while a task iterates."""
    passes = 0

    async def count() -> None:
        nonlocal passes
        while True:
            await asyncio.sleep(0)
            passes += 1

    counting = asyncio.create_task(count())
    await asyncio.sleep(0)
    async for _ in work:
        pass
    counting.cancel()
    return passes


async def test_every_turn_of_elements_lets_others_work() -> None:
    assert await passes_during(in_turns(range(PER_TURN - 1))) == 0
    assert await passes_during(in_turns(range(5 * PER_TURN))) == 5
    assert await passes_during(in_turns(range(30), 10)) == 3


async def test_elements_of_many_short_lists_are_counted_together() -> None:
    turns = Turns(10)

    async def each() -> AsyncIterator[int]:
        for _ in range(20):
            async for one in turns.of([1, 2]):
                yield one

    assert await passes_during(each()) == 4


async def test_pieces_hold_everything_in_order() -> None:
    assert await listed(iter(range(2 * PER_PIECE + 1))) == list(range(2 * PER_PIECE + 1))
    found: list[int] = []
    sizes: list[int] = []

    def write(piece: object) -> None:
        assert isinstance(piece, range)
        sizes.append(len(piece))
        found.extend(piece)

    await written(range(2 * PER_PIECE + 1), write)
    assert (sizes, found) == ([PER_PIECE, PER_PIECE, 1], list(range(2 * PER_PIECE + 1)))


async def worked(shared: SharedTurns, address: str, turns: int, done: list[str]) -> None:
    work_for(Caller(shared, address))
    for _ in range(turns):
        await turn()
        done.append(address)


async def test_one_turn_is_given_in_a_pass_however_many_clients_ask() -> None:
    shared, done = SharedTurns(), list[str]()
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(worked(shared, f"10.0.0.{number}", 3, done))
        await asyncio.sleep(0)
        while len(done) < 60:
            before = len(done)
            await asyncio.sleep(0)
            assert len(done) <= before + 1, "other work waits for one turn at most"


async def test_addresses_have_turns_by_turns_however_many_requests_each_has() -> None:
    shared, done = SharedTurns(), list[str]()
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(worked(shared, "many", 2, done))
        group.create_task(worked(shared, "one", 5, done))
    assert [place for place, who in enumerate(done) if who == "one"] == [1, 3, 5, 7, 9]


async def test_a_request_that_is_cancelled_takes_nobodys_turn() -> None:
    shared, done = SharedTurns(), list[str]()
    gone = [asyncio.create_task(worked(shared, "gone", 1, done)) for _ in range(3)]
    left = asyncio.create_task(worked(shared, "left", 1, done))
    await asyncio.sleep(0)
    for one in gone:
        one.cancel()
    await left
    assert done == ["left"]
    await worked(shared, "later", 2, done)
    assert done == ["left", "later", "later"]


async def test_an_answer_has_a_turn_of_its_own_where_its_request_took_turns() -> None:
    shared, waited = SharedTurns(), list[bool]()

    async def request(elements: int) -> None:
        caller = Caller(shared, "a")
        work_for(caller)
        async for _ in in_turns(range(elements)):
            pass
        before = caller.turns
        await answer_turn()
        waited.append(caller.turns > before)

    await asyncio.create_task(request(PER_TURN - 1))
    await asyncio.create_task(request(PER_TURN))
    assert waited == [False, True]


async def test_work_of_the_node_itself_waits_for_no_client() -> None:
    shared, done = SharedTurns(), list[str]()
    clients = [asyncio.create_task(worked(shared, "client", 10, done)) for _ in range(50)]
    await asyncio.sleep(0)
    async for _ in in_turns(range(10 * PER_TURN)):
        pass
    assert len(done) <= 11
    await asyncio.gather(*clients)


async def test_others_have_the_loop_between_turns() -> None:
    seen: list[int] = []
    others: list[int] = []

    async def look() -> None:
        while len(others) < 3:
            others.append(len(seen))
            await asyncio.sleep(0)

    task = asyncio.create_task(look())
    async for item in in_turns(range(2 * PER_TURN + 1)):
        seen += [item]
    assert seen == list(range(2 * PER_TURN + 1))
    await task
    assert others[:2] == [PER_TURN, 2 * PER_TURN]
