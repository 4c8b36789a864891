"""A client's way to its brokers: counts calls, holds them up, loses them, refuses them.

Brokers answer behind it; of what they mean it knows only how each method names an error.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tidelog.client.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.net.transport import Transport
from tidelog.v1 import common_pb2, data_pb2
from tidelog.v1.common_pb2 import Error, ErrorCode
from tidelog.v1.methods import FETCH_STREAM, GROUP_STREAM, PRODUCE_STREAM, Method, Request, Response


@dataclass
class Mishap:
    """Strike the next calls of a method: an error before or after the work, or a refusal."""

    name: str
    error: TidelogError | None = None
    code: ErrorCode = common_pb2.NONE
    """The answer in place of the broker's, which is not asked."""
    is_after_work: bool = False
    times: int = 1


class Meddler:
    """A `Transport` before another. A request on a stream is a call of "Produce" or "Fetch"."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.calls: list[tuple[str, str, Any]] = []  # requests of every type
        """Calls that reached a broker, or a mishap: address, method, request."""
        self.cut_off: set[str] = set()
        """Addresses that clients cannot reach."""
        self.mishaps: deque[Mishap] = deque()
        self.before_answer: Callable[[str], None] = lambda _: None
        """Called with the method when the work of a call is done."""
        self.spoil: Callable[[str, Any], None] = lambda _method, _answer: None
        """Called with the method and each answer on its way, which it may change."""
        self.streams: list[MeddledProduceStream] = []
        self.group_streams: list[Any] = []
        self.works_on_after_break = False
        """Whether a broker works on what came on a stream that broke."""
        self.answer_turns: Callable[[], int] = lambda: 0
        """Turns of the loop that an answer takes on a produce stream."""
        self.gates: dict[str, asyncio.Event] = {}
        """Calls to an address wait for its event."""
        self.held: dict[tuple[str, str], asyncio.Event] = {}
        """Answers of an address to a method, but to Produce, wait for its event."""
        self.in_flight: dict[str, int] = {}
        """Produce requests by address."""
        self.most_in_flight = 0

    def requests(self, method: str) -> list[Any]:
        """Requests of a method, in order."""
        return [request for _, name, request in self.calls if name == method]

    async def call(
        self, address: str, method: Method[Request, Response], request: Request, *, timeout_ms: int
    ) -> Response:
        """See `Transport`."""
        await asyncio.sleep(0)
        mishap = await self.begin(address, method.name, request)
        if mishap is not None and mishap.code != common_pb2.NONE:
            response = refusal(method, request, mishap.code)
        else:
            response = await self._transport.call(address, method, request, timeout_ms=timeout_ms)
        await self.hold(address, method.name)
        self.finish(address, method.name, mishap)
        self.spoil(method.name, response)
        return response

    async def open_stream(self, address: str, method: Method[Any, Any]) -> Any:  # of either kind
        """See `Transport`."""
        await asyncio.sleep(0)
        self._check_reaches(address)
        stream = await self._transport.open_stream(address, method)
        if method is FETCH_STREAM:
            return MeddledFetchStream(self, address, stream)
        if method is GROUP_STREAM:
            self.group_streams.append(stream)
            return stream
        assert method is PRODUCE_STREAM
        meddled = MeddledProduceStream(self, address, stream)
        self.streams.append(meddled)
        return meddled

    # For streams, too

    async def begin(self, address: str, name: str, request: Any) -> Mishap | None:
        """Note a call, and raise what strikes it before the work."""
        gate = self.gates.get(address)
        if gate is not None:
            await gate.wait()
        self._check_reaches(address)
        self.calls.append((address, name, request))
        mishap = self._next_mishap(name)
        if mishap is not None and mishap.error is not None and not mishap.is_after_work:
            raise mishap.error
        return mishap

    async def hold(self, address: str, name: str) -> None:
        """Wait until an answer may be told."""
        held = self.held.get((address, name))
        if held is not None:
            await held.wait()

    def finish(self, address: str, name: str, mishap: Mishap | None) -> None:
        """Raise what strikes a call after the work."""
        self.before_answer(name)
        if address in self.cut_off:
            raise CallFailedError(f"{address} went away")
        if mishap is not None and mishap.error is not None:
            raise mishap.error

    def count_in_flight(self, address: str, change: int) -> None:
        """Count a Produce that begins or ends."""
        self.in_flight[address] = self.in_flight.get(address, 0) + change
        self.most_in_flight = max(self.most_in_flight, self.in_flight[address])

    def _check_reaches(self, address: str) -> None:
        if address in self.cut_off:
            raise UnreachableError(f"no broker answers at {address}")

    def _next_mishap(self, name: str) -> Mishap | None:
        for mishap in self.mishaps:
            if mishap.name == name:
                mishap.times -= 1
                if not mishap.times:
                    self.mishaps.remove(mishap)
                return mishap
        return None


class MeddledProduceStream:
    """An error of one request breaks it for all; answers may overtake each other."""

    def __init__(self, meddler: Meddler, address: str, stream: Any) -> None:
        self.address = address
        self._meddler = meddler
        self._stream = stream
        self._arrived: deque[data_pb2.ProduceResponse] = deque()
        self._news = asyncio.Event()
        self._waiting: dict[int, asyncio.Future[data_pb2.ProduceResponse]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._end: TidelogError | None = None
        self._begin(self._read())

    async def send(self, request: data_pb2.ProduceRequest) -> None:
        """See `Stream`."""
        if self._end is not None:
            raise self._end
        self._begin(self._work(request))

    async def receive(self) -> data_pb2.ProduceAnswers:
        """See `Stream`."""
        while not self._arrived:
            if self._end is not None:
                raise self._end
            self._news.clear()
            await self._news.wait()
        return data_pb2.ProduceAnswers(answers=[self._arrived.popleft()])

    def close(self) -> None:
        """See `Stream`."""
        self._break(CallFailedError(f"the stream to {self.address} was closed"))
        self._drop()

    def fail(self, error: TidelogError) -> None:
        """Break it on the way; answers that left already still arrive."""
        self._break(error)
        if not self._meddler.works_on_after_break:
            self._drop()

    def _break(self, error: TidelogError) -> None:
        if self._end is None:
            self._end = error
            self._news.set()

    def _drop(self) -> None:
        self._stream.close()
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self) -> None:
        try:
            while True:
                for answer in (await self._stream.receive()).answers:
                    self._waiting.pop(answer.correlation_id).set_result(answer)
        except TidelogError as error:
            self.fail(error)

    async def _work(self, request: data_pb2.ProduceRequest) -> None:
        is_counted = False
        try:
            mishap = await self._meddler.begin(self.address, "Produce", request)
            self._meddler.count_in_flight(self.address, 1)
            is_counted = True
            response = await self._answer(request, mishap)
            self._meddler.count_in_flight(self.address, -1)
            is_counted = False
            self._meddler.finish(self.address, "Produce", mishap)
        except TidelogError as error:
            self.fail(CallFailedError(f"the stream broke: {error}"))
            return
        finally:
            if is_counted:
                self._meddler.count_in_flight(self.address, -1)
        for _ in range(self._meddler.answer_turns()):
            await asyncio.sleep(0)
        if self._end is None:
            self._arrived.append(response)
            self._news.set()

    async def _answer(
        self, request: data_pb2.ProduceRequest, mishap: Mishap | None
    ) -> data_pb2.ProduceResponse:
        number = request.correlation_id
        if mishap is not None and mishap.code != common_pb2.NONE:
            response = data_pb2.ProduceResponse()
            _refuse_partitions(response, request.partitions, mishap.code)
            response.correlation_id = number
            return response
        answered: asyncio.Future[data_pb2.ProduceResponse]
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._stream.send(request)
        return await answered


class MeddledFetchStream:
    """Each request notes in `calls` all partitions that wait, as if it named them."""

    def __init__(self, meddler: Meddler, address: str, stream: Any) -> None:
        self._meddler = meddler
        self._address = address
        self._stream = stream
        self._wanted: dict[tuple[str, int], data_pb2.FetchPartition] = {}
        self._arrived: asyncio.Queue[data_pb2.FetchResponse | TidelogError] = asyncio.Queue()
        self._end: TidelogError | None = None
        self._mishap: Mishap | None = None
        self._reader = asyncio.create_task(self._read())
        self._work: asyncio.Task[None] | None = None

    async def send(self, request: data_pb2.FetchRequest) -> None:
        """See `Stream`."""
        if self._end is not None:
            raise self._end
        for gone in request.forgotten:
            self._wanted.pop((gone.topic, gone.partition), None)
        for one in request.partitions:
            self._wanted[one.topic, one.partition] = one
        noted = data_pb2.FetchRequest()
        noted.CopyFrom(request)
        del noted.partitions[:], noted.forgotten[:]
        noted.partitions.extend(self._wanted.values())
        sent = data_pb2.FetchRequest()
        sent.CopyFrom(request)
        before, self._work = self._work, asyncio.create_task(self._send(noted, sent, self._work))
        del before

    async def receive(self) -> data_pb2.FetchResponse:
        """See `Stream`."""
        if self._end is None:
            answer = await self._arrived.get()
            if not isinstance(answer, TidelogError):
                return answer
            self._end = answer
        raise self._end

    def close(self) -> None:
        """See `Stream`."""
        self._fail(CallFailedError(f"the stream to {self._address} was closed"))

    def _fail(self, error: TidelogError) -> None:
        self._arrived.put_nowait(error)
        self._stream.close()
        for task in (self._reader, self._work):
            if task is not None and task is not asyncio.current_task():
                task.cancel()

    async def _send(
        self,
        noted: data_pb2.FetchRequest,
        sent: data_pb2.FetchRequest,
        before: asyncio.Task[None] | None,
    ) -> None:
        try:
            if before is not None:
                await before
            mishap = await self._meddler.begin(self._address, "Fetch", noted)
            if mishap is not None and mishap.code != common_pb2.NONE:
                response = data_pb2.FetchResponse()
                _refuse_partitions(response, noted.partitions, mishap.code)
                self._wanted.clear()
                self._arrived.put_nowait(response)
                return
            self._mishap = mishap
            await self._stream.send(sent)
        except TidelogError as error:
            self._fail(CallFailedError(f"the stream broke: {error}"))

    async def _read(self) -> None:
        try:
            while True:
                response = await self._stream.receive()
                for one in response.partitions:
                    if one.records or one.error.code or one.HasField("diverging_epoch"):
                        self._wanted.pop((one.topic, one.partition), None)
                mishap, self._mishap = self._mishap, None
                await self._meddler.hold(self._address, "Fetch")
                self._meddler.finish(self._address, "Fetch", mishap)
                self._meddler.spoil("Fetch", response)
                self._arrived.put_nowait(response)
        except TidelogError as error:
            self._fail(CallFailedError(f"the stream broke: {error}"))


def refusal(method: Method[Any, Response], request: Any, code: ErrorCode) -> Response:
    """The answer that refuses all that a request asks for."""
    response: Any = method.response_type()
    error = Error(code=code, message="a mishap")
    match method.name:
        case "InitProducerId":
            response.producer_id = -1
            response.error.CopyFrom(error)
        case "ListOffsets" | "DeleteRecords" | "Produce" | "Fetch":
            _refuse_partitions(response, request.partitions, code)
        case "Metadata":
            for name in request.topics:
                response.topics.add(name=name, error=error)
        case "DeleteTopics":
            for name in request.names:
                response.topics.add(name=name, error=error)
        case "CreateTopics" | "CreatePartitions":
            for topic in request.topics:
                response.topics.add(name=topic.name, error=error)
        case _:
            response.error.CopyFrom(error)
    return response  # type: ignore[no-any-return]  # as the method has it


def _refuse_partitions(response: Any, partitions: Any, code: ErrorCode) -> None:
    for one in partitions:
        result = response.partitions.add(topic=one.topic, partition=one.partition)
        result.error.code = code
        if isinstance(response, data_pb2.ProduceResponse):
            result.base_offset = -1
