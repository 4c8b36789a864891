"""Incomplete requests: bytes of each connection that have not become a request yet. Pure.

gRPC collects a message before it calls the node, with no limit of size or time. The kernel knows
the number of bytes received on a connection, and the node the number that became requests; the
difference is held in memory. It includes headers and frames: for these a generous allowance is
subtracted, so that the difference decreases with time, and its lowest value so far counts as 0.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.core.config_keys import declare
from tidelog.core.config_types import DAY_MS, whole_number

NOTED_BYTES_MIN = 1 << 20
"""Minimum of noted bytes per connection: less is an ordinary message in transit."""
PROGRESS_BYTES_MIN = 64 << 10
"""Minimum bytes to send within the timeout: a slower connection has stopped."""
_CALL_BYTES = 512
_WINDOW_UPDATES = 64
"""Minimum bytes of responses per byte of window updates received for them."""


@dataclass(frozen=True, slots=True)
class UnfinishedLimits:
    """Limits of incomplete requests; see `docs/CONFIGURATION.md`."""

    bytes_max: int = declare(
        32 << 20,
        whole_number(4 << 20),
        "Bytes of requests that were begun and are not whole; above it the connections with most "
        "of them are closed. Looked at four times a second.",
        key="unfinished.max.request.bytes",
    )
    timeout_ms: int = declare(
        10_000,
        whole_number(100, DAY_MS),
        "A connection that stops for this long with a MiB of unfinished requests is closed.",
        key="unfinished.request.timeout.ms",
    )


class Traffic(NamedTuple):
    """Bytes of one connection since it began, as counted by the kernel."""

    taken_bytes: int
    """Bytes received by the peer."""
    received_bytes: int


class UnfinishedRequests:
    """Incomplete requests of one node."""

    def __init__(self, limits: UnfinishedLimits) -> None:
        self.size_bytes = 0
        """Bytes held at the last check."""
        self.hang_ups = 0
        self.timeout_ms = limits.timeout_ms
        self._limits = limits
        self._finished: dict[str, int] = {}
        self._missed: set[str] = set()
        """Connections that the last check did not find: closed, or opened during the check."""
        self._known: dict[str, _Known] = {}

    def note_finished(self, connection: str, size_bytes: int) -> None:
        """Count a message of the connection that became a request."""
        self._finished[connection] = self._finished.get(connection, 0) + size_bytes + _CALL_BYTES

    def look(self, traffic: Mapping[str, Traffic], now_ms: int) -> list[str]:
        """Check the traffic of all connections; return those to close.

        These are the largest, while the sum exceeds the limit, and those stopped in mid-request.
        """
        self._forget_gone(traffic)
        before, self._known = self._known, {}
        held: dict[str, int] = {}
        for connection, seen in traffic.items():
            known = self._known[connection] = self._seen(before.get(connection), connection, seen)
            if known.is_noted(now_ms):
                held[connection] = known.size_bytes
        self.size_bytes = sum(known.size_bytes for known in self._known.values())
        ended = self._above_limit(held)
        ended += [one for one in held if one not in ended and self._has_stopped(one, now_ms)]
        self.hang_ups += len(ended)
        return ended

    def _forget_gone(self, traffic: Mapping[str, Traffic]) -> None:
        """Forget connections missing in two checks, and add new ones."""
        missed = self._finished.keys() - traffic.keys()
        for connection in missed & self._missed:
            del self._finished[connection]
        self._missed = missed - self._missed
        for connection in traffic:
            self._finished.setdefault(connection, 0)

    def _seen(self, known: _Known | None, connection: str, seen: Traffic) -> _Known:
        known = known or _Known()
        known.update(seen, self._finished[connection])
        return known

    def _above_limit(self, held: Mapping[str, int]) -> list[str]:
        over, ended = sum(held.values()) - self._limits.bytes_max, []
        for connection in sorted(held, key=lambda one: held[one], reverse=True):
            if over <= 0:
                break
            ended.append(connection)
            over -= held[connection]
        return ended

    def _has_stopped(self, connection: str, now_ms: int) -> bool:
        return self._known[connection].has_stopped(now_ms, self._limits.timeout_ms)


class _Known:
    """State of one connection."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._received = 0
        self._finished = 0
        self._lowest = 0
        self._grew = 0
        """Bytes that became requests between the last two checks."""
        self._is_held = False
        self._since: tuple[int, int] | None = None
        """Time and bytes received when it was first noted, or of its last progress."""

    def update(self, seen: Traffic, finished: int) -> None:
        """Update from the current traffic."""
        excess = seen.received_bytes - finished - seen.taken_bytes // _WINDOW_UPDATES
        self._lowest = min(self._lowest, excess)
        self._grew, self._finished = finished - self._finished, finished
        self._received = seen.received_bytes
        self.size_bytes = excess - self._lowest

    def is_noted(self, now_ms: int) -> bool:
        """True when it holds many bytes, as at the last check, and completed fewer in between."""
        was_held, self._is_held = self._is_held, self.size_bytes >= NOTED_BYTES_MIN
        is_noted = was_held and self._is_held and self._grew < self.size_bytes
        if not is_noted:
            self._since = None
        elif self._since is None:
            self._since = now_ms, self._received
        return is_noted

    def has_stopped(self, now_ms: int, timeout_ms: int) -> bool:
        """True when it sent almost nothing during the timeout, in the middle of a request."""
        if self._since is None or now_ms - self._since[0] < timeout_ms:
            return False
        sent = self._received - self._since[1]
        self._since = now_ms, self._received
        return sent < PROGRESS_BYTES_MIN
