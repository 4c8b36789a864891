"""Long polls of a consumer: which positions each names, and when one makes way for another.

A fetch waits at its leader for `fetch_max_wait_ms` when there are no records. A position that
becomes fetchable meanwhile, after a look-up, a pause or a change of its leader, would wait as long:
the poll is cancelled for it instead, once it has its least age. That age bounds how often polls
are sent again while positions become fetchable one by one. Sends and waits for nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from tidelog.client.consuming.assignment import Position

LONG_POLL_MS_MIN = 20
"""The least age of a long poll that is cancelled for a position which it does not name."""


class LongPolls:
    """Long polls by the leader's address; `polls` are those in flight."""

    def __init__(self, polls: Mapping[str, asyncio.Task[None]]) -> None:
        self._polls = polls
        self._named: dict[str, tuple[frozenset[Position], int]] = {}
        self.due_ms: int | None = None
        """The time at which `make_way` is to be called again; None: no position waits."""

    def note_sent(self, address: str, positions: Iterable[Position], now_ms: int) -> None:
        """Note the positions that a poll names."""
        self._named[address] = frozenset(positions), now_ms

    def make_way(self, address: str, position: Position, now_ms: int) -> None:
        """Cancel the poll at `address` if it does not name the fetchable position."""
        poll = self._polls.get(address)
        if poll is None:
            return
        positions, sent_ms = self._named[address]
        if position in positions:
            return
        if sent_ms + LONG_POLL_MS_MIN <= now_ms:
            poll.cancel()
        else:
            self.due_ms = min(sent_ms + LONG_POLL_MS_MIN, self.due_ms or (1 << 63))
