"""Connections that carry bytes over the simulated network: the port `tidelog.net.byte_streams`.

Both ends are streams with receivers. Bytes arrive in order, or the connection breaks; what a
receiver does not read stays in a window, as in TCP, and its sender waits.
"""

from __future__ import annotations

import asyncio
from collections import deque

from tidelog.core.errors import UnreachableError
from tidelog.net.byte_streams import Accept, Receiver
from tidelog.simulation.engine.network import Connection, Host, SimNetwork
from tidelog.simulation.engine.peers import CONNECT_TIMEOUT_S

WINDOW_BYTES = 256 << 10
"""Maximum bytes on their way to a receiver, or not read by it."""


class SimDialer:
    """A host's way to listeners of other protocols than gRPC."""

    def __init__(self, *, network: SimNetwork, host: Host) -> None:
        self._network = network
        self._host = host

    async def connect(self, address: str, receive: Accept) -> None:
        """Connect to a listener; `receive` is handed the stream and returns its receiver.

        Errors: `UnreachableError`. A listener that refuses closes the connection at once.
        """
        server = self._network.reached(self._host, address)
        if server is None or address not in server.acceptors:
            await self._fail(address, is_up=server is not None)
            return
        ends = Ends(self._network, self._host, server, address)
        ends.caller.begin(receive)

    async def _fail(self, address: str, *, is_up: bool) -> None:
        if not (is_up or self._network.refuses(self._host, address)):
            await asyncio.sleep(CONNECT_TIMEOUT_S)
            raise UnreachableError(f"{address} is silent")
        await asyncio.sleep(2 * self._network.latency_s())
        raise UnreachableError(f"{address} refuses connections", is_broken=True)


class Ends:
    """Both ends of a connection."""

    def __init__(self, network: SimNetwork, caller: Host, server: Host, address: str) -> None:
        self.network = network
        self.connection: Connection = network.connect((caller, server), self._on_broken)
        number = self.connection.number
        self.caller = SimByteStream(self, caller, host=server.name, peer=address)
        self.server = SimByteStream(self, server, host=caller.name, peer=f"{caller.name}:{number}")
        accept = server.acceptors[address]
        self.connection.send(caller, "connect", b"", lambda: self.server.begin(accept))

    def other(self, end: SimByteStream) -> SimByteStream:
        """Return the opposite end."""
        return self.server if end is self.caller else self.caller

    def _on_broken(self, end: Host) -> None:
        (self.caller if end is self.caller.owner else self.server).end()


class SimByteStream:
    """See `ByteStream`; one end, whose methods run on its owner's loop."""

    def __init__(self, ends: Ends, owner: Host, *, host: str, peer: str) -> None:
        self.owner = owner
        self.host = host
        self.peer = peer
        self._ends = ends
        self._receiver: Receiver | None = None
        self._is_open = True
        self._is_reading = True
        self._is_feeding = self._is_flushing = False
        self._arrived: deque[bytes] = deque()
        self._unread_bytes = 0
        """Sent, and not read by the other end's receiver."""

    def begin(self, accept: Accept) -> None:
        """Take a receiver, or close."""
        if not self._is_open:
            return
        self._receiver = accept(self)
        if self._receiver is None:
            self.close()
        self._feed()
        self.flush()

    def set_reading(self, *, is_reading: bool) -> None:
        """See `ByteStream.set_reading`."""
        self._is_reading = is_reading
        if is_reading and self._arrived:
            self.owner.loop.call_soon(self._feed)

    def flush(self) -> None:
        """See `ByteStream.flush`."""
        if self._is_flushing:
            return
        self._is_flushing = True
        while self._receiver is not None and (room := WINDOW_BYTES - self._unread_bytes) > 0:
            content = b"".join(self._receiver.outgoing())[:room]
            if not content:
                break
            self._unread_bytes += len(content)
            self._send("bytes", content)
            self._receiver.sent(len(content))
        self._is_flushing = False

    def close(self) -> None:
        """See `ByteStream.close`."""
        if self._is_open:
            self._is_open, self._receiver = False, None
            self._ends.connection.send(self.owner, "close", b"", self._ends.other(self).end)

    def end(self) -> None:
        """Note that the other end is gone."""
        self._ends.network.forget(self._ends.connection)
        receiver, self._receiver, self._is_open = self._receiver, None, False
        if receiver is not None:
            receiver.ended()

    def _send(self, label: str, content: bytes) -> None:
        other = self._ends.other(self)
        self._ends.connection.send(self.owner, label, content, lambda: other.on_bytes(content))

    def on_bytes(self, content: bytes) -> None:
        """Take bytes that have arrived."""
        if self._is_open:
            self._arrived.append(content)
            self._feed()

    def on_window(self, count: int) -> None:
        """Note that the other end has read so many bytes."""
        self._unread_bytes -= count
        self.flush()

    def _feed(self) -> None:
        if self._is_feeding:
            return
        self._is_feeding, count = True, 0
        while self._arrived and self._is_reading and self._receiver is not None:
            space, content = self._receiver.space(), self._arrived.popleft()
            taken = min(len(space), len(content))
            space[:taken] = content[:taken]
            if taken < len(content):
                self._arrived.appendleft(content[taken:])
            count += taken
            self._receiver.received(taken)
        self._is_feeding = False
        if count and self._is_open:
            other = self._ends.other(self)
            self._ends.connection.send(self.owner, "window", b"", lambda: other.on_window(count))
