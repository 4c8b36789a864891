"""Work on a log, with the power cut in each of its operations in turn."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable

from tidelog.log.partition_log import PartitionLog
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.disk_faults import PowerCutError

_STEPS_MAX = 1000

Make = Callable[[SimDisk], Awaitable[PartitionLog]]
Work = Callable[[PartitionLog], Awaitable[object]]


async def ends(work: Awaitable[object]) -> bool:
    """Whether it does before the power goes."""
    try:
        await work
    except PowerCutError:
        return False
    return True


async def power_cuts(
    make: Make, work: Work, *, fates: int = 3
) -> AsyncIterator[tuple[SimDisk, bool]]:
    """Disks after a power cut in the first operation of `work`, in the second, …, after all.

    Each with several fates of what was not stored; and whether `work` had ended.
    """
    for step in range(1, _STEPS_MAX):
        has_ended = False
        for fate in range(fates):
            disk = SimDisk(random.Random(step * fates + fate), 0.0)
            log = await make(disk)
            disk.crash_at(step)
            has_ended = await ends(work(log))
            disk.crash()
            yield disk, has_ended
        if has_ended:
            return
    raise AssertionError("the work has no end")
