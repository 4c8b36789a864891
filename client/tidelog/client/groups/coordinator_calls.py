"""Calls to the coordinator of a group or of a transactional id, repeated where that helps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tidelog.client.backoff import Backoff
from tidelog.client.errors import (
    CallFailedError,
    TidelogError,
    UnreachableError,
    error_from_wire,
)
from tidelog.client.routing import Routing
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import LeaderHint
from tidelog.v1.coordinator_pb2 import FindCoordinatorRequest
from tidelog.v1.methods import FIND_COORDINATOR, Method, Request, Response

RETRIED = frozenset(
    {
        common_pb2.COORDINATOR_LOAD_IN_PROGRESS,
        common_pb2.COORDINATOR_NOT_AVAILABLE,
        common_pb2.NOT_COORDINATOR,
        common_pb2.REQUEST_TIMED_OUT,
        common_pb2.THROTTLING_QUOTA_EXCEEDED,
        common_pb2.BROKER_NOT_AVAILABLE,
        common_pb2.UNSTABLE_OFFSET_COMMIT,
        common_pb2.CONCURRENT_TRANSACTIONS,
    }
)
"""Codes after which the same request may succeed."""


class CoordinatorCalls:
    """The coordinator of one group, or transactional id, as a client knows it."""

    def __init__(
        self,
        routing: Routing,
        group_id: str,
        *,
        backoff: Backoff,
        request_timeout_ms: int,
        is_transactional: bool = False,
    ) -> None:
        self.group_id = group_id
        self._is_transactional = is_transactional
        self.routing = routing
        self._backoff = backoff
        self._request_timeout_ms = request_timeout_ms
        self._address: str | None = None
        self.failure: TidelogError | None = None
        """Error of the last look-up of the coordinator; None: it was found."""

    async def address(self, *, deadline_ms: int) -> str:
        """Find the coordinator. Raises what a broker answered last, or UnreachableError."""
        failures = 0
        while self._address is None:
            try:
                self._address = await self._find()
                self.failure = None
            except TidelogError as error:
                self.failure = error
                failures += 1
                await self.pause(error, failures, deadline_ms)
        return self._address

    async def _find(self) -> str:
        if self._is_transactional:
            request = FindCoordinatorRequest(transactional_ids=[self.group_id])
        else:
            request = FindCoordinatorRequest(group_ids=[self.group_id])
        found = await self.routing.call_any(
            FIND_COORDINATOR, request, timeout_ms=self._request_timeout_ms
        )
        for error in (found.error, *(one.error for one in found.coordinators)):
            if error.code != common_pb2.NONE:
                self.routing.prefer_another()  # this one may be behind
                raise error_from_wire(error)
        return found.coordinators[0].broker.address

    async def call(
        self,
        method: Method[Request, Response],
        make: Callable[[], Request],
        *,
        timeout_ms: int,
        on_retry: Callable[[TidelogError], None] = lambda _: None,
    ) -> Response:
        """Ask until there is an answer that no retry helps; `make` makes each request.

        `on_retry` is called with the error of each attempt that is repeated. The answer's own error
        is the caller's to raise. Raises the last error after `timeout_ms`.
        """
        deadline_ms = self.routing.clock.monotonic_ms() + timeout_ms
        failures = 0
        while True:
            address = await self.address(deadline_ms=deadline_ms)
            left_ms = max(1, deadline_ms - self.routing.clock.monotonic_ms())
            try:
                response: Any = await self.routing.transport.call(
                    address, method, make(), timeout_ms=min(self._request_timeout_ms, left_ms)
                )
                if response.error.code not in RETRIED:
                    answer: Response = response
                    return answer
                raise self.refused(response)
            except (UnreachableError, CallFailedError) as error:
                self.forget()
                failures += 1
                on_retry(error)
                await self.pause(error, failures, deadline_ms)
            except TidelogError as error:
                if error.code not in RETRIED:
                    raise
                failures += 1
                on_retry(error)
                await self.pause(error, failures, deadline_ms)

    def refused(self, response: Any) -> TidelogError:  # each answer of a coordinator
        """Return an answer's error; a coordinator that it names is asked next."""
        if response.error.code == common_pb2.NOT_COORDINATOR:
            self.forget(response.coordinator)
        elif response.error.code == common_pb2.COORDINATOR_NOT_AVAILABLE:
            self.forget()  # it cannot prove that it still is the coordinator
        return error_from_wire(response.error)

    def forget(self, hint: LeaderHint | None = None) -> None:
        """Look the coordinator up again, unless a hint names it.

        By another broker: the one that named it may be behind, or be that coordinator itself.
        """
        self._address = hint.address or None if hint is not None else None
        if self._address is None:
            self.routing.prefer_another()

    async def pause(self, error: TidelogError, failures: int, deadline_ms: int) -> None:
        """Wait before the next attempt; raise the error if no time is left, or none would help."""
        if error.code not in RETRIED and not isinstance(error, (UnreachableError, CallFailedError)):
            raise error
        delay_ms = self._backoff.delay_ms(failures, self.routing.random)
        if self.routing.clock.monotonic_ms() + delay_ms >= deadline_ms:
            raise error
        await asyncio.sleep(delay_ms / 1000)
