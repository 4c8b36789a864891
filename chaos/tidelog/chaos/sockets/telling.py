"""How a story is told to its end: within its time, and with a word when the run itself fails."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROKEN_S_MAX = 10.0
"""What is left once something is broken: what follows may follow from it."""
LOOK_EVERY_S = 0.1


async def told_in_time(
    story: Coroutine[Any, Any, None], *, within_s: float, is_broken: Callable[[], bool]
) -> bool:
    """Tell it; False: it was broken off. Errors: the story's."""
    clock = asyncio.get_running_loop().time
    telling, ends_s = asyncio.create_task(story, name="story"), clock() + within_s
    try:
        while not telling.done() and clock() < ends_s:
            if is_broken():
                ends_s = min(ends_s, clock() + BROKEN_S_MAX)
            await asyncio.wait({telling}, timeout=LOOK_EVERY_S)
        if telling.done():
            await telling
            return True
        return False
    finally:
        telling.cancel()
        await asyncio.wait({telling})


@contextmanager
def failure_told(tell: Callable[[str], None]) -> Iterator[None]:
    """Whatever fails in here ends here; told is what, and in which line."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  # whatever a run ends with is its outcome
        place = traceback.extract_tb(error.__traceback__)[-1]
        tell(f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})")
