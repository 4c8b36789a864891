"""Disk loads left running by a single fetch, which the next fetch of the same offset continues.

Owns them between two fetches, the newest `LATE_LOADS_MAX`. So a read slower than its callers' waits
still completes, in one thread, not in one for each attempt. Loaded bytes give no right to serve
them: the next fetch asks the partition's core again (decision 0027).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tidelog.broker.partition.partition import Partition
from tidelog.core.memory_reads import Loaded

LATE_LOADS_MAX = 16
"""Maximum number of loads kept for later fetches; beyond it the oldest is cancelled."""


@dataclass(slots=True, eq=False)
class Load:
    """Bytes loaded for a partition's read, and the task that loads more, if any."""

    loaded: Loaded
    task: asyncio.Task[None] | None = None


class LateLoads:
    """Late loads of one broker, by partition and fetch offset."""

    def __init__(self) -> None:
        self._loads: dict[tuple[Partition, int], Load] = {}

    def keep(self, partition: Partition, fetch_offset: int, load: Load) -> None:
        """Keep a load running for the next fetch of these records."""
        self._end(self._loads.pop((partition, fetch_offset), None))
        self._loads[partition, fetch_offset] = load
        if len(self._loads) > LATE_LOADS_MAX:
            self._end(self._loads.pop(next(iter(self._loads))))

    def take(self, partition: Partition, fetch_offset: int) -> Load | None:
        """Take over the load that an earlier fetch of these records left."""
        return self._loads.pop((partition, fetch_offset), None)

    def _end(self, load: Load | None) -> None:
        if load is not None and load.task is not None:
            load.task.cancel()
