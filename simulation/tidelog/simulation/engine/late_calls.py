"""Calls that come late: a network holds single requests while later ones overtake them.

As through a proxy that keeps what it was given and sends it on its own: the caller gave up long
ago, and the process that listens at the address by then gets the request. Owns the held requests.
"""

from __future__ import annotations

from collections.abc import Callable


class LateCalls:
    """Holds the next `most` requests of one method that a host sends, wherever it sends them."""

    def __init__(self, source: str, method: str, *, most: int) -> None:
        self._source = source
        self._method = method
        self._most = most
        self._held: list[Callable[[], None]] = []
        self.count = 0
        """Calls caught so far."""

    def catch(self, source: str, method: str, deliver: Callable[[], None]) -> bool:
        """Hold a request that is on its way, if it is one of these."""
        is_one = (source, method) == (self._source, self._method) and self.count < self._most
        if is_one:
            self.count += 1
            self._held.append(deliver)
        return is_one

    def deliver(self) -> None:
        """Let all arrive, and catch no more."""
        self._most = 0
        held, self._held = self._held, []
        for deliver in held:
            deliver()
