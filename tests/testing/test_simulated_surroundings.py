"""What code in a simulated test finds around it: clocks, chance, threads, sockets, processes."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

import pytest
from tests.testing.simulated_runs import error_of, passes, run

from tidelog.client import Producer
from tidelog.client.sync import LoopThread
from tidelog.client.sync import Producer as SyncProducer
from tidelog.testing import OutsideSimulationError, Simulation
from tidelog.testing.cluster_nodes import ClusterNodes
from tidelog.testing.shared_loop import end_given_up

pytestmark = pytest.mark.sim
CLOCKS = (time.time, time.monotonic, time.perf_counter)


def drawn() -> list[object]:
    return [
        *(random.random(), uuid.uuid4(), os.urandom(8), random.SystemRandom().random()),
        *(time.time(), time.time_ns(), time.monotonic_ns(), time.perf_counter_ns()),
    ]


def test_chance_and_clocks_follow_the_seed_and_are_put_back() -> None:
    async def main(sim: Simulation) -> None:
        await asyncio.sleep(1)
        found.append([*drawn(), sim.random.random()])

    found: list[list[object]] = []
    before = [*CLOCKS, os.urandom, threading.Thread.start, socket.socket.connect]
    random.seed(5)
    state = random.getstate()
    passes(main)
    random.seed(6)
    passes(main)
    passes(main, seeds=[7])
    one, again, *_, other, _ = found
    assert one == again
    assert all(mine != its for mine, its in zip(one[:4], other[:4], strict=True))
    random.seed(5)
    assert random.getstate() == state
    passes(main)
    assert random.getstate() == state
    after = [*CLOCKS, os.urandom, threading.Thread.start, socket.socket.connect]
    names = (time.time, time.monotonic, time.perf_counter)
    assert after[3:] == before[3:]
    assert names == CLOCKS


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    """A thread that was there before the seed."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        yield pool


def real_s() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def slept_s() -> float:
    began_s = real_s()
    vars(time)["sleep"](0.001)
    return real_s() - began_s


def distances_s() -> list[float]:
    """How far clocks are from the machine's own."""
    wall_s = time.clock_gettime(time.CLOCK_REALTIME)
    return [
        *(time.time() - wall_s, time.time_ns() / 1e9 - wall_s),
        *(time.monotonic() - real_s(), time.monotonic_ns() / 1e9 - real_s()),
        *(time.perf_counter() - real_s(), time.perf_counter_ns() / 1e9 - real_s()),
    ]


def test_other_threads_keep_their_clocks_and_their_sleep(thread: ThreadPoolExecutor) -> None:
    async def main(sim: Simulation) -> None:
        del sim
        of_others.append(thread.submit(distances_s).result())
        of_seed.append(distances_s())
        await asyncio.sleep(100)
        of_others.append(thread.submit(distances_s).result())
        of_seed.append(distances_s())
        assert thread.submit(slept_s).result() >= 0.001
        thread.submit(threading.Thread(target=int).start).result()

    of_others: list[list[float]] = []
    of_seed: list[list[float]] = []
    passes(main)
    for before, after in zip(*(of_others[n::2] for n in (0, 1)), strict=True):
        assert after == pytest.approx(before, abs=50)
    for before, after in zip(*(of_seed[n::2] for n in (0, 1)), strict=True):
        assert all(later > one + 50 for one, later in zip(before, after, strict=True))


def test_other_threads_draw_on_from_where_the_process_was(thread: ThreadPoolExecutor) -> None:
    async def main(sim: Simulation) -> None:
        del sim
        for n in range(3):
            others.extend(thread.submit(random.randrange, 10**6).result() for _ in range(n))
            of_seed.append((random.randrange(10**6), os.urandom(8)))
            await asyncio.sleep(1)
        entropy.extend(thread.submit(os.urandom, 8).result() for _ in range(2))

    others: list[int] = []
    of_seed: list[tuple[int, bytes]] = []
    entropy: list[bytes] = []
    random.seed(5)
    expected = random.Random(5)
    passes(main)
    assert others == [expected.randrange(10**6) for _ in others]
    assert random.random() == expected.random()
    assert of_seed[:3] == of_seed[3:]
    assert len(set(entropy)) == 4


def test_a_seed_waits_for_that_of_another_thread(thread: ThreadPoolExecutor) -> None:
    async def main(sim: Simulation) -> None:
        del sim
        running.append(threading.get_ident())
        if len(running) == 1:
            other.append(thread.submit(passes, main))
        await asyncio.sleep(1)
        done.append(threading.get_ident())

    running: list[int] = []
    done: list[int] = []
    other: list[Future[Any]] = []
    passes(main)
    other[0].result()
    assert running == done
    assert len(set(running)) == 2
    assert time.monotonic() == pytest.approx(real_s(), abs=50)


def test_a_cluster_that_is_given_up_amid_a_seed_is_ended(thread: ThreadPoolExecutor) -> None:
    async def main(sim: Simulation) -> None:
        del sim
        loop = thread.submit(LoopThread).result()
        end_given_up(loop, cast(ClusterNodes, None))

    passes(main)


