"""The Python process around a simulated test: clocks, chance, threads and sockets, while it runs.

`time`, `random`, `uuid4` and `os.urandom` follow the seed; what leaves the simulation is refused
in words for the test's author. All of it is put back afterwards.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn
from unittest.mock import patch

from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.testing.sim.errors import OutsideSimulationError


@contextmanager
def surroundings(seed: int, clock: SimClock) -> Iterator[None]:
    """Let the process follow `seed` for the block; `clock` is that of code on no loop."""
    state = random.getstate()
    random.seed(seed)
    entropy = random.Random(f"tidelog entropy {seed}")  # of a simulation
    with ExitStack() as stack:
        for target, name, stand_in in (*_clocks(clock), *_entropy(entropy), *_refusals()):
            stack.enter_context(patch.object(target, name, stand_in))
        try:
            yield
        finally:
            random.setstate(state)


def users_random(seed: int) -> random.Random:
    """Create a source of chance for a test, apart from the process's own."""
    return random.Random(f"tidelog test {seed}")  # of a simulation


Patch = tuple[Any, str, Callable[..., Any]]


def _clocks(outside: SimClock) -> list[Patch]:
    def clock() -> SimClock:
        loop = asyncio._get_running_loop()  # noqa: SLF001
        return loop.clock if isinstance(loop, NodeLoop) else outside

    def monotonic() -> float:
        return clock().monotonic_s()

    def monotonic_ns() -> int:
        return int(clock().monotonic_s() * 1_000_000_000)

    def wall() -> float:
        return clock().wall_ms() / 1000

    def wall_ns() -> int:
        return clock().wall_ms() * 1_000_000

    def sleep(seconds: float) -> None:
        loop = asyncio._get_running_loop()  # noqa: SLF001
        if isinstance(loop, NodeLoop):
            loop.stall(seconds)

    return [
        (time, "time", wall),
        (time, "time_ns", wall_ns),
        (time, "monotonic", monotonic),
        (time, "monotonic_ns", monotonic_ns),
        (time, "perf_counter", monotonic),
        (time, "perf_counter_ns", monotonic_ns),
        (time, "sleep", sleep),
    ]


def _entropy(source: random.Random) -> list[Patch]:
    # `random` has urandom by a name of its own, for SystemRandom and so for `secrets`
    return [(os, "urandom", source.randbytes), (random, "_urandom", source.randbytes)]


def _refusals() -> list[Patch]:
    def refused(original: Callable[..., Any], words: str) -> Callable[..., Any]:
        def refuse_inside(*args: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            if isinstance(asyncio._get_running_loop(), NodeLoop):  # noqa: SLF001
                _refuse(words)
            return original(*args, **options)

        return refuse_inside

    network = (
        "a simulated test reaches nothing but Tidelog's brokers, by its async clients: give the "
        "code a stand-in for what it connects to, or use LocalCluster"
    )
    thread = (
        "a thread would run at moments that no seed decides: use the async client in place of "
        "tidelog.client.sync, asyncio.to_thread in place of a pool, or LocalCluster"
    )
    process = "a simulated test starts no processes: use sim.process for a program of yours"
    return [
        (socket.socket, "connect", refused(socket.socket.connect, network)),
        (socket.socket, "connect_ex", refused(socket.socket.connect_ex, network)),
        (socket.socket, "bind", refused(socket.socket.bind, network)),
        (threading.Thread, "start", refused(threading.Thread.start, thread)),
        (subprocess.Popen, "__init__", refused(subprocess.Popen.__init__, process)),
    ]


def _refuse(words: str) -> NoReturn:
    __tracebackhide__ = True
    raise OutsideSimulationError(words)
