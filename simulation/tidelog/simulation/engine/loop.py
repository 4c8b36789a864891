"""A node's event loop: asyncio's face on the master scheduler.

Owns the node's pending tasks and what was held while it was paused. It never reads a real clock,
never opens a socket, never starts a thread: whatever would, refuses and names the way, a port.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextvars import Context
from typing import Any, NoReturn, Protocol, TypeVar, TypeVarTuple

from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.tasks import SimTask

_TASKS_BEFORE_PRUNING = 256

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
LoopT = TypeVar("LoopT", bound=type)


class LoopScheduler(Protocol):
    """The scheduler as a loop needs it."""

    def add_ready(self, loop: NodeLoop, handle: asyncio.Handle) -> None:
        """Run `handle` after all that is ready now."""

    def add_first(self, loop: NodeLoop, handles: Sequence[asyncio.Handle]) -> None:
        """Run `handles` before all that is ready now."""

    def add_timer(self, virtual_s: float, loop: NodeLoop, handle: asyncio.TimerHandle) -> None:
        """Make `handle` ready at `virtual_s`."""

    def stall(self, loop: NodeLoop, seconds: float) -> None:
        """Step `loop` no more for so long, beginning after the present step."""

    def record_failure(self, node: str, what: str) -> None:
        """Something failed on `node` in a way that must fail the run."""


def refuse_the_rest(
    words: str, error: type[Exception] = NotImplementedError
) -> Callable[[LoopT], LoopT]:
    """Give every method of asyncio's loop contract that a class does not have a refusal.

    `words` say where to go instead; methods of a base class that refuse are refused in these words.
    """

    def refusal(name: str) -> Callable[..., NoReturn]:
        def refuse(*_: object, **__: object) -> NoReturn:
            __tracebackhide__ = True  # of pytest: the caller's line is the one to see
            raise error(f"loop.{name} would leave the simulation: {words}")

        refuse.is_refusal = True  # type: ignore[attr-defined]
        return refuse

    def refuse_in(cls: LoopT) -> LoopT:
        for name, inherited in vars(asyncio.AbstractEventLoop).items():
            own = next((vars(one)[name] for one in cls.__mro__ if name in vars(one)), inherited)
            is_missing = own is inherited or hasattr(own, "is_refusal")
            if callable(inherited) and not name.startswith("__") and is_missing:
                setattr(cls, name, refusal(name))
        return cls

    return refuse_in


@refuse_the_rest("go through a port (Clock, Disk, Peers)")
class NodeLoop(asyncio.AbstractEventLoop):
    """An incarnation of a node. Paused or stalled: its callbacks are held. Dead: dropped."""

    def __init__(self, *, name: str, clock: SimClock, scheduler: LoopScheduler) -> None:
        self.name = name
        self.clock = clock
        self.is_paused = False
        self.stalled_until_s = 0.0
        """In virtual time: something on it waits for a device till then."""
        self.step_cost_s = 0.0
        """Virtual time that every callback takes of this node alone: how slow its processor is."""
        self.is_dead = False
        self.held: deque[asyncio.Handle] = deque()
        self.tasks: list[asyncio.Task[Any]] = []
        self.context = Context()
        """Context in which begins what comes from other nodes; each callback gets a copy."""
        self._scheduler = scheduler
        self._task_count = 0
        self._prune_at = _TASKS_BEFORE_PRUNING

    # What the node's code uses, through asyncio

    def time(self) -> float:
        """The node's own clock, in seconds."""
        return self.clock.monotonic_s()

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Run `callback` after all that is ready now."""
        handle = asyncio.Handle(callback, args, self, context)
        self._scheduler.add_ready(self, handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run `callback` after `delay` seconds of the node's clock."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Run `callback` when the node's clock shows `when`."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._scheduler.add_timer(self.clock.to_virtual_s(when), self, handle)
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, T] | Generator[Any, None, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """A task of this loop."""
        self._task_count += 1
        number = self._task_count
        task: asyncio.Task[T] = SimTask(
            coro,  # type: ignore[arg-type]  # asyncio.Task takes old generators too
            number=number,
            loop=self,
            name=name or f"task-{number}",
            context=context,
        )
        self.tasks.append(task)
        if len(self.tasks) > self._prune_at:
            self._forget_done()
        return task

    def get_debug(self) -> bool:
        """Never: asyncio's debug mode reads the real clock."""
        return False

    def is_running(self) -> bool:
        """True if callbacks run on it."""
        return not self.is_dead

    def is_closed(self) -> bool:
        """True if the node's process is gone."""
        return self.is_dead

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Record an error nobody handled: it fails the run."""
        if not self.is_dead:
            error = context.get("exception")
            self._scheduler.record_failure(self.name, f"{context.get('message')}: {error!r}")

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """The same."""
        self.call_exception_handler(context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Called by asyncio; the scheduler skips cancelled timers by itself."""

    # Used by the scheduler and by clusters

    def pause(self) -> None:
        """Step it no more; what becomes ready is held."""
        self.is_paused = True

    def resume(self) -> None:
        """Step it again: what was held is ready now, in its order."""
        self.is_paused = False
        self.release()

    def stall(self, seconds: float) -> None:
        """Wait on the loop, as a call does that does not await: nothing else runs meanwhile."""
        self._scheduler.stall(self, seconds)

    def release(self) -> None:
        """Make what was held ready; it is held again unless it may run."""
        handles = list(self.held)
        self.held.clear()
        self._scheduler.add_first(self, handles)

    def kill(self) -> None:
        """Drop the process: no callback, no finally block, nothing of it runs any more.

        Its tasks are kept, suspended, until `bury`: closing them would run their finally blocks.
        """
        self.is_dead = True
        self.held.clear()
        for task in self.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001

    def bury(self) -> None:
        """Close the suspended coroutines of a dead loop, so that nothing warns of them later."""
        asyncio._set_running_loop(self)  # noqa: SLF001
        try:
            while self.tasks:
                task = self.tasks.pop()
                task._log_traceback = False  # noqa: SLF001
                _close(task)
                del task  # while the loop is the running one: see `Scheduler._bury`
        finally:
            asyncio._set_running_loop(None)  # noqa: SLF001

    def unseen(self) -> list[str]:
        """Errors of ended tasks that nobody has looked at."""
        return [
            f"{self.name}: task {task.get_name()} failed: {task.exception()!r}"
            for task in self.tasks
            if _is_unseen(task)
        ]

    def _forget_done(self) -> None:
        self.tasks = [task for task in self.tasks if not task.done() or _is_unseen(task)]
        self._prune_at = 2 * len(self.tasks) + _TASKS_BEFORE_PRUNING


def _is_unseen(task: asyncio.Task[Any]) -> bool:
    return bool(task.done() and task._log_traceback)  # noqa: SLF001


def _close(task: asyncio.Task[Any]) -> None:
    coroutine = task.get_coro()
    try:
        if coroutine is not None:
            for unbegun in _handed_to(coroutine):
                unbegun.close()
            coroutine.close()
    except BaseException:  # noqa: BLE001  # the dead may say anything; nobody listens
        pass


def _handed_to(coroutine: object) -> list[Coroutine[Any, Any, Any]]:
    """Coroutines handed to one that never began, and to those: closing it closes none of them."""
    if not inspect.iscoroutine(coroutine) or coroutine.cr_frame is None:
        return []
    if inspect.getcoroutinestate(coroutine) != inspect.CORO_CREATED:
        return []
    handed = [one for one in coroutine.cr_frame.f_locals.values() if inspect.iscoroutine(one)]
    return [further for one in handed for further in (*_handed_to(one), one)]
