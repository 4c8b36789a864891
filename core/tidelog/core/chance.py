"""Seeded randomness, and draws from an injected randomness. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TypeVar

from tidelog.core.env import Random

T = TypeVar("T")
_MASK = (1 << 64) - 1


def one_of(random: Random, items: Sequence[T]) -> T:
    """Draw an item; there must be at least one."""
    return items[random.randrange(0, len(items))]


def shuffled(random: Random, items: Iterable[T]) -> list[T]:
    """Shuffle the items into a new list; sort unordered ones first."""
    left = list(items)
    return [left.pop(random.randrange(0, len(left))) for _ in range(len(left))]


class SeededRandom:
    """`Random` port from one seed (splitmix64): the same on every machine and Python."""

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def fork(self, name: str) -> SeededRandom:
        """Create an independent stream, so that one part's draws do not shift another's."""
        digest = blake2b(f"{self._state}/{name}".encode(), digest_size=8).digest()
        return SeededRandom(int.from_bytes(digest, "little"))

    def random(self) -> float:
        """A float in [0, 1)."""
        return (self._next() >> 11) * 2.0**-53

    def randrange(self, start: int, stop: int) -> int:
        """An integer in [start, stop)."""
        return start + self._next() % (stop - start)

    def uniform(self, low: float, high: float) -> float:
        """A float in [low, high)."""
        return low + (high - low) * self.random()

    def randbytes(self, length: int) -> bytes:
        """`length` random bytes."""
        words = (self._next().to_bytes(8, "little") for _ in range(-(-length // 8)))
        return b"".join(words)[:length]

    def _next(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)
