"""Runs coroutines on virtual time: what they sleep takes none."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from tidelog.simulation.engine.scheduler import Scheduler, SchedulerLimits
from tidelog.simulation.engine.trace import Trace

RunVirtually = Callable[[Coroutine[Any, Any, Any]], Any]
LIMITS = SchedulerLimits(steps=50_000_000, virtual_s=1e9)


@contextmanager
def virtual_time() -> Iterator[RunVirtually]:
    """What runs a coroutine to its end, all on one loop."""
    scheduler = Scheduler(trace=Trace(), limits=LIMITS)
    loop = scheduler.new_loop("test")
    yield lambda work: scheduler.run(loop, work)
    scheduler.close()
