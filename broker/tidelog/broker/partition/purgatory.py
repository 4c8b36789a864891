"""Delayed requests: appends and deletions wait for in-sync replicas, fetches for records.

Owns the waiting requests of each partition and their deadlines; each is answered exactly once, by
the awaited event or by its deadline. Does not decide about the answer.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from typing import Protocol

from tidelog.core.turns import in_turns
from tidelog.core.wire_errors import error_message
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error

ANSWERED_KEPT = 64
"""Entries of a partition from which on those of answered requests are taken off."""


class OffsetWaiter(Protocol):
    """A request that waits for offsets of partitions, such as a `DelayedAnswer`."""

    @property
    def is_over(self) -> bool:
        """True when it was answered."""

    def expect(self, index: int, offset: int) -> None:
        """Let entry `index` wait for `offset` (exclusive)."""

    def resolve(self, index: int, failure: Error | None) -> None:
        """Complete entry `index`, or fail it."""


class DelayedAnswer:
    """A request that has changed partitions; its entries are numbered by the caller.

    `verb` is the change in messages, such as "appended".
    """

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._waiting: dict[int, int] = {}
        self._failures: dict[int, Error] = {}
        self._are_all_known = False
        self._resolved = asyncio.get_running_loop().create_future()

    @property
    def is_over(self) -> bool:
        """True when the request was answered."""
        return self._resolved.done()

    def expect(self, index: int, offset: int) -> None:
        """Let entry `index` wait until every in-sync replica has reached `offset` (exclusive).

        Call it before `wait`, after which no entry may follow.
        """
        self._waiting[index] = offset

    def resolve(self, index: int, failure: Error | None) -> None:
        """Complete entry `index`, or fail it."""
        if self.is_over:
            return
        del self._waiting[index]
        if failure is not None:
            self._failures[index] = failure
        if self._are_all_known and not self._waiting:
            self._resolved.set_result(None)

    async def wait(self, timeout_ms: int) -> dict[int, Error]:
        """Wait for all entries; return the failed ones, and those unresolved at the deadline."""
        self._are_all_known = True
        if self._waiting:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    await self._resolved
            except TimeoutError:
                late = list(self._waiting.items())
                self._failures |= {
                    index: self._timed_out(offset) async for index, offset in in_turns(late)
                }
        return self._failures

    def _timed_out(self, offset: int) -> Error:
        return error_message(
            common_pb2.REQUEST_TIMED_OUT,
            f"{self._verb} up to offset {offset}, but not on every in-sync replica in time: "
            "the outcome is unknown",
        )


class OffsetWaiters:
    """Entries waiting on one partition for an offset, in offset order.

    Those of answered requests are at most as many as the others, or `ANSWERED_KEPT`.
    """

    def __init__(self) -> None:
        self._queue: deque[tuple[int, OffsetWaiter, int]] = deque()
        self._sweep_at = ANSWERED_KEPT

    def add(self, offset: int, answer: OffsetWaiter, index: int) -> None:
        """Resolve entry `index` of `answer` once `offset` (exclusive) is reached."""
        self._sweep()
        queue = self._queue
        answer.expect(index, offset)
        if not queue or queue[-1][0] <= offset:
            queue.append((offset, answer, index))
        else:
            place = bisect_right(queue, offset, key=lambda waiter: waiter[0])
            queue.insert(place, (offset, answer, index))

    def _sweep(self) -> None:
        """Take off the answered requests, at a constant cost for each entry added."""
        if len(self._queue) >= self._sweep_at:
            self._queue = deque(entry for entry in self._queue if not entry[1].is_over)
            self._sweep_at = max(ANSWERED_KEPT, 2 * len(self._queue))

    def complete_up_to(self, offset: int) -> None:
        """Complete the entries up to `offset`."""
        while self._queue and self._queue[0][0] <= offset:
            _, answer, index = self._queue.popleft()
            answer.resolve(index, None)

    def fail_all(self, error: Error) -> None:
        """Fail all entries."""
        while self._queue:
            _, answer, index = self._queue.popleft()
            answer.resolve(index, error)


class FetchWaiter(Protocol):
    """Partition of a waiting fetch, notified of the partition's news."""

    def wake(self) -> None:
        """Wake the fetch: the records it waits for may be there."""

    def note(self) -> None:
        """Note news for the next answer, without waking the fetch."""


class FetchWaiters:
    """Fetches that wait for news of one partition."""

    def __init__(self) -> None:
        self._waiting: dict[FetchWaiter, None] = {}

    def add(self, waiter: FetchWaiter) -> None:
        """Notify this fetch of news until it is discarded."""
        self._waiting[waiter] = None

    def discard(self, waiter: FetchWaiter) -> None:
        """Stop notifying this fetch."""
        self._waiting.pop(waiter, None)

    def wake(self) -> None:
        """Wake all waiting fetches."""
        for waiter in self._waiting:
            waiter.wake()

    def note(self) -> None:
        """Note news for the next answers."""
        for waiter in self._waiting:
            waiter.note()