@pytest.mark.parametrize("name", ["time", "monotonic", "perf_counter"])
def test_clocks_show_virtual_time(name: str) -> None:
    async def main(sim: Simulation) -> None:
        clock = getattr(time, name)
        began = clock(), sim.now_s, getattr(time, f"{name}_ns")()
        await asyncio.sleep(100)
        elapsed_s = sim.now_s - began[1]
        assert clock() - began[0] == pytest.approx(elapsed_s, abs=0.01)
        assert getattr(time, f"{name}_ns")() - began[2] == pytest.approx(elapsed_s * 1e9, rel=0.01)

    passes(main)


def test_a_blocking_sleep_stalls_its_loop_in_virtual_time() -> None:
    async def main(sim: Simulation) -> None:
        began_s = sim.now_s
        vars(time)["sleep"](50)  # the one of the simulation
        await asyncio.sleep(0)
        assert sim.now_s - began_s == pytest.approx(50, abs=0.1)

    passes(main)


def test_functions_for_threads_run_at_once_and_in_order() -> None:
    async def main(sim: Simulation) -> None:
        del sim
        loop = asyncio.get_running_loop()
        ran: list[int] = []
        first = asyncio.create_task(asyncio.to_thread(ran.append, 1))
        future = loop.run_in_executor(None, ran.append, 2)
        assert ran == [2]
        await first
        await future
        assert ran == [2, 1]
        with pytest.raises(ValueError, match="invalid literal"):
            await asyncio.to_thread(int, "x")
        with pytest.raises(RuntimeError, match="the function raised StopIteration"):
            await asyncio.to_thread(next, iter(()))

        async def coroutine() -> int:
            return 3

        assert await (await loop.run_in_executor(None, coroutine)) == 3
        event = asyncio.Event()
        loop.call_soon_threadsafe(event.set)
        await event.wait()

    passes(main)


async def dial() -> None:
    await asyncio.open_connection("127.0.0.1", 1)


async def serve() -> None:
    await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)


async def connect() -> None:
    socket.create_connection(("127.0.0.1", 1))


async def bind() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))


async def use_thread() -> None:
    threading.Thread(target=print).start()


async def use_pool() -> None:
    ThreadPoolExecutor().submit(print)


async def use_process() -> None:
    subprocess.Popen(["true"])  # noqa: ASYNC220  # it is refused


async def use_async_process() -> None:
    await asyncio.create_subprocess_exec("true")


async def use_sync_client() -> None:
    SyncProducer("node-1:9192")


@pytest.mark.parametrize(
    ("leave", "words"),
    [
        (dial, "reaches nothing but Tidelog's brokers, by its async clients"),
        (serve, "reaches nothing but Tidelog's brokers, by its async clients"),
        (connect, "give the code a stand-in for what it connects to, or use LocalCluster"),
        (bind, "give the code a stand-in for what it connects to, or use LocalCluster"),
        (use_thread, "a thread would run at moments that no seed decides"),
        (use_pool, "asyncio.to_thread in place of a pool"),
        (use_process, "use sim.process for a program of yours"),
        (use_async_process, "give the code a stand-in for whatever else it calls"),
        (use_sync_client, "use the async client in place of tidelog.client.sync"),
    ],
)
def test_what_leaves_the_simulation_is_refused(
    leave: Callable[[], Awaitable[None]], words: str
) -> None:
    async def main(sim: Simulation) -> None:
        del sim
        await leave()

    error = error_of(main)
    assert isinstance(error, OutsideSimulationError)
    assert words in str(error)


def test_a_loop_of_its_own_is_refused_by_asyncio() -> None:
    async def main(sim: Simulation) -> None:
        del sim
        work = asyncio.sleep(1)
        try:
            vars(asyncio)["run"](work)
        finally:
            work.close()

    assert "cannot be called from a running event loop" in str(error_of(main))


def test_asyncios_debug_mode_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(sim: Simulation) -> None:
        await sim.create_topic("t")
        asyncio.get_running_loop().set_debug(True)
        async with Producer(sim.bootstrap) as producer:
            await producer.send("t", value=b"x")
        raise AssertionError

    (plain,) = run(main).failed
    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")
    (debugged,) = run(main).failed
    assert debugged.trace == plain.trace


def test_an_exception_handler_of_the_test_hears_what_nobody_handled() -> None:
    async def main(sim: Simulation) -> None:
        del sim
        heard: list[Any] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: heard.append(context["exception"]))
        assert loop.get_exception_handler() is not None
        loop.call_soon(lambda: 1 // 0)
        await asyncio.sleep(1)
        assert isinstance(heard[0], ZeroDivisionError)

    passes(main)
    assert "ZeroDivisionError" in str(error_of(_fail_in_a_callback))


async def _fail_in_a_callback(sim: Simulation) -> None:
    del sim
    asyncio.get_running_loop().call_soon(lambda: 1 // 0)
    await asyncio.sleep(1)
