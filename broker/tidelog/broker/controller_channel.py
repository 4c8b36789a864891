"""Calls to the controllers from a broker: any one will do, since they forward to the active one.

Owns which controller answered last; never decides what an answer means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from tidelog.broker.peers import Peers
from tidelog.log.env import Clock
from tidelog.log.errors import CallFailedError, TidelogError, UnreachableError
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.methods import Method, Request, Response

RETRY_BACKOFF_MS = 50


class _Answer(Protocol):
    @property
    def error(self) -> Error: ...


class ControllerChannel:
    """One broker's way to the quorum."""

    def __init__(self, *, peers: Peers, addresses: Sequence[str], clock: Clock) -> None:
        self._peers = peers
        self._addresses = list(addresses)
        self._clock = clock
        self._preferred = 0

    @property
    def address(self) -> str:
        """The controller that is asked first."""
        return self._addresses[self._preferred]

    def rotate(self) -> None:
        """Ask another controller first from now on."""
        self._preferred = (self._preferred + 1) % len(self._addresses)

    async def call(
        self, method: Method[Request, Response], request: Request, *, timeout_ms: int
    ) -> Response:
        """Send to one controller after the other until one answers anything but NOT_CONTROLLER.

        Errors: the last call's, once `timeout_ms` has passed. Requests must be idempotent: after a
        `CallFailedError` the next controller is asked again.
        """
        deadline = self._clock.monotonic_ms() + timeout_ms
        last: TidelogError = UnreachableError("no controller was asked in time")
        while (left := deadline - self._clock.monotonic_ms()) > 0:
            try:
                # Half of what is left, so that a silent controller leaves time for the next one.
                response = await self._peers.call(
                    self.address, method, request, timeout_ms=max(1, left // 2)
                )
            except (UnreachableError, CallFailedError) as error:
                last = error
            else:
                if _error_of(response).code != common_pb2.NOT_CONTROLLER:
                    return response
                last = UnreachableError(_error_of(response).message)
            self.rotate()
            await asyncio.sleep(RETRY_BACKOFF_MS / 1000)
        raise last


def _error_of(response: object) -> Error:
    answer: _Answer = response  # type: ignore[assignment]  # every Controller answer has .error
    return answer.error
