"""The memory of other processes over time: samples, and whether they grow."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_FIELDS = ("VmRSS", "RssAnon")


class Memory(NamedTuple):
    """Of one process, in bytes."""

    resident: int
    anonymous: int
    """Without the pages of files that it maps: index files, libraries."""

    @classmethod
    def of(cls, pid: int) -> Memory | None:
        """What the process has now; None when it is gone."""
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            return None
        sizes = {
            name: rest.split()[0]
            for name, _, rest in (one.partition(":") for one in lines)
            if name in _FIELDS
        }
        if len(sizes) < len(_FIELDS):
            return None  # a zombie
        return cls(*(int(sizes[name]) << 10 for name in _FIELDS))


class Growth(NamedTuple):
    """By how much something grew from half-way on, and by how much that may be noise."""

    size: float
    per_x: float
    noise: float
    """Two standard errors of `size`: buffers come and go."""

    @classmethod
    def of_last_half(cls, points: Sequence[tuple[float, float]]) -> Growth:
        """By the line of least squares through the (x, y) from the middle on; 0 for too few."""
        half = points[len(points) // 2 :]
        xs, ys = [x for x, _ in half], [y for _, y in half]
        if len(set(xs)) < 3:
            return cls(0.0, 0.0, 0.0)
        per_x, at_0 = statistics.linear_regression(xs, ys)
        squares = sum((y - at_0 - per_x * x) ** 2 for x, y in half)
        middle = statistics.mean(xs)
        spread = sum((x - middle) ** 2 for x in xs)
        error = math.sqrt(squares / (len(half) - 2) / spread)
        span = max(xs) - min(xs)
        return cls(per_x * span, per_x, 2 * error * span)

    def is_below(self, limit: float) -> bool:
        """Whether it grew by no more, as far as the noise lets one tell."""
        return self.size - self.noise < limit
