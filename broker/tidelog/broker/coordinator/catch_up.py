"""Waits until this broker knows what the controllers had decided when it was asked.

A request may name what is newer than this broker's metadata image, and what never was. The answer
to a heartbeat that was sent later tells them apart: the image that has all of it is new enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidelog.core.env import Clock
from tidelog.core.errors import CoordinatorNotAvailableError

WAITING_MAX = 100
"""Requests that wait at a time; more are told to come again."""
LOOK_EVERY_S = 0.02


class CatchUp:
    """Those who wait for metadata; `known_as_of_ms` as `Lifecycle`'s."""

    def __init__(self, known_as_of_ms: Callable[[], int | None], clock: Clock) -> None:
        self._known_as_of_ms = known_as_of_ms
        self._clock = clock
        self._waiting = 0

    async def wait(self, is_enough: Callable[[], bool], *, since_ms: int, timeout_ms: int) -> None:
        """Wait until `is_enough`, or all is known that was decided before `since_ms`.

        Raises `CoordinatorNotAvailableError` when neither is so in time.
        """
        if self._waiting >= WAITING_MAX:
            raise CoordinatorNotAvailableError("too many requests wait for metadata: try again")
        self._waiting += 1
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while not (  # noqa: ASYNC110  # an image tells nobody that it came
                    is_enough() or self._knows_all(since_ms)
                ):
                    await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError:
            raise CoordinatorNotAvailableError(
                f"this broker has not heard of the controllers' decisions for {timeout_ms} ms"
            ) from None
        finally:
            self._waiting -= 1

    def _knows_all(self, since_ms: int) -> bool:
        known_ms = self._known_as_of_ms()
        return known_ms is not None and known_ms > since_ms
