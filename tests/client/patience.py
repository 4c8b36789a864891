"""Waits of the tests of clients, on virtual time: each has an end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE_MS = 30_000
POLL_S = 0.001


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while not condition():  # noqa: ASYNC110  # any condition
            await asyncio.sleep(POLL_S)
