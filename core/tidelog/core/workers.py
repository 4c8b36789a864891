"""Work that takes a processor for long and is to hold up no loop: a few threads of its own.

For pure functions over bytes alone: the codecs they call let other threads run meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")


class Workers(Protocol):
    """Port: where long work is done."""

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, begun at once or when others are done; raises what it raises."""


class InPlace:
    """Does it where it is asked: for what has no other loop to spare."""

    async def run(self, work: Callable[[], T]) -> T:
        """See `Workers`."""
        return work()


class ThreadWorkers:
    """So many at one time."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="worker")

    async def run(self, work: Callable[[], T]) -> T:
        """See `Workers`. Who gives up waiting does not end work that has begun."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """Begin nothing more; what runs ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)
