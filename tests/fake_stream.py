"""A client's stream of Produce requests to a broker of the fake cluster: a call for each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from tidelog.client.errors import CallFailedError, TidelogError
from tidelog.v1 import data_pb2
from tidelog.v1.methods import PRODUCE


class Cluster(Protocol):
    """What works on the requests."""

    works_on_after_break: bool
    answer_turns: Callable[[], int]

    async def call(
        self, address: str, method: Any, request: Any, *, timeout_ms: int
    ) -> Any:  # of every method
        ...


class FakeStream:
    """An error of one request breaks it for all."""

    def __init__(self, cluster: Cluster, address: str) -> None:
        self.address = address
        self._cluster = cluster
        self._answers: deque[data_pb2.ProduceResponse] = deque()
        self._news = asyncio.Event()
        self._working: dict[asyncio.Task[None], None] = {}
        self._end: TidelogError | None = None

    async def send(self, request: data_pb2.ProduceRequest) -> None:
        if self._end is not None:
            raise self._end
        task = asyncio.create_task(self._work(request))
        self._working[task] = None
        task.add_done_callback(self._working.pop)

    async def receive(self) -> data_pb2.ProduceAnswers:
        while not self._answers:
            if self._end is not None:
                raise self._end
            self._news.clear()
            await self._news.wait()
        return data_pb2.ProduceAnswers(answers=[self._answers.popleft()])

    def close(self) -> None:
        self.fail(CallFailedError(f"the stream to {self.address} was closed"))
        for task in self._working:
            task.cancel()

    def fail(self, error: TidelogError) -> None:
        """Break it from the broker's side; answers on their way still arrive."""
        if self._end is None:
            self._end = error
            self._news.set()
            if not self._cluster.works_on_after_break:
                for task in self._working:
                    if task is not asyncio.current_task():
                        task.cancel()

    async def _work(self, request: data_pb2.ProduceRequest) -> None:
        try:
            response = await self._cluster.call(self.address, PRODUCE, request, timeout_ms=0)
        except TidelogError as error:
            self.fail(CallFailedError(f"the stream broke: {error}"))
        else:
            response.correlation_id = request.correlation_id
            for _ in range(self._cluster.answer_turns()):
                await asyncio.sleep(0)
            if self._end is None:
                self._answers.append(response)
                self._news.set()
