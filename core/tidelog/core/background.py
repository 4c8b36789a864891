"""Background tasks of a node, whose exceptions end the node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

log = structlog.get_logger(__name__)


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
        """Cancel all running tasks and wait for their end."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)

    async def _guard(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # a task's top
            log.exception("background task failed", task=name)
            self._on_fatal(error)
