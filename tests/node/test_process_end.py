"""The end of a node's process: calls that end are waited for, those that do not end are left."""

from __future__ import annotations

import asyncio

import pytest

from tidelog.node import process


async def test_a_call_that_ends_is_waited_for() -> None:
    async def ends_late() -> None:
        for _ in range(100):
            await asyncio.sleep(0)

    call = asyncio.create_task(ends_late())
    await process._wait_for_calls()
    assert call.done()
    assert not call.cancelled()


async def test_a_call_that_never_ends_holds_the_process_no_longer_than_calls_end_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "CALLS_END_S", 0.001)
    call = asyncio.create_task(asyncio.Event().wait())
    async with asyncio.timeout(3):  # instead of for ever
        await process._wait_for_calls()
    assert not call.done(), "it was not cancelled either: the loop's end does that"
    call.cancel()
