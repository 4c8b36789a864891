"""The port of connections that carry bytes: what a listener's server needs of a socket.

`tcp_server` implements it on sockets, the simulation on its network. A stream asks its receiver
where received bytes go and what to send next, so that nothing is copied or joined in between; it
decides nothing. All calls are made on the loop.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

Buffer = bytes | bytearray | memoryview


class ByteStream(Protocol):
    """A connection, as its receiver sees it."""

    @property
    def peer(self) -> str:
        """Name of the other end, as gRPC has it: `ipv4:127.0.0.1:5000`."""

    @property
    def host(self) -> str:
        """Its address without the port."""

    def set_reading(self, *, is_reading: bool) -> None:
        """Receive bytes, or leave them to the peer's window."""

    def flush(self) -> None:
        """Send what the receiver has outgoing, now and as the peer takes it."""

    def close(self) -> None:
        """End the connection; its receiver is not called again. What is not sent is lost."""


class Receiver(Protocol):
    """The user of a connection. No call of it raises."""

    def space(self) -> memoryview:
        """Return where the next bytes go, at least one; asked only while it reads."""

    def received(self, count: int) -> None:
        """Take `count` bytes that were put into `space`."""

    def outgoing(self) -> Sequence[Buffer]:
        """Return the next buffers to send; empty: there are none."""

    def sent(self, count: int) -> None:
        """Note that so many bytes of `outgoing` were passed on."""

    def ended(self) -> None:
        """Note that the peer is gone; the stream is closed."""


Accept = Callable[[ByteStream], Receiver | None]
"""Function that takes a new connection; None: it is refused, and closed at once."""
