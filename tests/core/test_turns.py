"""Requests about many partitions leave the loop to others in between."""

from __future__ import annotations

import asyncio

from tidelog.core.turns import PER_TURN, in_turns


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
