"""The stage itself: virtual time, pause, crash, drift, deadlock, and what may not leave it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest

from tidelog.core.chance import SeededRandom
from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.scheduler import (
    DeadlockError,
    LimitError,
    Scheduler,
    SchedulerLimits,
    UnhandledError,
)
from tidelog.simulation.engine.trace import Trace

pytestmark = pytest.mark.sim


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    scheduler = Scheduler(trace=Trace(), limits=SchedulerLimits(steps=100_000, virtual_s=100_000))
    yield scheduler
    scheduler.close()


async def _tick(seen: list[float], *, every_s: float) -> None:
    while True:
        await asyncio.sleep(every_s)
        seen.append(asyncio.get_running_loop().time())


def test_an_hour_of_sleep_takes_no_time(scheduler: Scheduler) -> None:
    loop = scheduler.new_loop("a")

    async def main() -> float:
        await asyncio.sleep(3600)
        return loop.time()

    assert scheduler.run(loop, main()) == pytest.approx(3600, abs=0.01)


def test_callbacks_run_in_the_order_they_became_ready(scheduler: Scheduler) -> None:
    loops = [scheduler.new_loop(name) for name in "ab"]
    seen: list[str] = []
    for loop in (*loops, *loops):
        loop.call_soon(seen.append, loop.name)

    scheduler.run(loops[0], asyncio.sleep(0))

    assert seen == ["a", "b", "a", "b"]


def test_what_becomes_ready_as_a_stall_ends_runs_behind_what_was_held(
    scheduler: Scheduler,
) -> None:
    driver, node = scheduler.new_loop("driver"), scheduler.new_loop("node")
    seen: list[int] = []

    async def main() -> None:
        node.stall(1.0)
        ends_s = node.stalled_until_s
        for number, at_s in enumerate((ends_s - 0.5, ends_s - 0.25, ends_s, ends_s, ends_s + 0.5)):
            scheduler.deliver_at(node, partial(seen.append, number), at_s)
        await asyncio.sleep(2.0)

    scheduler.run(driver, main())

    assert seen == [0, 1, 2, 3, 4]


def test_a_paused_node_is_not_stepped_and_its_timers_fire_late(scheduler: Scheduler) -> None:
    driver, node = scheduler.new_loop("driver"), scheduler.new_loop("node")
    seen: list[float] = []
    node.create_task(_tick(seen, every_s=1))

    async def main() -> None:
        await asyncio.sleep(1.5)
        node.pause()
        await asyncio.sleep(10)
        assert len(seen) == 1
        node.resume()
        await asyncio.sleep(0.1)
        assert len(seen) == 2

    scheduler.run(driver, main())

    assert seen[1] == pytest.approx(11.5, abs=0.01)


def test_a_crashed_node_runs_nothing_more_not_even_finally(scheduler: Scheduler) -> None:
    driver, node = scheduler.new_loop("driver"), scheduler.new_loop("node")
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(2)
            seen.append("slept")
        finally:
            seen.append("finally")

    async def main() -> None:
        node.create_task(work())
        await asyncio.sleep(1)
        node.kill()
        await asyncio.sleep(10)

    scheduler.run(driver, main())

    assert seen == []


def test_a_drifting_clock_moves_its_own_timers_only(scheduler: Scheduler) -> None:
    driver = scheduler.new_loop("driver")
    node = scheduler.new_loop("node", SimClock(lambda: scheduler.now_s, offset_s=1000))
    seen: list[float] = []
    node.create_task(_tick(seen, every_s=10))

    async def main() -> None:
        await asyncio.sleep(5)
        scheduler.change_rate(node, 2.0)
        await asyncio.sleep(2.4)
        assert seen == []
        await asyncio.sleep(0.2)

    scheduler.run(driver, main())

    assert seen == [pytest.approx(1010, abs=0.01)]
    assert driver.time() == pytest.approx(7.6, abs=0.01)


def test_a_deadlock_names_what_each_task_waits_for(scheduler: Scheduler) -> None:
    loop = scheduler.new_loop("node-1")

    async def wait_for_an_answer() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await wait_for_an_answer()

    with pytest.raises(DeadlockError, match=r"(?s)node-1 .*wait_for_an_answer > Event.wait at lo"):
        scheduler.run(loop, main())


def test_waiting_for_a_paused_node_alone_is_a_deadlock(scheduler: Scheduler) -> None:
    driver, node = scheduler.new_loop("driver"), scheduler.new_loop("node")
    node.create_task(_tick([], every_s=1))
    node.pause()

    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match=r"node \(paused\)"):
        scheduler.run(driver, main())


def test_a_run_is_bounded_in_steps_and_in_virtual_time() -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110  # the point
            await asyncio.sleep(0)

    for limits, main in (
        (SchedulerLimits(steps=1000), spin()),
        (SchedulerLimits(virtual_s=10), _tick([], every_s=1)),
    ):
        scheduler = Scheduler(trace=Trace(), limits=limits)
        with pytest.raises(LimitError):
            scheduler.run(scheduler.new_loop("node"), main)
        scheduler.close()


def test_a_busy_loop_does_not_stop_time(scheduler: Scheduler) -> None:
    loop = scheduler.new_loop("node")

    async def main() -> None:
        deadline = loop.time() + 0.01
        while loop.time() < deadline:  # noqa: ASYNC110  # the point
            await asyncio.sleep(0)

    scheduler.run(loop, main())


def test_an_error_nobody_looks_at_fails_the_run(scheduler: Scheduler) -> None:
    driver, node = scheduler.new_loop("driver"), scheduler.new_loop("node")

    async def fail() -> None:
        raise ValueError("the log is gone")

    node.create_task(fail(), name="flusher")
    with pytest.raises(UnhandledError, match=r"node: task flusher .*the log is gone"):
        scheduler.run(driver, asyncio.sleep(1))


def test_an_error_that_was_handled_does_not(scheduler: Scheduler) -> None:
    loop = scheduler.new_loop("node")

    async def fail() -> None:
        raise ValueError

    async def main() -> None:
        with pytest.raises(ValueError):  # noqa: PT011  # its own
            await asyncio.create_task(fail())

    scheduler.run(loop, main())


def test_an_error_on_a_node_that_crashed_does_not(scheduler: Scheduler) -> None:
    driver, node = scheduler.new_loop("driver"), scheduler.new_loop("node")

    async def fail() -> None:
        raise ValueError

    async def main() -> None:
        node.create_task(fail())
        await asyncio.sleep(1)
        node.kill()

    scheduler.run(driver, main())


@pytest.mark.parametrize(
    "leave",
    [
        lambda: asyncio.to_thread(print),
        lambda: asyncio.open_connection("127.0.0.1", 1),
        lambda: asyncio.create_subprocess_exec("true"),
    ],
)
def test_whatever_would_leave_the_simulation_refuses(scheduler: Scheduler, leave: object) -> None:
    loop = scheduler.new_loop("node")

    async def main() -> None:
        with pytest.raises(NotImplementedError, match="go through a port"):
            await leave()  # type: ignore[operator]

    scheduler.run(loop, main())
    with pytest.raises(NotImplementedError, match="call_soon_threadsafe"):
        loop.call_soon_threadsafe(print)


def test_a_forgotten_async_generator_is_closed_on_its_loop(scheduler: Scheduler) -> None:
    loop = scheduler.new_loop("node")
    closed: list[bool] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    async def main() -> None:
        async for _ in numbers():
            break
        await asyncio.sleep(1)

    scheduler.run(loop, main())

    assert closed == [True]


def test_tasks_in_a_set_are_ordered_by_their_numbers(scheduler: Scheduler) -> None:
    loop = scheduler.new_loop("node")

    async def main() -> list[str]:
        tasks = [asyncio.create_task(asyncio.sleep(1), name=str(n)) for n in range(7)]
        done, _ = await asyncio.wait(tasks)
        return [task.get_name() for task in done]

    assert scheduler.run(loop, main()) == [str(n) for n in range(7)]


def test_random_streams_depend_on_the_seed_and_their_name_alone() -> None:
    first, second = SeededRandom(7), SeededRandom(7)
    fork = first.fork("network")
    first.random()

    assert fork.random() == second.fork("network").random()
    assert fork.random() != second.fork("disk").random()
    assert SeededRandom(1).randbytes(10) != SeededRandom(2).randbytes(10)
    assert {SeededRandom(seed).randrange(3, 6) for seed in range(50)} == {3, 4, 5}
    assert all(0 <= SeededRandom(seed).random() < 1 for seed in range(50))


def test_a_slow_processor_makes_its_own_node_late_and_no_other(scheduler: Scheduler) -> None:
    slow, fast = scheduler.new_loop("slow"), scheduler.new_loop("fast")
    slow.step_cost_s = 0.1

    async def work(loop: NodeLoop) -> float:
        done = [loop.create_task(asyncio.sleep(0)) for _ in range(10)]
        await asyncio.gather(*done)
        return scheduler.now_s

    async def main() -> None:
        began_s = scheduler.now_s
        took = {one: one.create_task(work(one)) for one in (slow, fast)}
        await asyncio.sleep(5)
        assert took[fast].result() - began_s < 0.1
        assert took[slow].result() - began_s > 1.0

    scheduler.run(scheduler.new_loop("main"), main())


@pytest.mark.filterwarnings("error")
def test_work_that_a_task_of_a_dead_node_never_began_is_closed(scheduler: Scheduler) -> None:
    driver, node = scheduler.new_loop("driver"), scheduler.new_loop("node")
    work = asyncio.sleep(0)

    async def guard(work: Coroutine[Any, Any, None]) -> None:
        await work

    async def run() -> None:
        await work

    async def main() -> None:
        node.pause()
        node.create_task(guard(run()))
        await asyncio.sleep(1)
        node.kill()

    scheduler.run(driver, main())
    scheduler.close()

    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED
