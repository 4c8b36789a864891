"""A producer's streams of requests, one per broker: sent in order, answered in any order.

Matches answers to requests, and ends a stream that breaks or has an overdue request. The outcome of
every request without an answer is then unknown, since the client cannot tell which of them the
broker still processes. A stream that is idle for too long is ended, too, as it has no requests. The
next request opens a new stream. Retries nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidelog.client.connections import CONNECTIONS_MAX_IDLE_MS
from tidelog.client.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.net.idle_timer import IdleTimer
from tidelog.net.transport import Stream, Transport
from tidelog.v1.data_pb2 import ProduceAnswers, ProduceRequest, ProduceResponse
from tidelog.v1.methods import PRODUCE_STREAM

Waiter = asyncio.Future[ProduceResponse]


class ProduceStreams:
    """The streams of a producer, each opened on first use, after which `on_open` is called."""

    def __init__(
        self,
        transport: Transport,
        *,
        on_open: Callable[[], None],
        max_idle_ms: int = CONNECTIONS_MAX_IDLE_MS,
    ) -> None:
        self._transport = transport
        self._on_open = on_open
        self._max_idle_ms = max_idle_ms
        self._brokers: dict[str, _Broker] = {}
        self._ids = 0

    def is_open(self, address: str) -> bool:
        """True if a request can be sent now, after those submitted before it."""
        broker = self._brokers.get(address)
        return broker is not None and broker.is_open

    async def call(
        self, address: str, request: ProduceRequest, *, timeout_ms: int
    ) -> ProduceResponse:
        """Send a request and return its answer; requests are sent in the order of their calls.

        Errors: UnreachableError when it was not sent, CallFailedError when the stream ended before
        the answer or none came within `timeout_ms`. Cancelling the call drops the request; its
        outcome is then unknown.
        """
        broker = self._brokers.get(address)
        if broker is None:
            broker = self._brokers[address] = _Broker(
                self._transport, address, self._on_open, self._max_idle_ms
            )
        self._ids += 1
        request.correlation_id = self._ids
        return await broker.call(request, timeout_ms=timeout_ms)

    def close(self) -> list[asyncio.Task[None]]:
        """End all streams; return the tasks that end with them."""
        return [task for broker in self._brokers.values() for task in broker.close()]


class _Broker:
    """A broker, reached by one stream after the other."""

    def __init__(
        self, transport: Transport, address: str, on_open: Callable[[], None], max_idle_ms: int
    ) -> None:
        self._transport = transport
        self._address = address
        self._on_open = on_open
        self._max_idle_ms = max_idle_ms
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
                # The lock is fair: requests are sent in the order of their calls.
                openings = self._openings
                async with self._turn:
                    stream = await self._open(openings)
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

    async def _open(self, openings: int) -> _OpenStream:
        """The open stream, or a new one; `openings`: attempts that had ended when the call came."""
        if self._stream is not None and not self._stream.is_over:
            return self._stream
        if self._openings != openings:
            # Calls that waited for a failed opening fail with it, instead of each trying again.
            raise UnreachableError(f"no stream to {self._address} could be opened")
        try:
            stream = await self._transport.open_stream(self._address, PRODUCE_STREAM)
        finally:
            self._openings += 1
        if self._is_closed:  # an opening that did not heed its cancellation
            stream.close()
            raise UnreachableError(f"the producer was closed before {self._address} was reached")
        self._stream = _OpenStream(stream, self._address, self._max_idle_ms)
        self._on_open()
        return self._stream

    def close(self) -> list[asyncio.Task[None]]:
        self._is_closed = True
        if self._stream is None:
            return []
        self._stream.end("the producer was closed")
        return [self._stream.receiving]


class _OpenStream:
    """An open stream, and its requests without an answer."""

    def __init__(
        self, stream: Stream[ProduceRequest, ProduceAnswers], address: str, max_idle_ms: int
    ) -> None:
        self._stream = stream
        self._address = address
        self._waiters: dict[int, Waiter] = {}
        self.is_over = False
        # A request is among the waiters before it is sent, so that none is lost with an idle
        # stream.
        self._idle = IdleTimer(
            max_idle_ms,
            is_busy=lambda: bool(self._waiters),
            expire=lambda: self.end("it was idle for connections_max_idle_ms"),
        )
        self.receiving = asyncio.create_task(self._receive())

    def expect(self, correlation_id: int) -> Waiter:
        """The future of the answer to a request that is about to be sent."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiters[correlation_id] = waiter
        self._idle.touch()
        return waiter

    async def send(self, request: ProduceRequest) -> None:
        """Send a request, see `Stream.send`; an error is the outcome of the request."""
        try:
            await self._stream.send(request)
        except TidelogError as error:
            self.end(str(error))
            raise

    def forget(self, correlation_id: int) -> None:
        """Drop the wait for an answer; if it was the last one, end the stream."""
        waiter = self._waiters.pop(correlation_id, None)
        if waiter is not None and not self._waiters:
            self.end("its last request was given up")

    def end(self, reason: str) -> None:
        """End the stream: the outcome of all requests without an answer becomes unknown."""
        self.receiving.cancel()
        self._finish(reason)

    def _finish(self, reason: str) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._idle.stop()
        self._stream.close()
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            if not waiter.done():
                waiter.set_exception(CallFailedError(reason))
                waiter.exception()  # retrieved: its caller may have got the error from send

    async def _receive(self) -> None:
        reason = f"the stream to {self._address} ended"
        try:
            while True:
                for answer in (await self._stream.receive()).answers:
                    waiter = self._waiters.pop(answer.correlation_id, None)
                    if waiter is not None and not waiter.done():
                        waiter.set_result(answer)
                self._idle.touch()
        except TidelogError as error:
            reason = str(error)
        finally:
            self._finish(reason)
