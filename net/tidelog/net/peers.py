"""Port: what a node calls other nodes through; over gRPC or a simulated network."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from tidelog.net.transport import Dialled, Transport
from tidelog.v1.methods import Method, Request, Response


class Peers(Transport, Protocol):
    """`Transport`, calls that are answered by a stream, and a look at who is there."""

    async def dial(self, address: str, *, timeout_ms: int) -> Dialled:
        """Connect anew and ask who listens at `host:port`. Never raises, never retries."""

    def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncIterator[Response]:
        """One request, many responses; closing the iterator cancels the call. Errors as `call`."""


class OwnPeers(Peers, Protocol):
    """`Peers` that end with the process."""

    async def close(self) -> None:
        """End all calls."""
