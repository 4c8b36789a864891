"""The memory of other processes over time: samples, and whether they grow."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def rss_bytes(pid: int) -> int | None:
    """What the process has in memory, mapped files too; None when it is gone."""
    try:
        resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return None
    return resident * _PAGE_BYTES


def slope(points: Sequence[tuple[float, float]]) -> float:
    """By how much y grows for each x: the least squares' line through at least two points."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if len(set(xs)) < 2:
        return 0.0
    return statistics.linear_regression(xs, ys).slope


def growth_of_last_half(values: Sequence[float]) -> float:
    """From the middle to the end, by the slope between: one odd sample makes no growth."""
    half = values[len(values) // 2 :]
    return slope(list(enumerate(half))) * (len(half) - 1)
