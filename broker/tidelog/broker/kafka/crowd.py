"""Connections of a node by address, and which of them gives way to a newcomer. Pure.

When there are as many as there may be, the connection gives way that has been idle for longest, of
the address that has most. One with a request at work stays, and so does one that was idle for less
than `IDLE_MS_MIN`, unless its address has more than half of all connections. A newcomer takes no
place of an address that has fewer connections than its own.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from heapq import nlargest
from itertools import islice
from typing import Generic, TypeVar

IDLE_MS_MIN = 10_000
"""Time without a request from which on a connection gives way to a newcomer."""
LOOKED_AT_MAX = 64
"""Connections that are compared for a newcomer: the oldest idle ones."""
CROWDED_MAX = 16
"""Addresses with most connections, whose oldest idle ones are compared, too."""
CROWDED_MS = 1_000
"""Time for which these addresses are known."""

C = TypeVar("C", bound=Hashable)


class Crowd(Generic[C]):
    """Connections of a node; times are in seconds of a clock that only rises."""

    def __init__(self, connections_max: int) -> None:
        self.by_host: Counter[str] = Counter()
        self._connections_max = connections_max
        self._hosts: dict[C, str] = {}
        self._idle: dict[C, float] = {}
        """Idle ones and since when, the longest idle first."""
        self._idle_by_host: dict[str, dict[C, None]] = {}
        self._crowded: list[str] = []
        self._crowded_s = float("-inf")

    def add(self, connection: C, host: str, now_s: float) -> None:
        """Add a connection, which is idle."""
        self._hosts[connection] = host
        self.by_host[host] += 1
        self.note_idle(connection, now_s)

    def remove(self, connection: C) -> None:
        """Forget a connection that has ended."""
        self.note_busy(connection)
        host = self._hosts.pop(connection)
        self.by_host[host] -= 1
        if not self.by_host[host]:
            del self.by_host[host]

    def note_idle(self, connection: C, now_s: float) -> None:
        """Note that all its requests are answered."""
        self._idle[connection] = now_s
        self._idle_by_host.setdefault(self._hosts[connection], {})[connection] = None

    def note_busy(self, connection: C) -> None:
        """Note that it has a request at work."""
        if self._idle.pop(connection, None) is None:
            return
        host = self._hosts[connection]
        del self._idle_by_host[host][connection]
        if not self._idle_by_host[host]:
            del self._idle_by_host[host]

    def gives_way(self, host: str, now_s: float) -> C | None:
        """Find the connection that gives way to a newcomer from an address; None: none does."""
        found = set(islice(self._idle, LOOKED_AT_MAX))
        for crowded in self._most(now_s):
            found.update(islice(self._idle_by_host.get(crowded, ()), 1))
        allowed = [one for one in found if self._may_go(one, host, now_s)]
        return min(allowed, key=self._order, default=None)

    def _order(self, connection: C) -> tuple[int, float]:
        return -self.by_host[self._hosts[connection]], self._idle[connection]

    def _may_go(self, connection: C, newcomer: str, now_s: float) -> bool:
        host = self._hosts[connection]
        if host != newcomer and 2 * self.by_host[host] > self._connections_max:
            return True
        is_old = now_s - self._idle[connection] >= IDLE_MS_MIN / 1000
        return is_old and self.by_host[host] >= self.by_host[newcomer]

    def _most(self, now_s: float) -> list[str]:
        """Addresses with most connections, as of a moment ago."""
        if now_s - self._crowded_s >= CROWDED_MS / 1000:
            self._crowded_s = now_s
            self._crowded = nlargest(CROWDED_MAX, self.by_host, key=self.by_host.__getitem__)
        return self._crowded
