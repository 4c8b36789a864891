"""Order of waiting appends to a partition: first come, first served.

A batch inspected by a worker must not be overtaken: an idempotent producer's sequences, and the
order of any producer's records, follow the order of requests. So each waiting append has a place in
line, and an append to a partition with a line joins it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable


class AppendOrder:
    """Lines of waiting appends for all partitions, by any hashable key."""

    def __init__(self) -> None:
        self._lines: dict[Hashable, deque[Place]] = {}

    def is_free(self, key: Hashable) -> bool:
        """True when nobody waits in this line."""
        return key not in self._lines

    def enter(self, key: Hashable) -> Place:
        """Take the last place in line. Its holder must `leave` it, or no later append runs."""
        place = Place(self, key)
        self._lines.setdefault(key, deque()).append(place)
        return place

    def is_first(self, place: Place) -> bool:
        """True when it is this place's turn."""
        return self._lines[place.key][0] is place

    def end(self, place: Place) -> None:
        """Give up a place, wherever it is in its line."""
        line = self._lines[place.key]
        line.remove(place)
        if line:
            line[0].let_in()
        else:
            del self._lines[place.key]


class Place:
    """Place in line of one append."""

    def __init__(self, order: AppendOrder, key: Hashable) -> None:
        self.key = key
        self._order = order
        self._is_let_in = asyncio.Event()

    async def turn(self) -> None:
        """Wait until all earlier places have been left."""
        if not self._order.is_first(self):
            await self._is_let_in.wait()

    def leave(self) -> None:
        """Leave the line, letting the next one in."""
        self._order.end(self)

    def let_in(self) -> None:
        """Signal that this place is now the first."""
        self._is_let_in.set()
