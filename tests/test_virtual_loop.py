"""The loop of asynchronous tests: virtual time, threads that are awaited, and what it refuses."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest

from tests.virtual_loop import RealTimeNeededError, VirtualLoop, run_virtual
from tidelog.core.system import SystemClock

HOUR_S = 3600.0


async def test_an_hour_takes_no_time_and_every_clock_says_that_it_passed() -> None:
    loop, clock, began_s = asyncio.get_running_loop(), SystemClock(), time.monotonic()
    before = (loop.time(), clock.monotonic_s(), clock.monotonic_ms() / 1000, clock.wall_ms() / 1000)

    await asyncio.sleep(HOUR_S)

    after = (loop.time(), clock.monotonic_s(), clock.monotonic_ms() / 1000, clock.wall_ms() / 1000)
    assert [now - then for then, now in zip(before, after, strict=True)] == pytest.approx(
        [HOUR_S] * 4, abs=60
    )
    assert time.monotonic() - began_s < HOUR_S / 10


async def test_a_millisecond_is_never_early_however_much_there_is_to_do() -> None:
    order: list[str] = []

    async def work() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
            sum(range(20_000))
        order.append("work")

    async def wait() -> None:
        await asyncio.sleep(0.001)
        order.append("a millisecond")

    await asyncio.gather(wait(), work())

    assert order == ["work", "a millisecond"]


async def test_polling_without_sleep_comes_to_its_time_out() -> None:
    async def poll() -> None:
        while True:  # noqa: ASYNC110  # that is the point
            await asyncio.sleep(0)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(poll(), 0.05)


async def test_a_thread_that_is_awaited_is_not_overtaken_by_a_time_out() -> None:
    may_end = threading.Event()
    threading.Timer(0.05, may_end.set).start()

    async with asyncio.timeout(0.001):
        assert await asyncio.to_thread(may_end.wait, 60)


async def test_a_loop_that_keeps_pace_lets_a_thread_come_before_a_timer_of_an_hour() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.keep_pace(True)
    has_come = asyncio.Event()
    threading.Timer(0.05, loop.call_soon_threadsafe, (has_come.set,)).start()

    async with asyncio.timeout(3_600):
        await has_come.wait()

    loop.keep_pace(False)
    await asyncio.sleep(3_600)


def test_what_waits_for_a_socket_is_told_to_be_marked() -> None:
    ours, theirs = socket.socketpair()

    async def read() -> None:
        asyncio.get_running_loop().add_reader(ours, lambda: None)

    with ours, theirs, pytest.raises(RealTimeNeededError, match="real_time"):
        run_virtual(read())


def test_a_process_is_refused_before_it_starts() -> None:
    async def run() -> None:
        process = await asyncio.create_subprocess_exec("true", stdout=asyncio.subprocess.PIPE)
        await process.wait()

    with pytest.raises(RealTimeNeededError, match="real_time"):
        run_virtual(run())


@pytest.mark.real_time
async def test_a_test_so_marked_runs_on_the_machines_clock() -> None:
    loop = asyncio.get_running_loop()
    assert not isinstance(loop, VirtualLoop)
    assert SystemClock().monotonic_s() == pytest.approx(time.monotonic(), abs=60)
