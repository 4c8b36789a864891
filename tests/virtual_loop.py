"""An event loop on virtual time: the loop of every asynchronous test that does not say otherwise.

When nothing is ready, the clock jumps to the next timer; any other turn of the loop takes `TURN_S`.
A time-out of a minute costs nothing, one of a millisecond is never early, and how busy the machine
is plays no part. No virtual time passes while the loop awaits what it handed to threads.
Sockets and processes of one's own need the machine's clock: mark such tests `real_time`.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple, Unpack

import pytest

from tidelog.core.system import SystemClock

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

TURN_S = 1e-5
"""Virtual seconds of a turn in which something was ready: polling without sleep ends, too."""

EPOCH_S = time.time() - time.monotonic()
"""The wall's time when a loop's was 0."""

_ADVICE = (
    "this test waits for a socket, a pipe or a process, which knows nothing of its virtual time: "
    "mark it `pytest.mark.real_time`"
)
ON_REAL_TIME = ("real_time", "process", "chaos", "spark")
"""Marks of tests whose loop runs on the machine's clock."""


class RealTimeNeededError(Exception):
    """A test on virtual time watches a socket, pipe or process; its message says what to do."""


class _Selector(selectors.DefaultSelector):
    """Waits for threads that the loop awaits, and else jumps to the end of the wait."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = time.monotonic()
        self.in_threads = 0
        """Calls that threads work on for this loop."""
        self.keeps_pace = False
        """Whether time goes by as the machine's."""
        self._is_own_registered = False
        self._refusal: RealTimeNeededError | None = None
        """Ends the run of the loop, wherever it was raised: a callback's would only be logged."""

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """See `selectors.BaseSelector`; the first is the loop's own, through which it is woken."""
        if self._is_own_registered:
            self._refusal = RealTimeNeededError(_ADVICE)
            raise self._refusal
        self._is_own_registered = True
        return super().register(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """See `selectors.BaseSelector`."""
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            raise refusal
        if self.keeps_pace:
            began_s = time.monotonic()
            events = super().select(timeout)
            self.now_s += time.monotonic() - began_s
            return events
        if timeout is None or self.in_threads:
            return super().select(None if self.in_threads and timeout else timeout)
        events = super().select(0)
        if not events:
            self.now_s += timeout or TURN_S
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time begins at the machine's and goes on by what its timers wait for."""

    def __init__(self) -> None:
        self._jumping = _Selector()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds."""
        return self._jumping.now_s

    def keep_pace(self, keeps_pace: bool, /) -> None:
        """Have time go by as the machine's from the next wait on, or jump again."""
        self._jumping.keeps_pace = keeps_pace

    async def subprocess_exec(self, *_: Any, **__: Any) -> Any:  # refused before it starts
        """See `asyncio.AbstractEventLoop`."""
        raise RealTimeNeededError(_ADVICE)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """See `asyncio.AbstractEventLoop`; until the thread is done no virtual time passes."""
        future = super().run_in_executor(executor, func, *args)
        self._jumping.in_threads += 1
        future.add_done_callback(self._returned)
        return future

    def _returned(self, _future: object) -> None:
        self._jumping.in_threads -= 1


def run_virtual(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def is_on_real_time(item: pytest.Item) -> bool:
    """Whether the marks of a test ask for the machine's clock."""
    return any(item.get_closest_marker(mark) for mark in ON_REAL_TIME)


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, type[asyncio.AbstractEventLoop]]:
    """Choose the loop of an asynchronous test."""
    if is_on_real_time(item):
        return {"real": asyncio.SelectorEventLoop}
    return {"virtual": VirtualLoop}


def _virtual_s() -> float | None:
    """Time of the virtual loop that runs in this thread; None without one."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return loop.time() if isinstance(loop, VirtualLoop) else None


@pytest.fixture(autouse=True)
def _system_clock_shows_the_loops_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give code that a virtual loop runs that loop's time, whatever clock it was built with.

    A machine's clock is read once a reading: between two, a busy machine lets time pass.
    """

    def monotonic_s(_: SystemClock) -> float:
        virtual_s = _virtual_s()
        return time.monotonic() if virtual_s is None else virtual_s

    def wall_s(_: SystemClock) -> float:
        virtual_s = _virtual_s()
        return time.time() if virtual_s is None else EPOCH_S + virtual_s

    monkeypatch.setattr(SystemClock, "monotonic_s", monotonic_s)
    monkeypatch.setattr(SystemClock, "monotonic_ms", lambda clock: int(monotonic_s(clock) * 1000))
    monkeypatch.setattr(SystemClock, "wall_ms", lambda clock: int(wall_s(clock) * 1000))
