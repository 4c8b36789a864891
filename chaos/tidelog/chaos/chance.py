"""Drawing from what there is, by a randomness that is handed in. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from tidelog.core.env import Random

T = TypeVar("T")


def one_of(random: Random, items: Sequence[T]) -> T:
    """Any of them; there must be one."""
    return items[random.randrange(0, len(items))]


def shuffled(random: Random, items: Iterable[T]) -> list[T]:
    """All of them; what has no order of its own must be sorted first."""
    left = list(items)
    return [left.pop(random.randrange(0, len(left))) for _ in range(len(left))]
