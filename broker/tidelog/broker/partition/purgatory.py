"""Requests that wait: appends and deletions for the in-sync replicas, fetches for records.

Owns who waits on which partition and until when; each request is answered exactly once, by the
event it waits for or by its deadline. Decides nothing about what the answer is.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from typing import Protocol

from tidelog.core.wire_errors import error_message
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error


class DelayedAnswer:
    """One request that has changed partitions; its entries are numbered by the caller.

    `verb` says what became of the records, such as "appended".
    """

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._waiting: dict[int, int] = {}
        self._failures: dict[int, Error] = {}
        self._are_all_known = False
        self._resolved = asyncio.get_running_loop().create_future()

    @property
    def is_over(self) -> bool:
        """Whether it was answered, by whatever event."""
        return self._resolved.done()

    def expect(self, index: int, offset: int) -> None:
        """Entry `index` waits until every in-sync replica has come to `offset` (exclusive).

        Before `wait`: that says that no entry will follow.
        """
        self._waiting[index] = offset

    def resolve(self, index: int, failure: Error | None) -> None:
        """Entry `index` is done, or failed."""
        if self.is_over:
            return
        del self._waiting[index]
        if failure is not None:
            self._failures[index] = failure
        if self._are_all_known and not self._waiting:
            self._resolved.set_result(None)

    async def wait(self, timeout_ms: int) -> dict[int, Error]:
        """The entries that failed, those among them that nothing resolved before the deadline."""
        self._are_all_known = True
        if self._waiting:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    await self._resolved
            except TimeoutError:
                late = {index: self._timed_out(offset) for index, offset in self._waiting.items()}
                return self._failures | late
        return self._failures

    def _timed_out(self, offset: int) -> Error:
        return error_message(
            common_pb2.REQUEST_TIMED_OUT,
            f"{self._verb} up to offset {offset}, but not on every in-sync replica in time: "
            "the outcome is unknown",
        )


class OffsetWaiters:
    """Who waits on one partition until an offset is reached, in offset order."""

    def __init__(self) -> None:
        self._queue: deque[tuple[int, DelayedAnswer, int]] = deque()

    def add(self, offset: int, answer: DelayedAnswer, index: int) -> None:
        """Resolve entry `index` of `answer` once `offset` (exclusive) is reached."""
        queue = self._queue
        while queue and queue[0][1].is_over:
            queue.popleft()
        answer.expect(index, offset)
        if not queue or queue[-1][0] <= offset:
            queue.append((offset, answer, index))
        else:
            place = bisect_right(queue, offset, key=lambda waiter: waiter[0])
            queue.insert(place, (offset, answer, index))

    def complete_up_to(self, offset: int) -> None:
        """Everything below `offset` is done."""
        while self._queue and self._queue[0][0] <= offset:
            _, answer, index = self._queue.popleft()
            answer.resolve(index, None)

    def fail_all(self, error: Error) -> None:
        """Nothing more comes to its end here."""
        while self._queue:
            _, answer, index = self._queue.popleft()
            answer.resolve(index, error)


class FetchWaiter(Protocol):
    """One partition of a fetch, told of the partition's news."""

    def wake(self) -> None:
        """There may be what it waits for."""

    def note(self) -> None:
        """There is something to tell with the next answer, no reason for one."""


class FetchWaiters:
    """The fetches that wait for news of one partition."""

    def __init__(self) -> None:
        self._waiting: dict[FetchWaiter, None] = {}

    def add(self, waiter: FetchWaiter) -> None:
        """Tell it of each news, until it is discarded."""
        self._waiting[waiter] = None

    def discard(self, waiter: FetchWaiter) -> None:
        """It waits no more."""
        self._waiting.pop(waiter, None)

    def wake(self) -> None:
        """There are news."""
        for waiter in self._waiting:
            waiter.wake()

    def note(self) -> None:
        """There is something to tell with the next answer."""
        for waiter in self._waiting:
            waiter.note()
