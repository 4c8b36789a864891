"""Numbers that a seed and a place decide: the n-th of a seed is the same in every process. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tidelog.core.chance import SeededRandom

T = TypeVar("T")


class Dice:
    """Implements `tidelog.core.env.Random`. No place depends on those before it."""

    def __init__(self, seed: int, place: int) -> None:
        random = SeededRandom(seed).fork(str(place))
        self.random = random.random
        self.randrange = random.randrange
        self.randbytes = random.randbytes

    def one_of(self, values: Sequence[T]) -> T:
        """Draw one of several, each as likely."""
        return values[self.randrange(0, len(values))]

    def happens(self, probability: float) -> bool:
        """True if something of this probability does."""
        return self.random() < probability
