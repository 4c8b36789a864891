"""Runs coroutines for callers without a loop of their own: one thread, one event loop.

Owns that thread; decides nothing. While the caller works on one item, the loop fetches the next.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from types import TracebackType
from typing import Any, TypeVar, cast

Item = TypeVar("Item")

_END = object()


class LoopThread:
    """A loop that runs in a thread of its own between `__enter__` and `__exit__`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="tidelog-loop", daemon=True
        )

    def __enter__(self) -> LoopThread:
        self._thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, Item]) -> Item:  # Any: what it may be sent
        """Wait for the coroutine's result; its exception is raised here."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def iterate(self, items: AsyncGenerator[Item, None]) -> Iterator[Item]:
        """The items of an asynchronous generator, one at a time; closes it at the end."""

        async def advance() -> Item | object:
            return await anext(items, _END)

        try:
            while (item := self.run(advance())) is not _END:
                yield cast("Item", item)  # _END is the only item of another type
        finally:
            self.run(items.aclose())
