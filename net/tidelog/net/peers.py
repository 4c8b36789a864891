"""Port for calls to other nodes, over gRPC or a simulated network."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from tidelog.net.transport import Dialled, Transport
from tidelog.v1.methods import Method, Request, Response


class Peers(Transport, Protocol):
    """`Transport`, calls answered by a stream, and probes of an address."""

    async def dial(self, address: str, *, timeout_ms: int) -> Dialled:
        """Connect to `host:port` and identify the process there. Never raises, never retries."""

    def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncIterator[Response]:
        """Send one request, iterate over responses; closing cancels the call. Errors as `call`."""


class OwnPeers(Peers, Protocol):
    """`Peers` with the lifetime of the process."""

    async def close(self) -> None:
        """Close all connections; running calls fail."""
