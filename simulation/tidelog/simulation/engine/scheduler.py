"""Virtual time: one scheduler steps the loops of all nodes, in one thread, in one order.

Owns the virtual clock, the ready queue and the timer heap. Time advances only when nothing is
ready. Decides whose callback runs next; never what a callback does.

    node      a callback that becomes ready
    running   runs
    paused    is held, and runs after resume (so do timers that fire meanwhile: late)
    stalled   the same, until what its loop waits for is there
    dead      is dropped
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import sys
import warnings
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.run_garbage import RunGarbage
from tidelog.simulation.engine.tasks import describe_tasks
from tidelog.simulation.engine.trace import Trace

# What one callback costs on the virtual clock, so that a busy loop does not stop time.
CALLBACK_COST_S = 1e-6

T = TypeVar("T")


class SimulationError(Exception):
    """The system did what no run may do; the message says what each node was waiting for."""


class DeadlockError(SimulationError):
    """Nothing is ready, no timer is set, and the scenario has not ended."""


class LimitError(SimulationError):
    """The step limit or the virtual time limit was reached before the scenario ended."""


class UnhandledError(SimulationError):
    """A node's task ended with an exception that nobody looked at."""


@dataclass(frozen=True, slots=True)
class SchedulerLimits:
    """Bounds of one run."""

    steps: int = 3_000_000
    virtual_s: float = 300.0


