"""Port: what a node calls other nodes through; over gRPC or a simulated network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from tidelog.log.transport import Transport
from tidelog.v1.methods import Method, Request, Response


class Peers(Transport, Protocol):
    """`Transport`, and calls that are answered by a stream."""

    def stream(
        self, address: str, method: Method[Request, Response], request: Request
    ) -> AsyncIterator[Response]:
        """One request, many responses; closing the iterator cancels the call. Errors as `call`."""
