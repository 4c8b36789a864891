"""Ends tasks within a limit: no close waits for a call that does not heed its cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

UNWIND_MS = 100
"""The limit of a close's wait for cancelled tasks; a task that has not ended is left alone."""


async def unwind(tasks: Iterable[asyncio.Task[Any]]) -> None:  # Any: no result is looked at
    """Cancel tasks and wait until all have ended, at most UNWIND_MS.

    A task left alone may still end later: the code that started it makes sure that its result
    changes nothing by then.
    """
    ending = list(tasks)
    for task in ending:
        if not task.cancelling():
            task.cancel()
    if ending:
        await asyncio.wait(ending, timeout=UNWIND_MS / 1000)
