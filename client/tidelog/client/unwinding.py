"""Ends tasks within a limit: no close waits for a call that does not heed its cancellation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

_log = logging.getLogger(__name__)

UNWIND_MS = 100
"""The limit of a close's wait for cancelled tasks; a task that has not ended is left alone."""


async def unwind(tasks: Iterable[asyncio.Task[Any]]) -> bool:  # Any: no result is looked at
    """Cancel tasks and wait until all have ended, at most UNWIND_MS; True if all have.

    A task left alone may still end later: the code that started it makes sure that its result
    changes nothing by then.
    """
    ending = list(tasks)
    for task in ending:
        if not task.cancelling():
            task.cancel()
    if not ending:
        return True
    ended, late = await asyncio.wait(ending, timeout=UNWIND_MS / 1000)
    for task in ended:
        _ = task.cancelled() or task.exception()  # retrieved: asyncio logs others
    if late:
        _log.warning("close continues without tasks that do not end: %s", ", ".join(_names(late)))
    return not late


def _names(tasks: Iterable[asyncio.Task[Any]]) -> list[str]:  # as above
    return sorted(task.get_name() for task in tasks)
