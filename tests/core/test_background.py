"""A stop ends in time and says which tasks it did not wait for."""

from __future__ import annotations

import asyncio

import pytest
import structlog
from structlog.testing import capture_logs
from tests.stubborn import Stubborn

from tidelog.core.background import CLOSE_MS_MAX, STOP_MS_MAX, Background, wait_for_tasks

LATE = "stop continues without tasks that do not end"


def no_error(error: BaseException) -> None:
    raise AssertionError(error)


async def test_a_stop_leaves_a_task_that_swallows_its_cancellation_and_names_it() -> None:
    structlog.reset_defaults()
    stubborn, background = Stubborn(), Background(no_error)
    obedient = background.spawn("obedient", asyncio.Event().wait())  # type: ignore[arg-type]
    task = background.spawn("stubborn", stubborn.work())
    await stubborn.began.wait()
    began_s = asyncio.get_running_loop().time()
    with capture_logs() as lines:
        async with asyncio.timeout(3600):
            await background.stop()
    waited_s = asyncio.get_running_loop().time() - began_s

    assert waited_s == pytest.approx(STOP_MS_MAX / 1000, abs=0.1)
    assert obedient.cancelled()
    assert not task.done()
    assert [line["tasks"] for line in lines if line["event"] == LATE] == [["stubborn"]]
    stubborn.released.set()
    await task


async def test_a_stop_waits_for_no_limit_when_all_tasks_end_and_logs_nothing() -> None:
    structlog.reset_defaults()
    background = Background(no_error)
    background.spawn("obedient", asyncio.Event().wait())  # type: ignore[arg-type]
    began_s = asyncio.get_running_loop().time()
    with capture_logs() as lines:
        await asyncio.sleep(0)
        await background.stop()
    assert asyncio.get_running_loop().time() - began_s < 1
    assert lines == []


async def test_a_wait_for_the_disk_ends_at_its_limit_and_cancels_nothing() -> None:
    writing = asyncio.create_task(asyncio.sleep(2 * CLOSE_MS_MAX / 1000))
    async with asyncio.timeout(3600):
        assert not await wait_for_tasks([writing], limit_ms=CLOSE_MS_MAX)
        assert not writing.done()
        assert await wait_for_tasks([writing], limit_ms=2 * CLOSE_MS_MAX)
    assert not writing.cancelled()
