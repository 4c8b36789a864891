"""Garbage collection of the node: young objects often, all objects rarely.

Reference counts free nearly everything; the collector only finds cycles. By default it scans every
object of the process repeatedly, and in a node with thousands of partitions one such scan blocks
the loop for 0.1 s. Here the survivors of a collection of the oldest generation are frozen
(`gc.freeze`) and not scanned again, until the cycles among many frozen objects may matter, or an
hour has passed. See docs/decisions/0033.
"""

from __future__ import annotations

import asyncio
import gc
from typing import Final

FULL_INTERVAL_S: Final = 3_600.0
"""Interval between full collections: they take about 0.3 us per object, on the loop."""
SET_ASIDE_MAX: Final = 1_000_000
"""Objects frozen since the last full collection that trigger the next: some 100 MiB."""
_COUNTED_EVERY: Final = 16
"""Collections between two counts of the frozen objects: the count walks all of them."""
_OLDEST: Final = 2
_THRESHOLDS: Final = (700, 10, 3)
"""Allocations, young, middle collections before each next generation's collection.

The oldest is collected three times as often as by default, so that each such collection scans
25,000 objects, in 10 ms, and not 77,000.
"""


class GarbageCollection:
    """Control of this process's collector between `start` and `stop`."""

    def __init__(
        self, *, full_interval_s: float = FULL_INTERVAL_S, set_aside_max: int = SET_ASIDE_MAX
    ) -> None:
        self._full_interval_s = full_interval_s
        self._set_aside_max = set_aside_max
        self._set_aside = 0
        """Objects frozen just after the last full collection."""
        self._looks = 0
        self._before = gc.get_threshold()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Freeze all current objects, the code above all, and take control."""
        self._loop = asyncio.get_running_loop()
        self._before = gc.get_threshold()
        gc.set_threshold(*_THRESHOLDS)
        gc.callbacks.append(self._on_collected)
        self._look_at_all()

    def stop(self) -> None:
        """Restore Python's default behaviour."""
        if self._timer is not None:
            self._timer.cancel()
        self._loop = None
        gc.callbacks.remove(self._on_collected)
        gc.set_threshold(*self._before)
        gc.unfreeze()

    def _on_collected(self, phase: str, info: dict[str, int]) -> None:
        """Freeze the survivors of a collection of the oldest generation; runs on any thread."""
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
            return  # scheduled just before the stop
        if self._timer is not None:
            self._timer.cancel()
        gc.unfreeze()
        gc.collect()
        self._set_aside = gc.get_freeze_count()
        self._timer = self._loop.call_later(self._full_interval_s, self._look_at_all)
