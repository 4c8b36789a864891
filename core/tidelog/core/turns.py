"""Iteration over many items that yields to other tasks in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

PER_TURN = 64
"""Partitions or topics that a request processes before yielding the loop: 1 to 4 ms."""


async def in_turns(items: Iterable[T]) -> AsyncIterator[T]:
    """Iterate over `items`, yielding to other tasks after every `PER_TURN` of them."""
    for count, item in enumerate(items, 1):
        yield item
        if count % PER_TURN == 0:
            await asyncio.sleep(0)
