"""A stream of Produce requests: started in the order sent, each answered when it is done.

Owns the pending requests of the stream, at most `REQUESTS_MAX`: at the limit, and while the broker
is full, it stops reading, and the client's sends wait. Decides nothing about appends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from tidelog.core.turns import PER_TURN
from tidelog.v1.data_pb2 import ProduceAnswers, ProduceRequest, ProduceResponse

REQUESTS_MAX = 64

Begin = Callable[[ProduceRequest], Awaitable[Coroutine[Any, Any, ProduceResponse]]]
"""Function that returns a request's work once it may start.

Its first step appends to up to `PER_TURN` partitions; a request with more is answered before the
next one starts.
"""


class ProduceStream:
    """Pending requests of one client; `is_full` is true if the broker accepts no more bytes."""

    def __init__(self, begin: Begin, *, is_full: Callable[[], bool]) -> None:
        self._begin = begin
        self._is_full = is_full
        self._working: dict[asyncio.Task[ProduceResponse], None] = {}
        self._done: list[asyncio.Task[ProduceResponse]] = []
        self._progress = asyncio.Event()
        self._room = asyncio.Event()
        self._is_at_end = False

    async def answers(
        self, requests: AsyncIterator[ProduceRequest]
    ) -> AsyncGenerator[ProduceAnswers, None]:
        """Iterate over answers until the stream ends and all are sent. Raises the work's errors."""
        reading = asyncio.create_task(self._read(requests))
        reading.add_done_callback(self._on_end)
        try:
            while self._working or self._done or not self._is_at_end:
                if not self._done:
                    self._progress.clear()
                    await self._progress.wait()
                    continue
                done, self._done = self._done, []
                self._room.set()
                yield ProduceAnswers(answers=[task.result() for task in done])
            reading.result()
        finally:
            for task in (reading, *self._working):
                task.cancel()

    async def _read(self, requests: AsyncIterator[ProduceRequest]) -> None:
        async for request in requests:
            task = asyncio.create_task(await self._begin(request))
            self._working[task] = None
            task.add_done_callback(self._on_done)
            if len(request.partitions) > PER_TURN:
                await asyncio.wait([task])  # it may yield before it has appended everything
            while not self._has_room():
                self._room.clear()
                await self._room.wait()

    def _has_room(self) -> bool:
        """True when another request may be read; always if none is pending: it may be refused."""
        owed = len(self._working) + len(self._done)
        return owed < REQUESTS_MAX and not (self._working and self._is_full())

    def _on_done(self, task: asyncio.Task[ProduceResponse]) -> None:
        del self._working[task]
        if not task.cancelled():
            self._done.append(task)
        self._room.set()
        self._progress.set()

    def _on_end(self, task: asyncio.Task[None]) -> None:
        del task
        self._is_at_end = True
        self._progress.set()
