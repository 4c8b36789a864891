"""Room for the elements of wide requests: how many a node works on at one time.

A wide request takes some three hundred bytes of memory for each element while it is worked on, ten
times its bytes on the wire. So what has no room waits as the bytes it came in, one address after
the other, and one address has at most half of the room.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

ELEMENTS_AT_WORK_MAX = 1 << 18
"""Elements of all wide requests that are worked on: about 80 MiB."""


class Held:
    """Room that a request has. `elements` may become less."""

    def __init__(self, room: ElementRoom, address: str, elements: int) -> None:
        self.elements = elements
        self._room = room
        self._address = address

    def shrink(self, elements: int) -> None:
        """Keep room for so many."""
        freed, self.elements = self.elements - elements, elements
        self._room.give_back(self._address, freed)


class ElementRoom:
    """The room of one node, for all its listeners."""

    def __init__(self, elements_max: int = ELEMENTS_AT_WORK_MAX) -> None:
        self.elements = 0
        """Elements that are worked on."""
        self._max = elements_max
        self._by_address: Counter[str] = Counter()
        self._waiting: dict[str, deque[tuple[int, asyncio.Future[None]]]] = {}
        """Requests that wait, by address; the next address first."""

    @asynccontextmanager
    async def hold(self, address: str, elements: int) -> AsyncIterator[Held]:
        """Wait for room for so many elements, and give back what is left of it in the end."""
        await self._take(address, elements)
        held = Held(self, address, elements)
        try:
            yield held
        finally:
            held.shrink(0)

    def give_back(self, address: str, elements: int) -> None:
        """Give room back, and let in who has room now."""
        self.elements -= elements
        self._by_address[address] -= elements
        if not self._by_address[address]:
            del self._by_address[address]
        self._let_in()

    async def _take(self, address: str, elements: int) -> None:
        if address not in self._waiting and self._has_room(address, elements):
            self._count(address, elements)
            return
        let_in = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append((elements, let_in))
        try:
            await let_in
        except asyncio.CancelledError:
            if let_in.done() and not let_in.cancelled():
                self.give_back(address, elements)
            else:
                self._let_in()  # it may have been in the way
            raise

    def _let_in(self) -> None:
        for address in list(self._waiting):
            line = self._waiting[address]
            while line and line[0][1].done():
                line.popleft()  # who has left
            if line and self._has_room(address, line[0][0]):
                elements, let_in = line.popleft()
                self._count(address, elements)
                let_in.set_result(None)
                self._waiting[address] = self._waiting.pop(address)  # behind all other addresses
            if not line:
                del self._waiting[address]

    def _has_room(self, address: str, elements: int) -> bool:
        """True if it fits; an address that is alone may have more than there is."""
        is_within = self.elements + elements <= self._max or not self.elements
        own = self._by_address[address]
        return is_within and (own + elements <= self._max // 2 or not own)

    def _count(self, address: str, elements: int) -> None:
        self.elements += elements
        self._by_address[address] += elements
