"""Turns of the loop: work on many items that yields to other tasks in between.

A request's elements are worked on in turns of at most `PER_TURN`. The turns of clients' requests
are shared: whatever number of them is at work, one turn is given in each pass of the loop, to one
address after the other, so that heartbeats, the quorum and small requests wait for one turn at
most. Work of the node itself, which has no `Caller`, goes on in the next pass.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from itertools import islice
from typing import TypeVar

from tidelog.core.element_room import ElementRoom

T = TypeVar("T")

PER_TURN = 64
"""Partitions or topics that a request processes before yielding the loop: 1 to 4 ms."""
PER_PIECE = 500
"""Elements that are only read or written in a piece, before yielding the loop: 1 to 4 ms."""


class SharedTurns:
    """Turns of all requests of a node's clients. Bounded by the requests that are at work."""

    def __init__(self) -> None:
        self.room = ElementRoom()
        """Room for the elements of all these requests."""
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """Requests that wait, by address; the next address first."""
        self._is_giving = False

    async def turn(self, address: str) -> None:
        """Wait for the next turn of this address."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.setdefault(address, deque()).append(turn)
        if not self._is_giving:
            self._is_giving = True
            loop.call_soon(self._give)
        await turn

    def _give(self) -> None:
        """Give one turn, and the next in the next pass of the loop."""
        while self._waiting:
            address, line = next(iter(self._waiting.items()))
            del self._waiting[address]
            turn = line.popleft()
            if line:
                self._waiting[address] = line  # behind all other addresses
            if not turn.done():  # not of a request that was cancelled
                turn.set_result(None)
                break
        self._is_giving = bool(self._waiting)
        if self._is_giving:
            asyncio.get_running_loop().call_soon(self._give)


class Caller:
    """The client whose request a task works on: it has one turn of the loop after the other."""

    def __init__(self, turns: SharedTurns, address: str) -> None:
        self.turns = 0
        """Number of turns that were waited for: 0 for a small request."""
        self._shared = turns
        self._address = address

    async def turn(self) -> None:
        """Wait for the next turn."""
        self.turns += 1
        await self._shared.turn(self._address)


_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


def work_for(caller: Caller) -> None:
    """Say for whom the running task works, as do those that it begins from now on."""
    _caller.set(caller)


async def turn() -> None:
    """Yield to other tasks until the running task has its next turn."""
    caller = _caller.get()
    if caller is None:
        await asyncio.sleep(0)
    else:
        await caller.turn()


async def answer_turn() -> None:
    """Yield before an answer is written, where its request took turns: writing it is one more."""
    caller = _caller.get()
    if caller is not None and caller.turns:
        await caller.turn()


class Turns:
    """Counter of a request's elements, in however many lists they are: each may be a short one."""

    def __init__(self, per_turn: int = PER_TURN) -> None:
        self._per_turn = per_turn
        self._left = per_turn

    async def of(self, items: Iterable[T]) -> AsyncIterator[T]:
        """Iterate over `items`, yielding to other tasks whenever a turn's elements are done."""
        for item in items:
            yield item
            self._left -= 1
            if self._left <= 0:
                self._left = self._per_turn
                await turn()


def in_turns(items: Iterable[T], per_turn: int = PER_TURN) -> AsyncIterator[T]:
    """Iterate over `items`, yielding to other tasks after every `per_turn` of them."""
    return Turns(per_turn).of(items)


async def listed(items: Iterator[T]) -> list[T]:
    """List what an iterator makes, in pieces."""
    found: list[T] = []
    while piece := list(islice(items, PER_PIECE)):
        found += piece
        if len(piece) == PER_PIECE:
            await turn()
    return found


async def written(items: Sequence[T], write: Callable[[Sequence[T]], object]) -> None:
    """Write items in pieces."""
    for first in range(0, len(items), PER_PIECE):
        if first:
            await turn()
        write(items[first : first + PER_PIECE])
