"""Lease of a member, as its connection shows it: what it was told, and when.

Follows the member's stream from outside, message by message, so that it does not rest on what the
client believes. Decision 0049: a member owns nothing when the newest request that was answered was
sent a session ago, when its connection has been broken for the grace, or when it was refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.core.errors import TidelogError
from tidelog.net.transport import Transport
from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tidelog.v1.methods import GROUP_STREAM, Method, Request, Response

SLACK_S = 0.005
"""Clocks count whole milliseconds, and a timer's callbacks take their turns."""
JOINING = 0
_REFUSALS = frozenset({common_pb2.FENCED_MEMBER_EPOCH, common_pb2.UNKNOWN_MEMBER_ID})


class ObservedLease:
    """Times of one member process; virtual seconds."""

    def __init__(
        self, now_s: Callable[[], float], on_join: Callable[[], None], *, is_dynamic: bool
    ) -> None:
        """Begin; `on_join` is called when the member says that it owns nothing and joins."""
        self.broken_s: float | None = None
        """Time at which its connection broke, unless a later one was answered on."""
        self._now_s = now_s
        self._on_join = on_join
        self._is_dynamic = is_dynamic
        self._sent_s: dict[int, float] = {}
        self._answered_s: float | None = None
        self._session_s = 0.0
        self._grace_s = 0.0
        self._is_refused = False

    def note_sent(self, request: ConsumerGroupHeartbeatRequest) -> None:
        """A heartbeat goes out."""
        if request.member_epoch == JOINING:
            self._on_join()
            self._sent_s.clear()
            self._answered_s = self.broken_s = None
        self._sent_s[request.sequence] = self._now_s()

    def note_received(self, response: ConsumerGroupHeartbeatResponse) -> None:
        """An answer or a push came in."""
        if response.error.code in _REFUSALS:
            self._is_refused = True
        sent_s = self._sent_s.pop(response.sequence, None)
        if sent_s is None or response.error.code != common_pb2.NONE:
            return
        self._answered_s = max(sent_s, self._answered_s or sent_s)
        self._session_s = response.session_timeout_ms / 1000
        self._grace_s = response.disconnect_grace_ms / 1000
        self.broken_s = None
        self._is_refused = False

    def note_broken(self) -> None:
        """The connection broke, or was given up."""
        if self.broken_s is None:
            self.broken_s = self._now_s()

    @property
    def age_s(self) -> float:
        """Age of the newest request that was answered."""
        return self._now_s() - (self._answered_s or 0.0)

    def why_over(self) -> str | None:
        """Say why the member owns nothing now; None: it may own what it was given."""
        now_s = self._now_s() - SLACK_S
        if self._answered_s is None:
            return "it was not answered since it joined"
        if self._is_refused:
            return "it was refused"
        if now_s >= self._answered_s + self._session_s:
            return f"no request since {self._answered_s:.3f} s was answered"
        broken_s = self.broken_s if self._is_dynamic else None
        if broken_s is not None and now_s >= broken_s + self._grace_s:
            return f"its connection broke at {broken_s:.3f} s"
        return None


class WatchedTransport:
    """`Transport` of a member, whose group streams are watched."""

    def __init__(self, inner: Transport, lease: ObservedLease) -> None:
        self._inner = inner
        self._lease = lease

    async def call(
        self, address: str, method: Method[Request, Response], request: Request, *, timeout_ms: int
    ) -> Response:
        """See `Transport`."""
        return await self._inner.call(address, method, request, timeout_ms=timeout_ms)

    async def open_stream(self, address: str, method: Method[Request, Response]) -> Any:
        """See `Transport`; a `Stream`."""
        stream = await self._inner.open_stream(address, method)
        return _WatchedStream(stream, self._lease) if method.name == GROUP_STREAM.name else stream


class _WatchedStream:
    def __init__(self, inner: Any, lease: ObservedLease) -> None:  # a Stream of heartbeats
        self._inner = inner
        self._lease = lease

    async def send(self, request: ConsumerGroupHeartbeatRequest) -> None:
        try:
            await self._inner.send(request)
        except TidelogError:
            self._lease.note_broken()
            raise
        self._lease.note_sent(request)

    async def receive(self) -> ConsumerGroupHeartbeatResponse:
        try:
            response: ConsumerGroupHeartbeatResponse = await self._inner.receive()
        except TidelogError:
            self._lease.note_broken()
            raise
        self._lease.note_received(response)
        return response

    def close(self) -> None:
        self._lease.note_broken()
        self._inner.close()
