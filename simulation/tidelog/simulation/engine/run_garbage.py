"""The garbage that one run leaves: collected at its end, while what its ends write is unheard.

A full collection looks at all that the process holds, and a test process holds millions of objects;
that took a tenth of a second even after a run of a few steps. Objects grow old by collections
alone, and there is none within a run unless somebody asks for it: until then all that the run made
is in the two young generations.
"""

from __future__ import annotations

import gc
import sys

_HAS_AGES = sys.version_info < (3, 14)
"""Since then a collection of the middle generation is a part of a full one."""


class RunGarbage:
    """Garbage of one run, which begins with it."""

    def __init__(self) -> None:
        self._agings = _agings()

    def collect(self) -> int:
        """Collect it; returns the generation up to which was looked."""
        generation = 1 if _HAS_AGES and _agings() == self._agings else 2
        gc.collect(generation)
        return generation


def _agings() -> int:
    """Number of times young objects were made old so far."""
    _, middle, full = gc.get_stats()
    return int(middle["collections"] + full["collections"])
