"""A client's streams to a broker of the fake cluster: a call for each request."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Protocol

from tidelog.client.errors import CallFailedError, TidelogError
from tidelog.v1 import data_pb2
from tidelog.v1.methods import FETCH, PRODUCE


class Cluster(Protocol):
    """What works on the requests."""

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
            if self._end is None:
                self._answers.append(response)
                self._news.set()


class FakeFetchStream:
    """Remembers what was named; each request is a call of "Fetch" for all of it."""

    def __init__(self, cluster: Cluster, address: str) -> None:
        self._cluster = cluster
        self._address = address
        self._wanted: dict[tuple[str, int], data_pb2.FetchPartition] = {}
        self._answers: asyncio.Queue[data_pb2.FetchResponse | TidelogError] = asyncio.Queue()
        self._working: asyncio.Task[None] | None = None
        self._end: TidelogError | None = None

    async def send(self, request: data_pb2.FetchRequest) -> None:
        if self._end is not None:
            raise self._end
        for gone in request.forgotten:
            self._wanted.pop((gone.topic, gone.partition), None)
        for one in request.partitions:
            self._wanted[one.topic, one.partition] = one
        del request.partitions[:], request.forgotten[:]
        request.partitions.extend(self._wanted.values())
        if self._working is not None and not self._working.done():
            self._working.cancel()
            self._answers.put_nowait(data_pb2.FetchResponse())
        self._working = asyncio.create_task(self._work(request))

    async def receive(self) -> data_pb2.FetchResponse:
        if self._end is None:
            answer = await self._answers.get()
            if not isinstance(answer, TidelogError):
                return answer
            self._end = answer
        raise self._end

    def close(self) -> None:
        if self._end is None:
            self._end = CallFailedError(f"the stream to {self._address} was closed")
            self._answers.put_nowait(self._end)
        if self._working is not None:
            self._working.cancel()

    async def _work(self, request: data_pb2.FetchRequest) -> None:
        try:
            response = await self._cluster.call(self._address, FETCH, request, timeout_ms=0)
        except TidelogError as error:
            self._answers.put_nowait(CallFailedError(f"the stream broke: {error}"))
            return
        for result in response.partitions:
            is_final = result.records or result.error.code or result.HasField("diverging_epoch")
            if is_final:
                self._wanted.pop((result.topic, result.partition), None)
        self._answers.put_nowait(response)
