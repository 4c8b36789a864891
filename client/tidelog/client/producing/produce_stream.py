"""A producer's streams of requests, one to each broker: sent in order, answered in any.

Owns which request an answer is for, and a stream's end: it breaks, or a request on it is overdue
and is given up. Its outcome is then unknown, and so is that of every other one without an answer,
for nobody tells on which of them the broker still works. A new stream begins with the next request.
Retries nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidelog.client.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.net.transport import Stream, Transport
from tidelog.v1.data_pb2 import ProduceAnswers, ProduceRequest, ProduceResponse
from tidelog.v1.methods import PRODUCE_STREAM

Waiter = asyncio.Future[ProduceResponse]


class ProduceStreams:
    """Those of one producer, each opened when it is first needed; `on_open` is called then."""

    def __init__(self, transport: Transport, *, on_open: Callable[[], None]) -> None:
        self._transport = transport
        self._on_open = on_open
        self._brokers: dict[str, _Broker] = {}
        self._ids = 0

    def is_open(self, address: str) -> bool:
        """Whether a request would go out at once, or after those handed over before it."""
        broker = self._brokers.get(address)
        return broker is not None and broker.is_open

    async def call(
        self, address: str, request: ProduceRequest, *, timeout_ms: int
    ) -> ProduceResponse:
        """The answer; requests of calls begun one after the other are sent in that order.

        Errors: UnreachableError when it was not sent, CallFailedError when the stream ended before
        the answer or none came within `timeout_ms`. Cancelling it drops the request; its outcome
        is then unknown.
        """
        broker = self._brokers.get(address)
        if broker is None:
            broker = self._brokers[address] = _Broker(self._transport, address, self._on_open)
        self._ids += 1
        request.correlation_id = self._ids
        return await broker.call(request, timeout_ms=timeout_ms)

    def close(self) -> list[asyncio.Task[None]]:
        """End all streams; returns the tasks that end with them."""
        return [task for broker in self._brokers.values() for task in broker.close()]


class _Broker:
    """One broker, by one stream after the other."""

    def __init__(self, transport: Transport, address: str, on_open: Callable[[], None]) -> None:
        self._transport = transport
        self._address = address
        self._on_open = on_open
        self._stream: _OpenStream | None = None
        self._openings = 0
        self._is_closed = False
        self._turn = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        return self._stream is not None and not self._stream.is_over

    async def call(self, request: ProduceRequest, *, timeout_ms: int) -> ProduceResponse:
        """See `ProduceStreams.call`."""
        stream: _OpenStream | None = None
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                # The lock is fair: who came first is sent first.
                openings = self._openings
                async with self._turn:
                    stream = await self._opened(openings)
                    waiter = stream.expect(request.correlation_id)
                    await stream.send(request)
                return await waiter
        except TimeoutError:
            message = f"{self._address} did not answer within {timeout_ms} ms"
            if stream is None:
                raise UnreachableError(message) from None
            stream.end(message)
            raise CallFailedError(message) from None
        finally:
            if stream is not None:
                stream.forget(request.correlation_id)

    async def _opened(self, openings: int) -> _OpenStream:
        """The stream, a new one if that is over; `openings` had ended when the caller came."""
        if self._stream is not None and not self._stream.is_over:
            return self._stream
        if self._openings != openings:
            # Who waited for the one that failed fails with it, and not one after the other.
            raise UnreachableError(f"no stream to {self._address} could be opened")
        try:
            stream = await self._transport.open_stream(self._address, PRODUCE_STREAM)
        finally:
            self._openings += 1
        if self._is_closed:  # an opening that did not heed its cancellation
            stream.close()
            raise UnreachableError(f"the producer was closed before {self._address} was reached")
        self._stream = _OpenStream(stream, self._address)
        self._on_open()
        return self._stream

    def close(self) -> list[asyncio.Task[None]]:
        self._is_closed = True
        if self._stream is None:
            return []
        self._stream.end("the producer was closed")
        return [self._stream.receiving]


class _OpenStream:
    """One stream and the requests on it that have no answer yet."""

    def __init__(self, stream: Stream[ProduceRequest, ProduceAnswers], address: str) -> None:
        self._stream = stream
        self._address = address
        self._waiters: dict[int, Waiter] = {}
        self.is_over = False
        self.receiving = asyncio.create_task(self._receive())

    def expect(self, correlation_id: int) -> Waiter:
        """The answer-to-be of a request that is about to be sent."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiters[correlation_id] = waiter
        return waiter

    async def send(self, request: ProduceRequest) -> None:
        """See `Stream.send`; what it raises is the outcome of the request."""
        try:
            await self._stream.send(request)
        except TidelogError as error:
            self.end(str(error))
            raise

    def forget(self, correlation_id: int) -> None:
        """Nobody waits for the answer any more; if nobody waits for any, the stream ends."""
        waiter = self._waiters.pop(correlation_id, None)
        if waiter is not None and not self._waiters:
            self.end("its last request was given up")

    def end(self, reason: str) -> None:
        """No more answers: who waits for one hears that its outcome is unknown."""
        self.receiving.cancel()
        self._finish(reason)

    def _finish(self, reason: str) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._stream.close()
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            if not waiter.done():
                waiter.set_exception(CallFailedError(reason))
                waiter.exception()  # whoever sends it may hear of the end from there

    async def _receive(self) -> None:
        reason = f"the stream to {self._address} ended"
        try:
            while True:
                for answer in (await self._stream.receive()).answers:
                    waiter = self._waiters.pop(answer.correlation_id, None)
                    if waiter is not None and not waiter.done():
                        waiter.set_result(answer)
        except TidelogError as error:
            reason = str(error)
        finally:
            self._finish(reason)
