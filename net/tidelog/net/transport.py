"""Port: typed calls and streams to a node by address; over gRPC or a simulated network."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar

from google.protobuf.message import Message

from tidelog.v1.methods import Method, Request, Response

Request_contra = TypeVar("Request_contra", bound=Message, contravariant=True)
Response_co = TypeVar("Response_co", bound=Message, covariant=True)


class DialOutcome(Enum):
    """Outcome of a new connection to an address."""

    ANSWERED = "answered"
    """A node answered with its identity."""
    REFUSED = "refused"
    """Connection refused, or closed before the HTTP/2 handshake."""
    SILENT = "silent"
    """No answer in time."""


@dataclass(frozen=True, slots=True)
class Dialled:
    """Outcome of a dial; `incarnation_id` of the broker that answered, empty for other outcomes."""

    outcome: DialOutcome
    incarnation_id: bytes = b""


class Stream(Protocol[Request_contra, Response_co]):
    """A bidirectional call; messages arrive in the order sent, or the stream breaks.

    One task sends and one, possibly another, receives. Both raise `CallFailedError` once the stream
    has ended, by either side; the last messages sent may or may not have arrived. Cancelling a
    `send` or `receive` ends the stream.
    """

    async def send(self, request: Request_contra) -> None:
        """Send a request; returns when the peer can take the next one (flow control)."""

    async def receive(self) -> Response_co:
        """Wait for the next response."""

    def close(self) -> None:
        """End the stream immediately, without waiting for the peer; idempotent."""


class Connect(Protocol):
    """Streams, each on a connection of its own.

    Calls to the same address neither delay such a stream nor break with it, and the next stream
    depends on no earlier failure. The caller decides whether and when to connect again.
    """

    def __call__(
        self, address: str, method: Method[Request, Response], *, timeout_ms: int
    ) -> AbstractAsyncContextManager[Stream[Request, Response]]:
        """Connect within `timeout_ms`, or raise `UnreachableError`; the block's end closes both."""


class Transport(Protocol):
    """Calls to `host:port`.

    In the contract: `UnreachableError` when the request certainly was not processed,
    `CallFailedError` when the call broke or its deadline passed, so that it may have been
    processed; a dead address raises UnreachableError quickly (about a second), not only at the
    deadline. Not in the contract: retries, order between two calls.
    """

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        """Send one request, await one response. When cancelled, the outcome is unknown."""

    async def open_stream(
        self, address: str, method: Method[Request, Response]
    ) -> Stream[Request, Response]:
        """Open a stream, ready for use. Raises `UnreachableError`."""
