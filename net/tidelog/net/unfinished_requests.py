"""Requests whose last bytes do not come: what each connection sent that became no request. Pure.

gRPC gathers a message before anybody hears of it, and neither bounds what it gathers nor how long.
The kernel knows how many bytes came on a connection, and the node how many became requests; what
is between the two lies in memory. Headers and frames are between them as well: for those more is
allowed than there can be, so that the difference falls with time, and its lowest value so far is 0.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

NOTED_BYTES_MIN = 1 << 20
"""Of one connection: less is a message on its way."""
PROGRESS_BYTES_MIN = 64 << 10
"""Sent by a connection within the time-out: who sends less has stopped."""
_CALL_BYTES = 512
_WINDOW_UPDATES = 64
"""Of so many bytes of responses one at most is answered by news of the peer's window."""


@dataclass(frozen=True, slots=True)
class UnfinishedLimits:
    """See `docs/CONFIGURATION.md`."""

    bytes_max: int = 64 << 20
    timeout_ms: int = 10_000


class Traffic(NamedTuple):
    """Bytes of one connection since it began, as the kernel counts them."""

    taken_bytes: int
    """By the peer."""
    received_bytes: int


class UnfinishedRequests:
    """Of one node."""

    def __init__(self, limits: UnfinishedLimits) -> None:
        self.size_bytes = 0
        """As of the last look."""
        self.hang_ups = 0
        self.timeout_ms = limits.timeout_ms
        self._limits = limits
        self._finished: dict[str, int] = {}
        self._missed: set[str] = set()
        """Connections that the last look did not find: gone, or made while it was looking."""
        self._known: dict[str, _Known] = {}

    def finished(self, connection: str, size_bytes: int) -> None:
        """A message of its became a request."""
        self._finished[connection] = self._finished.get(connection, 0) + size_bytes + _CALL_BYTES

    def look(self, traffic: Mapping[str, Traffic], now_ms: int) -> list[str]:
        """By the traffic of all connections there are: those to hang up on.

        The largest, while all together are above the limit; and who has stopped in the middle.
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
        """Forget connections that two looks missed, and begin with those that are new."""
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
    """What was seen of one connection."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._received = 0
        self._finished = 0
        self._lowest = 0
        self._grew = 0
        """What was finished between the last two looks."""
        self._is_held = False
        self._since: tuple[int, int] | None = None
        """When it was noted first, and what had been received: anew with each progress."""

    def update(self, seen: Traffic, finished: int) -> None:
        """See it again."""
        excess = seen.received_bytes - finished - seen.taken_bytes // _WINDOW_UPDATES
        self._lowest = min(self._lowest, excess)
        self._grew, self._finished = finished - self._finished, finished
        self._received = seen.received_bytes
        self.size_bytes = excess - self._lowest

    def is_noted(self, now_ms: int) -> bool:
        """Whether it holds much, did so at the look before, and finished less in between."""
        was_held, self._is_held = self._is_held, self.size_bytes >= NOTED_BYTES_MIN
        is_noted = was_held and self._is_held and self._grew < self.size_bytes
        if not is_noted:
            self._since = None
        elif self._since is None:
            self._since = now_ms, self._received
        return is_noted

    def has_stopped(self, now_ms: int, timeout_ms: int) -> bool:
        """Whether it sent next to nothing for the time-out, in the middle of a request."""
        if self._since is None or now_ms - self._since[0] < timeout_ms:
            return False
        sent = self._received - self._since[1]
        self._since = now_ms, self._received
        return sent < PROGRESS_BYTES_MIN
