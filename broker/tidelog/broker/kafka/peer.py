"""A client at a listener of Kafka's protocol: its connection, and its handlers' tasks.

Moves bytes between a stream and a `Connection`, and runs a handler for each request that begins.
All limits are those of `Connection` and of the server, which hears of what happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

from tidelog.broker.kafka.connection import Connection, ConnectionRules, Request
from tidelog.core.errors import InvariantError, TidelogError
from tidelog.core.logs import get_logger
from tidelog.net.byte_streams import Buffer, ByteStream
from tidelog.net.call import Call
from tidelog.net.client_ids import UNNAMED, is_client_id
from tidelog.net.listeners import Listener

Handler = Callable[[Request, Call], Awaitable[Sequence[Buffer] | None]]
"""Function of request and call: the buffers of an answer behind its header, or None for none.

Raises `ConnectionClosedError` to close the connection instead. It gives the request's room back by
`Request.release` before it waits for long. Cancelled where its client is gone and its API is
abandoned then, and at the server's stop.
"""

log = get_logger(__name__)


class ConnectionClosedError(TidelogError):
    """A handler's answer to what Kafka closes the connection for, such as a failed acks=0."""


class PeerHost(Protocol):
    """The server, as its peers call it."""

    def note_contact(self, peer: KafkaPeer) -> None:
        """Note that the peer sent or took bytes."""

    def note_holding(self, peer: KafkaPeer, *, is_holding: bool) -> None:
        """Note that the peer has unsent answers or half a request, or has no longer."""

    def note_busy(self, peer: KafkaPeer, *, is_busy: bool) -> None:
        """Note that the peer has a request, or a large one on its way, or has none any longer."""

    def note_answer(self, request: Request, *, answer_bytes: int, began_s: float) -> None:
        """Note that a handler has answered, or that the request needs no answer."""

    def note_task(self, task: asyncio.Task[None]) -> None:
        """Keep the task of a handler until it ends."""

    def note_end(self, peer: KafkaPeer) -> None:
        """Note that the connection is closed."""

    def note_failure(self, error: BaseException) -> None:
        """Note what no handler raises."""


class Progress(NamedTuple):
    """Progress of a request that is not whole, at some time."""

    at_s: float
    requests: int
    """Whole requests before it."""
    received_bytes: int


class Taken(NamedTuple):
    """Bytes that a peer had taken of its answers at some time."""

    at_s: float
    sent_bytes: int
    least_bytes: int
    """Bytes to take from then on."""


class KafkaPeer:
    """See `Receiver`."""

    def __init__(
        self,
        *,
        stream: ByteStream,
        number: int,
        listener: Listener,
        rules: ConnectionRules,
        handler: Handler,
        host: PeerHost,
    ) -> None:
        self.stream = stream
        self.connection = Connection(rules, self._on_room, stream.host)
        self.touched_s = 0.0
        """Time of the last contact, on the loop's clock; for the server."""
        self.taken: Taken | None = None
        """Bytes that it had taken of its answers; for the server."""
        self.progress: Progress | None = None
        """Progress of a begun request; for the server."""
        self._is_holding = self._is_busy = False
        self._listener = listener
        self._handler = handler
        self._number = number
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[Request, asyncio.Task[None]] = {}
        self._has_ended = False

    def space(self) -> memoryview:
        """See `Receiver.space`."""
        return self.connection.space()

    def received(self, count: int) -> None:
        """See `Receiver.received`."""
        self._host.note_contact(self)
        self._begin(self.connection.received(count))

    def outgoing(self) -> Sequence[Buffer]:
        """See `Receiver.outgoing`."""
        return self.connection.answers.outgoing()

    def sent(self, count: int) -> None:
        """See `Receiver.sent`."""
        self._host.note_contact(self)
        self.connection.answers.note_sent(count)
        self._begin(self.connection.resume())

    def ended(self) -> None:
        """See `Receiver.ended`."""
        self._end()

    def finish(self) -> None:
        """Read no more, and close when all that came is answered."""
        self.connection.finish()
        self._settle()

    def close(self) -> None:
        """Close now."""
        self.stream.close()
        self._end()

    def _on_room(self) -> None:
        self._loop.call_soon(self._resume)

    def _resume(self) -> None:
        if not self._has_ended:
            self._begin(self.connection.resume())

    def _begin(self, requests: list[Request]) -> None:
        for request in requests:
            work = self._work(request, self._loop.time())
            task = self._tasks[request] = self._loop.create_task(work, name="kafka-request")
            self._host.note_task(task)
        self._settle()

    async def _work(self, request: Request, began_s: float) -> None:
        """Have a request handled; the edge at which every error of a handler ends."""
        taken: list[Callable[[], None]] = []
        try:
            buffers = await self._handler(request, self._call(request, taken))
        except ConnectionClosedError:
            self._close_after(request, taken)
        except asyncio.CancelledError:
            self._close_after(request, taken)
            raise
        except InvariantError as error:
            self._host.note_failure(error)
            self._close_after(request, taken)
        except Exception as error:  # the edge: the process keeps running
            log.exception("request failed", api_key=request.header.api_key, error=repr(error))
            self._close_after(request, taken)
        else:
            size = 0 if buffers is None else sum(map(len, buffers))
            self._host.note_answer(request, answer_bytes=size, began_s=began_s)
            self._tasks.pop(request, None)
            begun = self.connection.answer(request, buffers, lambda: _call_each(taken))
            self._begin(begun)

    def _call(self, request: Request, taken: list[Callable[[], None]]) -> Call:
        client_id = request.header.client_id
        return Call(
            self.stream.peer,
            taken.append,
            self._listener,
            client_id=client_id if client_id and is_client_id(client_id) else UNNAMED,
            connection_number=self._number,
        )

    def _close_after(self, request: Request, taken: list[Callable[[], None]]) -> None:
        self._tasks.pop(request, None)
        self.connection.close_after(request)
        _call_each(taken)
        for dropped in [one for one in self._tasks if one.has_ended]:
            self._tasks.pop(dropped).cancel()
        self._settle()

    def _settle(self) -> None:
        """Do what the connection's state asks for."""
        if self._has_ended:
            return
        connection = self.connection
        self.stream.set_reading(is_reading=connection.is_reading)
        if connection.answers.unsent_bytes:
            self.stream.flush()
        is_holding = connection.is_filling or connection.answers.unsent_bytes > 0
        if is_holding != self._is_holding and not self._has_ended:
            self._is_holding = is_holding
            self._host.note_holding(self, is_holding=is_holding)
        is_busy = is_holding or connection.is_busy
        if is_busy != self._is_busy and not self._has_ended:
            self._is_busy = is_busy
            self._host.note_busy(self, is_busy=is_busy)
        if connection.is_finished:
            self.close()

    def _end(self) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        self._begin(self.connection.end())
        for request, task in list(self._tasks.items()):
            if request.has_ended:
                task.cancel()
        self._host.note_end(self)


def _call_each(callbacks: Sequence[Callable[[], None]]) -> None:
    for callback in callbacks:
        callback()
