"""Port: typed calls to a node by address; over gRPC or a simulated network."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from tidelog.v1.methods import Method, Request, Response


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


class Transport(Protocol):
    """Unary calls to `host:port`.

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
