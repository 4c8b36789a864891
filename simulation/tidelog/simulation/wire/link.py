"""Connection of a client to a listener of Kafka's protocol, on the simulated network.

Moves bytes between a stream and a `FrameConnection`. A request that is not answered in time ends
the connection, as Kafka's clients do, and every other one on it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from tidelog.core.errors import CallFailedError
from tidelog.kafka.message import Message
from tidelog.net.byte_streams import ByteStream
from tidelog.simulation.engine.byte_streams import SimDialer
from tidelog.simulation.wire.frames import BadAnswerError, FrameConnection

SPACE_BYTES = 64 << 10

M = TypeVar("M", bound=Message)


class Link:
    """See the module; also the stream's `Receiver`."""

    def __init__(self, address: str, client_id: str, report: Callable[[str], None]) -> None:
        self.address = address
        self.is_open = True
        self._report = report
        self._frames = FrameConnection(client_id)
        self._stream: ByteStream | None = None
        self._outgoing: deque[bytes] = deque()
        self._space = memoryview(bytearray(SPACE_BYTES))
        self._waiting: deque[asyncio.Future[Message]] = deque()

    @classmethod
    async def connect(
        cls, dialer: SimDialer, address: str, *, client_id: str, report: Callable[[str], None]
    ) -> Link:
        """Connect to a listener. Raises `UnreachableError`; `report` hears of bad answers."""
        link = cls(address, client_id, report)
        await dialer.connect(address, link._accept)
        return link

    @property
    def in_flight(self) -> int:
        """Number of requests that wait for an answer."""
        return self._frames.unanswered

    async def call(self, request: Message, version: int, kind: type[M], *, timeout_s: float) -> M:
        """Send a request and return its answer. Raises `CallFailedError`: nobody knows."""
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._send(self._frames.write(request, version))
        await asyncio.wait({future}, timeout=timeout_s)
        if not future.done():
            self.close(f"{self.address} did not answer {kind.__name__} within {timeout_s} s")
        answer = await future
        assert isinstance(answer, kind)  # the connection has read it as this API's
        return answer

    def send_unanswered(self, request: Message, version: int) -> None:
        """Send a request that has no answer."""
        self._send(self._frames.write(request, version, has_answer=False))

    def close(self, why: str) -> None:
        """End the connection; requests without an answer fail."""
        if self._stream is not None and self.is_open:
            self._stream.close()
        self._end(why)

    def _send(self, frame: bytes) -> None:
        if not self.is_open:
            self._end("the connection is closed")
            return
        self._outgoing.append(frame)
        if self._stream is not None:
            self._stream.flush()

    def _end(self, why: str) -> None:
        self.is_open = False
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_exception(CallFailedError(why, is_broken=True))
                future.exception()  # who asked may be gone

    # See `Receiver`

    def _accept(self, stream: ByteStream) -> Link:
        self._stream = stream
        return self

    def space(self) -> memoryview:
        """See `Receiver.space`."""
        return self._space

    def received(self, count: int) -> None:
        """See `Receiver.received`."""
        try:
            answers = self._frames.read(self._space[:count])
        except BadAnswerError as error:
            self._report(f"{self.address}: {error}")
            self.close(str(error))
            return
        for one in answers:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(one.message)

    def outgoing(self) -> Sequence[bytes]:
        """See `Receiver.outgoing`."""
        return list(self._outgoing)

    def sent(self, count: int) -> None:
        """See `Receiver.sent`."""
        while count:
            first = self._outgoing.popleft()
            if len(first) > count:
                self._outgoing.appendleft(first[count:])
                return
            count -= len(first)

    def ended(self) -> None:
        """See `Receiver.ended`."""
        self._end(f"{self.address} is gone")
