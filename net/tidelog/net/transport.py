"""Port: typed calls and streams to a node by address; over gRPC or a simulated network."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar

from google.protobuf.message import Message

from tidelog.v1.methods import Method, Request, Response

Request_contra = TypeVar("Request_contra", bound=Message, contravariant=True)
Response_co = TypeVar("Response_co", bound=Message, covariant=True)


class DialOutcome(Enum):
    """What became of a new connection to an address."""

    ANSWERED = "answered"
    """A node told who it is."""
    REFUSED = "refused"
    """Nobody listens there, or the connection was closed before the HTTP/2 handshake."""
    SILENT = "silent"
    """Nothing was to be learned in time."""


@dataclass(frozen=True, slots=True)
class Dialled:
    """The outcome; `incarnation_id` of the broker that answered, empty where it is none."""

    outcome: DialOutcome
    incarnation_id: bytes = b""


class Stream(Protocol[Request_contra, Response_co]):
    """A call that goes on in both directions; what is sent arrives in order, or the stream breaks.

    One task sends and one receives, perhaps another. Errors of both: `CallFailedError` once it is
    over, whoever ended it; what was sent last may or may not have arrived. A `send` or `receive`
    that is cancelled ends the stream.
    """

    async def send(self, request: Request_contra) -> None:
        """Returns when the next one may be sent: the peer takes no more than it can hold."""

    async def receive(self) -> Response_co:
        """The next response."""

    def close(self) -> None:
        """End it, at once and without a word from the peer; may be called again."""


class Transport(Protocol):
    """Calls to `host:port`.

    In the contract: `UnreachableError` when the request certainly was not worked on,
    `CallFailedError` when the call broke or its deadline passed, so that it may have been; a dead
    address answers UnreachableError quickly (a second or so), never only at the deadline. Not in
    the contract: retries, order between two calls.
    """

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        """One request, one response. Cancelling it drops the call; its outcome is then unknown."""

    async def open_stream(
        self, address: str, method: Method[Request, Response]
    ) -> Stream[Request, Response]:
        """A stream to be used now. Errors: `UnreachableError`."""
