"""Worker threads for long computations that must not block a loop.

Only for pure functions over bytes: their codecs let other threads run meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")


class Workers(Protocol):
    """Port for long computations."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work`, at once or after others; return its result or raise its error."""


class InPlace:
    """Workers that run the work in place, where blocking the loop does not matter."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in place; see `Workers`."""
        return work()


class ThreadWorkers:
    """Workers on a limited number of threads."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="worker")

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` on a thread; see `Workers`. Cancelling the wait does not stop running work."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """Stop starting work; running work completes."""
        self._pool.shutdown(wait=False, cancel_futures=True)
