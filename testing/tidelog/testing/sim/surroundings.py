"""The Python process around a simulated test: clocks, chance, threads and sockets, while it runs.

On the thread that runs the seed `time`, `random`, `uuid4` and `os.urandom` follow the seed; what
leaves the simulation is refused in words for the test's author. Other threads of the process get
what was there before, so a `LocalCluster` beside the test goes on in real time. All of it is put
back afterwards.
"""

from __future__ import annotations

import asyncio
import functools
import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, NoReturn
from unittest.mock import patch

from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.testing.sim.errors import OutsideSimulationError

_TURN = threading.RLock()
"""Held by the thread that runs a seed: the stand-ins are one thread's."""


class StandIn(NamedTuple):
    """A function of the process while a seed runs, by the thread that calls it."""

    target: Any  # a module or a class
    name: str
    of_seed: Callable[..., Any]
    of_others: Callable[..., Any]


@contextmanager
def surroundings(seed: int, clock: SimClock) -> Iterator[None]:
    """Let this thread follow `seed` for the block; `clock` is that of code on no loop.

    Waits while another thread runs a seed.
    """
    with _TURN, ExitStack() as stack:
        others = random.Random()  # of a simulation; other threads go on where the process was
        others.setstate(random.getstate())
        random.seed(seed)
        for one in stand_ins(seed, clock, others):
            stack.enter_context(patch.object(one.target, one.name, _by_thread(one)))
        try:
            yield
        finally:
            random.setstate(others.getstate())


def stand_ins(seed: int, clock: SimClock, others: random.Random) -> list[StandIn]:
    """List the stand-ins of a seed; other threads draw from `others`."""
    entropy = random.Random(f"tidelog entropy {seed}")  # of a simulation
    return [*_clocks(clock), *_entropy(entropy), *_chance(others), *_refusals()]


def users_random(seed: int) -> random.Random:
    """Create a source of chance for a test, apart from the process's own."""
    return random.Random(f"tidelog test {seed}")  # of a simulation


def _by_thread(one: StandIn) -> Callable[..., Any]:
    thread_of_seed, of_seed, of_others = threading.get_ident(), one.of_seed, one.of_others

    @functools.wraps(of_others)
    def call(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if threading.get_ident() == thread_of_seed:
            return of_seed(*args, **options)
        return of_others(*args, **options)

    return call


def _clocks(outside: SimClock) -> list[StandIn]:
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
        StandIn(time, "time", wall, time.time),
        StandIn(time, "time_ns", wall_ns, time.time_ns),
        StandIn(time, "monotonic", monotonic, time.monotonic),
        StandIn(time, "monotonic_ns", monotonic_ns, time.monotonic_ns),
        StandIn(time, "perf_counter", monotonic, time.perf_counter),
        StandIn(time, "perf_counter_ns", monotonic_ns, time.perf_counter_ns),
        StandIn(time, "sleep", sleep, time.sleep),
    ]


def _entropy(source: random.Random) -> list[StandIn]:
    # `random` has urandom by a name of its own, for SystemRandom and so for `secrets`
    return [
        StandIn(os, "urandom", source.randbytes, os.urandom),
        StandIn(random, "_urandom", source.randbytes, os.urandom),
    ]


def _chance(others: random.Random) -> list[StandIn]:
    """Functions of `random`: methods of one generator, which is the seed's while it runs."""
    found = {name: vars(random)[name] for name in random.__all__}
    shared = found["random"].__self__
    return [
        StandIn(random, name, function, getattr(others, name))
        for name, function in found.items()
        if getattr(function, "__self__", None) is shared
    ]


def _refusals() -> list[StandIn]:
    def refused(target: type, name: str, words: str) -> StandIn:
        original = getattr(target, name)

        def refuse_inside(*args: Any, **options: Any) -> Any:
            __tracebackhide__ = True
            if isinstance(asyncio._get_running_loop(), NodeLoop):  # noqa: SLF001
                _refuse(words)
            return original(*args, **options)

        return StandIn(target, name, refuse_inside, original)

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
        refused(socket.socket, "connect", network),
        refused(socket.socket, "connect_ex", network),
        refused(socket.socket, "bind", network),
        refused(threading.Thread, "start", thread),
        refused(subprocess.Popen, "__init__", process),
    ]


def _refuse(words: str) -> NoReturn:
    __tracebackhide__ = True
    raise OutsideSimulationError(words)
