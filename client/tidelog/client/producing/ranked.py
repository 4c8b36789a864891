"""Values ordered by rank, the lowest first. Pure.

Values may be added and removed in any order, by their rank.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K", int, tuple[int, int])
V = TypeVar("V")


class Ranked(Generic[K, V]):
    """A sorted list with one value per rank; most values are added at its end."""

    def __init__(self) -> None:
        self._ranks: list[K] = []
        self._values: dict[K, V] = {}

    def __len__(self) -> int:
        """The number of values."""
        return len(self._ranks)

    def __iter__(self) -> Iterator[V]:
        """Iterate over the values in order; do not put or drop any meanwhile."""
        return (self._values[rank] for rank in self._ranks)

    @property
    def first_rank(self) -> K:
        """The lowest rank; there must be a value."""
        return self._ranks[0]

    @property
    def first(self) -> V:
        """The value of the lowest rank; there must be one."""
        return self._values[self._ranks[0]]

    def put(self, rank: K, value: V) -> None:
        """Add a value, or replace the value of its rank."""
        if rank not in self._values:
            insort(self._ranks, rank)
        self._values[rank] = value

    def drop(self, rank: K) -> None:
        """Remove the value of a rank, if there is one."""
        if self._values.pop(rank, None) is not None:
            del self._ranks[bisect_left(self._ranks, rank)]
