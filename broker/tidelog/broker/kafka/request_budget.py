"""Bytes of requests in memory over all connections, and who waits for room. Pure.

A reservation is for a whole request, made when its size is known and before its buffer is
allocated. Who finds no room waits and holds nothing meanwhile, so that waiters never wait for each
other; room is given in the order of asking.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import Protocol

REQUEST_COST_BYTES = 512
"""Memory that a request takes beside its bytes: a million empty ones are counted, too."""


class Waiter(Protocol):
    """A reader that found no room."""

    def grant(self, size_bytes: int) -> None:
        """Take the reservation that was waited for; called from within `give_back`."""


class RequestBudget:
    """Room for `bytes_max` bytes; a request that is larger has room when it is alone."""

    def __init__(self, bytes_max: int) -> None:
        self.held_bytes = 0
        self.waits = 0
        """Number of requests that found no room, since the start."""
        self._bytes_max = bytes_max
        self._waiting: dict[Waiter, int] = {}

    @property
    def is_short(self) -> bool:
        """True while anybody waits for room."""
        return bool(self._waiting)

    def take(self, size_bytes: int, waiter: Waiter) -> bool:
        """Reserve room; False: `waiter` waits, and is granted it later unless it leaves."""
        if not self._waiting and self._fits(size_bytes):
            self.held_bytes += size_bytes + REQUEST_COST_BYTES
            return True
        self.waits += 1
        self._waiting[waiter] = size_bytes
        return False

    def give_back(self, size_bytes: int) -> None:
        """End a reservation, and grant the room to those who wait for it."""
        self.held_bytes -= size_bytes + REQUEST_COST_BYTES
        self._grant()

    def leave(self, waiter: Waiter) -> None:
        """Wait no more."""
        if self._waiting.pop(waiter, None) is not None:
            self._grant()

    def _grant(self) -> None:
        while self._waiting:
            waiter, size_bytes = next(iter(self._waiting.items()))
            if not self._fits(size_bytes):
                return
            del self._waiting[waiter]
            self.held_bytes += size_bytes + REQUEST_COST_BYTES
            waiter.grant(size_bytes)

    def _fits(self, size_bytes: int) -> bool:
        cost_bytes = size_bytes + REQUEST_COST_BYTES
        return not self.held_bytes or self.held_bytes + cost_bytes <= self._bytes_max
