"""Appends to one partition that wait: each in the place in which it came.

A batch that is inspected elsewhere must not be overtaken: an idempotent producer's sequences, and
the order of any producer's records, are those in which requests came. So whoever waits has a place,
and who comes to a partition with somebody waiting takes one, too.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable


class AppendOrder:
    """Of all partitions, by any key of theirs."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, deque[Place]] = {}

    def is_free(self, key: Hashable) -> bool:
        """Whether nobody waits there."""
        return key not in self._lines

    def enter(self, key: Hashable) -> Place:
        """The last place. It must `leave` in any case, or nobody after it appends."""
        place = Place(self, key)
        self._lines.setdefault(key, deque()).append(place)
        return place

    def is_first(self, place: Place) -> bool:
        """Whether it is its turn."""
        return self._lines[place.key][0] is place

    def end(self, place: Place) -> None:
        """It is given up, wherever it is in its line."""
        line = self._lines[place.key]
        line.remove(place)
        if line:
            line[0].let_in()
        else:
            del self._lines[place.key]


class Place:
    """One append's."""

    def __init__(self, order: AppendOrder, key: Hashable) -> None:
        self.key = key
        self._order = order
        self._is_let_in = asyncio.Event()

    async def turn(self) -> None:
        """Wait until all that came before have appended, or will not."""
        if not self._order.is_first(self):
            await self._is_let_in.wait()

    def leave(self) -> None:
        """Let the next one in."""
        self._order.end(self)

    def let_in(self) -> None:
        """It is the first now."""
        self._is_let_in.set()
