"""What the figures of the storage engine are made of: pairs of runs, and processes of their own.

A measure is [median, least, most] of its runs. What is compared takes turns in the same run, so
that a noisy machine strikes both; `cpu` is processor time of this process, and `share` the
yardstick's time divided by ours.
"""

from __future__ import annotations

import logging
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import structlog

Figure = dict[str, Any]  # what a JSON line holds
Times = list[tuple[float, float]]
"""Microseconds of each of many calls, by the clock and in processor time."""
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class Took:
    """Seconds, summed up over the turns of one run."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """What happens inside counts."""
        wall_s, cpu_s = time.perf_counter(), time.process_time()
        yield
        self.cpu_s += time.process_time() - cpu_s
        self.wall_s += time.perf_counter() - wall_s


@dataclass(slots=True)
class Pair:
    """One run of ours and of its yardstick, a bare loop."""

    ours: Took = field(default_factory=Took)
    bare: Took = field(default_factory=Took)


def times(pairs: Sequence[Pair], name: str, *, per_second: float) -> Figure:
    """Seconds in another unit; with the share."""
    return _compared(pairs, name, lambda seconds: seconds * per_second)


def rates(pairs: Sequence[Pair], name: str, *, amount: float) -> Figure:
    """How much of `amount` a second; with the share."""
    return _compared(pairs, name, lambda seconds: amount / seconds)


def _compared(pairs: Sequence[Pair], name: str, measure: Callable[[float], float]) -> Figure:
    return {
        name: spread([measure(pair.ours.wall_s) for pair in pairs]),
        f"bare_{name}": spread([measure(pair.bare.wall_s) for pair in pairs]),
        "share": spread([pair.bare.wall_s / pair.ours.wall_s for pair in pairs]),
        f"cpu_{name}": spread([measure(pair.ours.cpu_s) for pair in pairs]),
        "cpu_share": spread([pair.bare.cpu_s / pair.ours.cpu_s for pair in pairs]),
    }


def percentiles(runs: Sequence[tuple[Times, Times]]) -> Figure:
    """Of the calls of each run, ours and the yardstick's."""
    found = {}
    for whose, side in zip(("", "bare_"), zip(*runs, strict=True), strict=True):
        for clock, prefix in enumerate(("", "cpu_")):
            columns = [sorted(call[clock] for call in run) for run in side]
            for rank in (50, 99):
                values = [column[len(column) * rank // 100] for column in columns]
                found[f"{whose}{prefix}p{rank}_us"] = spread(values)
    return found


def spread(values: Sequence[float]) -> list[float]:
    """Median, least and most, to three digits."""
    measure = (statistics.median(values), min(values), max(values))
    return [float(f"{value:.3g}") for value in measure]


def apart(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The value of `function` in a new process, which then ends and closes nothing."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, initializer=be_quiet) as pool:
        return pool.submit(function, *args, **kwargs).result()


def be_quiet() -> None:
    """Warnings and errors only; the lines of the figures are for programs."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