class Scheduler:
    """The master of all node loops. Not reentrant; `close` must follow the last `run`."""

    def __init__(self, *, trace: Trace, limits: SchedulerLimits | None = None) -> None:
        self.now_s = 0.0
        self.trace = trace
        self.steps = 0
        self.after_step: Callable[[], None] | None = None
        """Called after each step, while the loop that was stepped is the running one."""
        self._limits = limits or SchedulerLimits()
        self._garbage = RunGarbage()
        self._ready: deque[tuple[NodeLoop, asyncio.Handle]] = deque()
        self._timers: list[tuple[float, int, NodeLoop, asyncio.Handle]] = []
        self._sequence = 0
        self._loops: list[NodeLoop] = []
        self._own = self.new_loop("scheduler")
        """Runs what belongs to no node."""
        self._failures: list[str] = []

    def new_loop(
        self, name: str, clock: SimClock | None = None, *, kind: type[NodeLoop] = NodeLoop
    ) -> NodeLoop:
        """A loop for a node's process; a restarted node gets a new one and keeps its clock."""
        clock = clock or SimClock(lambda: self.now_s)
        loop = kind(name=name, clock=clock, scheduler=self)
        self._loops.append(loop)
        return loop

    def run(self, loop: NodeLoop, main: Coroutine[Any, Any, T]) -> T:
        """Step all nodes until `main`, run as a task of `loop`, has ended; its result.

        Errors: what `main` raised; `DeadlockError`, `LimitError`, `UnhandledError`.
        """
        task = loop.create_task(main, name="scenario")
        with _own_process_state():
            while not task.done():
                self._step()
        error = task.exception()
        failures = self.failures()
        if failures:
            raise UnhandledError("\n".join([*map(repr, filter(None, [error])), *failures]))
        return task.result()

    def failures(self) -> list[str]:
        """Errors of callbacks and of tasks nobody looked at, on nodes that have not crashed."""
        unseen = [failure for loop in self._loops if not loop.is_dead for failure in loop.unseen()]
        return self._failures + unseen

    def close(self) -> None:
        """Drop all tasks. What their finally blocks do reaches dead loops only, unheard."""
        for loop in self._loops:
            loop.kill()
        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        try:
            with warnings.catch_warnings():
                # of coroutines that finally blocks began, and that nobody runs any more
                warnings.simplefilter("ignore", RuntimeWarning)
                self._bury()
        finally:
            sys.unraisablehook = hook

    def _bury(self) -> None:
        for loop in self._loops:
            loop.bury()
        # A task that catches whatever ends it, and goes on, is freed at its next await: it must
        # come to one, and without a running loop `asyncio.sleep` raises what it catches for ever.
        asyncio._set_running_loop(self._own)  # noqa: SLF001
        try:
            self._loops.clear()
            self._ready.clear()
            self._timers.clear()
            self._garbage.collect()
        finally:
            asyncio._set_running_loop(None)  # noqa: SLF001

    # What the loops call

    def add_ready(self, loop: NodeLoop, handle: asyncio.Handle) -> None:
        """Run `handle` after all that is ready now."""
        self._ready.append((loop, handle))

    def add_first(self, loop: NodeLoop, handles: Sequence[asyncio.Handle]) -> None:
        """Run `handles` before all that is ready now: they became ready earlier."""
        self._ready.extendleft((loop, handle) for handle in reversed(handles))

    def add_timer(self, virtual_s: float, loop: NodeLoop, handle: asyncio.TimerHandle) -> None:
        """Make `handle` ready at `virtual_s`; equal times keep the order of the calls."""
        self._push(virtual_s, loop, handle)

    def deliver(
        self, loop: NodeLoop, callback: Callable[[], None], *, delay_s: float
    ) -> asyncio.Handle:
        """Run `callback` on another node's loop after `delay_s` virtual seconds."""
        return self.deliver_at(loop, callback, self.now_s + delay_s)

    def deliver_at(
        self, loop: NodeLoop, callback: Callable[[], None], at_s: float
    ) -> asyncio.Handle:
        """Run `callback` on another node's loop; callbacks of the same time keep their order."""
        handle = asyncio.Handle(callback, (), loop, loop.context.copy())
        self._push(at_s, loop, handle)
        return handle

    def stall(self, loop: NodeLoop, seconds: float) -> None:
        """Step `loop` no more for so long, beginning after the present step."""
        loop.stalled_until_s = max(loop.stalled_until_s, self.now_s) + seconds
        self._push(loop.stalled_until_s, self._own, asyncio.Handle(loop.release, (), self._own))

    def change_rate(self, loop: NodeLoop, rate: float) -> None:
        """Let the node's clock drift: its pending timers fire when its own clock says so."""
        loop.clock.set_rate(rate)
        self._timers = [
            (loop.clock.to_virtual_s(handle.when()), sequence, owner, handle)
            if owner is loop and isinstance(handle, asyncio.TimerHandle)
            else (at_s, sequence, owner, handle)
            for at_s, sequence, owner, handle in self._timers
        ]
        heapq.heapify(self._timers)

    def record_failure(self, node: str, what: str) -> None:
        """Something failed on `node` in a way that must fail the run."""
        self._failures.append(f"{node} at {self.now_s:.3f} s: {what}")

    def _push(self, virtual_s: float, loop: NodeLoop, handle: asyncio.Handle) -> None:
        self._sequence += 1
        heapq.heappush(self._timers, (virtual_s, self._sequence, loop, handle))

    # One step

    def _step(self) -> None:
        loop, handle = self._next()
        self.steps += 1
        if self.steps > self._limits.steps:
            raise LimitError(self._report(f"{self._limits.steps} steps"))
        asyncio._set_running_loop(loop)  # noqa: SLF001  # what every event loop does
        handle._run()  # noqa: SLF001
        if self.after_step is not None:
            self.after_step()
        self.now_s += CALLBACK_COST_S
        if loop.step_cost_s:
            self.stall(loop, loop.step_cost_s)

    def _next(self) -> tuple[NodeLoop, asyncio.Handle]:
        while True:
            self._wake_due()
            if not self._ready:
                self._advance()
                continue
            loop, handle = self._ready.popleft()
            # Behind what is held until its release, too: callbacks of a loop keep their order.
            is_held = loop.is_paused or loop.stalled_until_s > self.now_s or loop.held
            if is_held and not loop.is_dead:
                loop.held.append(handle)
            elif not loop.is_dead and not handle.cancelled():
                return loop, handle

    def _wake_due(self) -> None:
        timers = self._timers
        while timers and timers[0][0] <= self.now_s:
            _, _, loop, handle = heapq.heappop(timers)
            if not loop.is_dead and not handle.cancelled():
                self.trace.record(self.now_s, "timer", loop.name)
                self._ready.append((loop, handle))

    def _advance(self) -> None:
        timers = self._timers
        while timers and (timers[0][2].is_dead or timers[0][3].cancelled()):
            heapq.heappop(timers)
        if not timers:
            raise DeadlockError(self._report("nothing is ready and no timer is set"))
        self.now_s = timers[0][0]
        if self.now_s > self._limits.virtual_s:
            raise LimitError(self._report(f"{self._limits.virtual_s} virtual seconds"))

    def _report(self, reason: str) -> str:
        lines = [f"{reason}, and the scenario has not ended", *self.failures()]
        for loop in self._loops:
            if not loop.is_dead:
                is_stalled = loop.stalled_until_s > self.now_s
                state = "paused" if loop.is_paused else "stalled" if is_stalled else "running"
                lines.append(f"{loop.name} ({state}):")
                lines += describe_tasks(loop.tasks)
        return "\n".join(lines)


@contextmanager
def _own_process_state() -> Iterator[None]:
    """Keep state that is global in the process from leaking into the run, or out of it.

    Collecting garbage closes forgotten coroutines at moments no seed decides, so it is off.
    """
    old_hooks = sys.get_asyncgen_hooks()
    had_gc = gc.isenabled()
    gc.disable()
    sys.set_asyncgen_hooks(firstiter=None, finalizer=_close_forgotten)
    try:
        yield
    finally:
        asyncio._set_running_loop(None)  # noqa: SLF001
        sys.set_asyncgen_hooks(*old_hooks)
        if had_gc:
            gc.enable()


def _close_forgotten(generator: AsyncGenerator[object, None]) -> None:
    loop = asyncio._get_running_loop()  # noqa: SLF001
    if isinstance(loop, NodeLoop) and not loop.is_dead:
        loop.create_task(generator.aclose(), name="aclose")
