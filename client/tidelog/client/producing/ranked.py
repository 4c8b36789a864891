"""Values in the order of their ranks, the lowest first. Pure.

Owns nothing but the order: values come and go in any, by their rank.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K", int, tuple[int, int])
V = TypeVar("V")


class Ranked(Generic[K, V]):
    """One value for each rank; a list, whose end is where most of them enter."""

    def __init__(self) -> None:
        self._ranks: list[K] = []
        self._values: dict[K, V] = {}

    def __len__(self) -> int:
        """Number of values."""
        return len(self._ranks)

    def __iter__(self) -> Iterator[V]:
        """In order; put and drop nothing meanwhile."""
        return (self._values[rank] for rank in self._ranks)

    @property
    def first_rank(self) -> K:
        """The lowest; ask only while there are values."""
        return self._ranks[0]

    @property
    def first(self) -> V:
        """The value of the lowest rank; ask only while there are values."""
        return self._values[self._ranks[0]]

    def put(self, rank: K, value: V) -> None:
        """Enter a value, or another one for its rank."""
        if rank not in self._values:
            insort(self._ranks, rank)
        self._values[rank] = value

    def drop(self, rank: K) -> None:
        """Strike out the value of a rank, if there is one."""
        if self._values.pop(rank, None) is not None:
            del self._ranks[bisect_left(self._ranks, rank)]
