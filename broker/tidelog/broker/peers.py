"""Port: calls to other nodes, by address; over gRPC or through the simulated network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from tidelog.v1.methods import Method, Request, Response


class Peers(Protocol):
    """Typed calls to a node at `host:port`.

    Errors: `UnreachableError` when the request certainly was not worked on, `CallFailedError` when
    the call broke or its deadline passed, so that it may have been.
    """

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        """One request, one response."""

    def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncIterator[Response]:
        """One request, many responses; closing the iterator cancels the call."""
