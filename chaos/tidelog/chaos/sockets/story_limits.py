"""Limits of a story's run: it ends within its time, and a failure of the run itself is reported."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROKEN_S_MAX = 10.0
"""Time left once something is broken: later anomalies may follow from that."""
LOOK_EVERY_S = 0.1


async def run_within(
    story: Coroutine[Any, Any, None], *, within_s: float, is_broken: Callable[[], bool]
) -> bool:
    """Run the story; False: it was broken off. Errors: the story's."""
    clock = asyncio.get_running_loop().time
    running, ends_s = asyncio.create_task(story, name="story"), clock() + within_s
    try:
        while not running.done() and clock() < ends_s:
            if is_broken():
                ends_s = min(ends_s, clock() + BROKEN_S_MAX)
            await asyncio.wait({running}, timeout=LOOK_EVERY_S)
        if running.done():
            await running
            return True
        return False
    finally:
        running.cancel()
        await asyncio.wait({running})


@contextmanager
def report_failures(report: Callable[[str], None]) -> Iterator[None]:
    """Catch any error of the block, and `report` it with its line."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # whatever a run ends with is its outcome
        place = traceback.extract_tb(error.__traceback__)[-1]
        report(f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})")
