"""Loads that a fetch by itself left before they ended: the next fetch from there goes on with them.

Owns them between two fetches, the newest `LATE_LOADS_MAX`. A disk that takes longer than its
callers wait is read to the end all the same, and by one thread, not by one for each attempt. What
is loaded promises nothing: whoever takes it asks the partition's core anew (decision 0027).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tidelog.broker.partition.partition import HostedPartition
from tidelog.core.memory_reads import Loaded

LATE_LOADS_MAX = 16
"""Kept for fetches to come; beyond it the oldest is given up."""


@dataclass(slots=True, eq=False)
class Load:
    """What the reads of one partition lacked, and what brings more of it, if anything does."""

    loaded: Loaded
    task: asyncio.Task[None] | None = None


class LateLoads:
    """Of one broker, by partition and fetch offset."""

    def __init__(self) -> None:
        self._loads: dict[tuple[HostedPartition, int], Load] = {}

    def keep(self, hosted: HostedPartition, fetch_offset: int, load: Load) -> None:
        """The load goes on, and is there for the next fetch of these records."""
        self._end(self._loads.pop((hosted, fetch_offset), None))
        self._loads[hosted, fetch_offset] = load
        if len(self._loads) > LATE_LOADS_MAX:
            self._end(self._loads.pop(next(iter(self._loads))))

    def take(self, hosted: HostedPartition, fetch_offset: int) -> Load | None:
        """What an earlier fetch of these records left; it is the caller's now."""
        return self._loads.pop((hosted, fetch_offset), None)

    def _end(self, load: Load | None) -> None:
        if load is not None and load.task is not None:
            load.task.cancel()
