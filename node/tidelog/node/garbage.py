"""The node's garbage collection: young objects often, all of them seldom.

Reference counts free nearly everything; the collector only finds cycles. Python has it look at
every object of the process again and again, and in a node with thousands of partitions one such
look takes the loop for 0.1 s. Here what is alive after a look at the oldest generation is set aside
(`gc.freeze`) and looked at no more, until so many are set aside that the cycles among them may
matter, or an hour has passed. See docs/decisions/0033.
"""

from __future__ import annotations

import asyncio
import gc
from typing import Final

FULL_INTERVAL_S: Final = 3_600.0
"""Between looks at all objects: about 0.3 us each, on the loop."""
SET_ASIDE_MAX: Final = 1_000_000
"""More objects than these set aside since the last look at all bring the next: some 100 MiB."""
_COUNTED_EVERY: Final = 16
"""Looks from one count of what is set aside to the next: the count walks all of it."""
_OLDEST: Final = 2
_THRESHOLDS: Final = (700, 10, 3)
"""Objects made, young looks, middle looks before each next: the oldest is looked at a third as
late as by default, so that each such look is at 25,000 objects, for 10 ms, and not at 77,000."""


class GarbageCollection:
    """Steers the collector of this process between `start` and `stop`."""

    def __init__(
        self, *, full_interval_s: float = FULL_INTERVAL_S, set_aside_max: int = SET_ASIDE_MAX
    ) -> None:
        self._full_interval_s = full_interval_s
        self._set_aside_max = set_aside_max
        self._set_aside = 0
        """Objects set aside just after the last look at all of them."""
        self._looks = 0
        self._before = gc.get_threshold()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Set aside what the process holds by now, its code above all; begin to steer."""
        self._loop = asyncio.get_running_loop()
        self._before = gc.get_threshold()
        gc.set_threshold(*_THRESHOLDS)
        gc.callbacks.append(self._on_collected)
        self._look_at_all()

    def stop(self) -> None:
        """Leave the collector as Python has it."""
        if self._timer is not None:
            self._timer.cancel()
        self._loop = None
        gc.callbacks.remove(self._on_collected)
        gc.set_threshold(*self._before)
        gc.unfreeze()

    def _on_collected(self, phase: str, info: dict[str, int]) -> None:
        """Set aside what outlived a look at the oldest generation; on any thread."""
        if phase != "stop" or info["generation"] != _OLDEST:
            return
        gc.freeze()
        self._looks += 1
        is_counted = self._looks % _COUNTED_EVERY == 0
        if is_counted and self._loop is not None and self._has_set_aside_much():
            self._loop.call_soon_threadsafe(self._look_at_all)

    def _has_set_aside_much(self) -> bool:
        return gc.get_freeze_count() - self._set_aside > self._set_aside_max

    def _look_at_all(self) -> None:
        if self._loop is None:
            return  # asked for just before the stop
        if self._timer is not None:
            self._timer.cancel()
        gc.unfreeze()
        gc.collect()
        self._set_aside = gc.get_freeze_count()
        self._timer = self._loop.call_later(self._full_interval_s, self._look_at_all)
