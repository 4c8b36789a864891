"""Long answers about many partitions, with the loop's turns between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

PER_TURN = 64
"""Partitions or topics that a request looks at before others have the loop: 1 to 4 ms."""


async def in_turns(items: Iterable[T]) -> AsyncIterator[T]:
    """Each of `items`; let other work have the loop after every `PER_TURN` of them."""
    for count, item in enumerate(items, 1):
        yield item
        if count % PER_TURN == 0:
            await asyncio.sleep(0)
