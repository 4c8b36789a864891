"""Requests that wait: produce requests for acknowledgement, fetches for records.

Owns who waits on which partition and until when; each request is answered exactly once, by the
event it waits for or by its deadline. Decides nothing about what the answer is.
"""

from __future__ import annotations

import asyncio
from collections import deque

from tidelog.broker.errors import error_message
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error


class DelayedProduce:
    """One produce request; its entries are numbered by the caller."""

    def __init__(self) -> None:
        self._waiting: dict[int, int] = {}
        self._failures: dict[int, Error] = {}
        self._resolved = asyncio.get_running_loop().create_future()

    @property
    def is_over(self) -> bool:
        """Whether it was answered, by whatever event."""
        return self._resolved.done()

    def expect(self, index: int, offset: int) -> None:
        """Entry `index` waits until `offset` (exclusive) is acknowledged."""
        self._waiting[index] = offset

    def resolve(self, index: int, failure: Error | None) -> None:
        """Entry `index` is acknowledged, or failed."""
        if self.is_over:
            return
        del self._waiting[index]
        if failure is not None:
            self._failures[index] = failure
        if not self._waiting:
            self._resolved.set_result(None)

    async def wait(self, timeout_ms: int) -> dict[int, Error]:
        """The entries that failed, those among them that nothing resolved before the deadline."""
        if self._waiting:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    await self._resolved
            except TimeoutError:
                late = {index: _timed_out(offset) for index, offset in self._waiting.items()}
                return self._failures | late
        return self._failures


class OffsetWaiters:
    """Who waits on one partition until an offset is passed, in offset order."""

    def __init__(self) -> None:
        self._queue: deque[tuple[int, DelayedProduce, int]] = deque()

    def add(self, offset: int, produce: DelayedProduce, index: int) -> None:
        """Resolve entry `index` of `produce` once `offset` (exclusive) is reached."""
        while self._queue and self._queue[0][1].is_over:
            self._queue.popleft()
        produce.expect(index, offset)
        self._queue.append((offset, produce, index))

    def complete_up_to(self, offset: int) -> None:
        """Everything below `offset` is acknowledged."""
        while self._queue and self._queue[0][0] <= offset:
            _, produce, index = self._queue.popleft()
            produce.resolve(index, None)

    def fail_all(self, error: Error) -> None:
        """Nothing more is acknowledged here."""
        while self._queue:
            _, produce, index = self._queue.popleft()
            produce.resolve(index, error)


class DelayedFetch:
    """One fetch; partitions that may have news for it wake it, by its own numbers for them."""

    def __init__(self) -> None:
        self._woken: dict[int, None] = {}
        self._signal = asyncio.get_running_loop().create_future()

    def wake(self, index: int) -> None:
        """Partition `index` may have news."""
        self._woken[index] = None
        if not self._signal.done():
            self._signal.set_result(None)

    async def wait(self, timeout_ms: int) -> list[int]:
        """The partitions that woke it since the last call; none at the deadline: the end."""
        if not self._woken:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    await self._signal
            except TimeoutError:
                return []
        self._signal = asyncio.get_running_loop().create_future()
        woken = list(self._woken)
        self._woken.clear()
        return woken


class FetchWaiters:
    """The fetches that wait for news of one partition."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[DelayedFetch, int], None] = {}

    def add(self, fetch: DelayedFetch, index: int) -> None:
        """Wake `fetch` with `index` at each news, until it is discarded."""
        self._waiting[fetch, index] = None

    def discard(self, fetch: DelayedFetch, index: int) -> None:
        """It waits no more."""
        self._waiting.pop((fetch, index), None)

    def wake(self) -> None:
        """There are news."""
        for fetch, index in self._waiting:
            fetch.wake(index)


def _timed_out(offset: int) -> Error:
    return error_message(
        common_pb2.REQUEST_TIMED_OUT,
        f"appended up to offset {offset}, but not acknowledged by the whole ISR in time: "
        "the outcome is unknown",
    )
