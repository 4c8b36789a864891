"""Background tasks of a node, whose exceptions end the node, and the bounded waits of its stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from tidelog.core.logs import get_logger

log = get_logger(__name__)

STOP_MS_MAX = 10_000
"""Maximum time that a stop waits for tasks which need no disk."""
CLOSE_MS_MAX = 60_000
"""Maximum time that a stop waits for the disk: to store what is written, and to close files."""


def report_failure(task: asyncio.Task[Any], kind: type[Exception] = Exception) -> None:
    """Done callback of a task that nobody awaits: its error goes to the loop's handler at once.

    That handler ends the node on a broken invariant, see `process`.
    """
    if not task.cancelled() and isinstance(error := task.exception(), kind):
        what = f"task {task.get_name()} failed"
        context = {"message": what, "exception": error, "task": task}
        task.get_loop().call_exception_handler(context)


async def cancel_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:  # Any: results are ignored
    """Cancel tasks and wait for their end as `wait_for_tasks`, ignoring their outcomes."""
    cancelled = list(tasks)
    for task in cancelled:
        task.cancel()
    await wait_for_tasks(cancelled, limit_ms=STOP_MS_MAX)


async def wait_for_tasks(tasks: Iterable[asyncio.Task[Any]], *, limit_ms: int) -> bool:  # as above
    """Wait until all tasks have ended; after `limit_ms` log those that have not, return False.

    A stop then continues without them: the process ends anyway, and a task that heeds no
    cancellation must not keep it from closing the rest.
    """
    waited_for = list(tasks)
    if not waited_for:
        return True
    ended, late = await asyncio.wait(waited_for, timeout=limit_ms / 1000)
    for task in ended:
        _ = task.cancelled() or task.exception()  # retrieved: asyncio logs others
    if late:
        _log_late(sorted(task.get_name() for task in late), limit_ms)
    return not late


async def wait_for_end(ended: Awaitable[object], *, name: str, limit_ms: int) -> None:
    """Wait for `ended`, which the work of this name brings about; on a timeout as above."""
    try:
        async with asyncio.timeout(limit_ms / 1000):
            await ended
    except TimeoutError:
        _log_late([name], limit_ms)


def _log_late(tasks: list[str], limit_ms: int) -> None:
    log.warning("stop continues without tasks that do not end", tasks=tasks, limit_ms=limit_ms)


class Background:
    """Owner of background tasks until they end."""

    def __init__(self, on_fatal: Callable[[BaseException], None]) -> None:
        self._on_fatal = on_fatal
        self._tasks: dict[asyncio.Task[None], None] = {}

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start `work`; an exception is logged and passed to `on_fatal`."""
        task = asyncio.create_task(self._guard(name, work), name=name)
        self._tasks[task] = None
        task.add_done_callback(self._forget)
        # A task cancelled before its first step never started its work.
        task.add_done_callback(lambda _: work.close())
        return task

    async def stop(self) -> None:
        """Cancel all running tasks and wait for their end, at most `STOP_MS_MAX`."""
        await cancel_tasks(self._tasks)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)

    async def _guard(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # a task's top
            log.exception("background task failed", task=name)
            self._on_fatal(error)
