"""Periodic re-sends of followed partitions to their leader, though their positions are unchanged.

They repair any lost state on either side, and trigger ISR expansion, which is decided at a fetch:
partitions outside the ISR are sent in every round, the rest in turns, a few per round. The cost of
a round does not depend on the number of followed partitions. Decides which partitions; the fetch
loop decides when a round begins.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

Key = tuple[str, int]

ROUNDS_PER_TURN = 4
"""Number of rounds after which all of a small number of partitions have been sent.

Not fewer: an answer is useless if its partition was sent again before it arrived.
"""
TURN_PER_ROUND_MAX = 16
OUTSIDE_PER_ROUND_MAX = 100


class FetchRounds:
    """Followed partitions of one leader, in the order of their turns."""

    def __init__(self) -> None:
        self._turns: dict[Key, None] = {}
        self._outside: dict[Key, None] = {}
        """Partitions possibly outside the ISR; checked when their turn comes."""
        self._due = 0
        """Remainder of the last rounds, in units of 1 / `ROUNDS_PER_TURN` of a partition."""

    def add(self, key: Key) -> None:
        """Add a partition that is followed now, or has a new state in the image."""
        self._turns.setdefault(key)
        self._outside[key] = None

    def remove(self, key: Key) -> None:
        """Remove a partition that is not followed anymore."""
        self._turns.pop(key, None)
        self._outside.pop(key, None)

    def next(self, is_outside: Callable[[Key], bool]) -> list[Key]:
        """Partitions of the next round; `is_outside` tells if one is outside the ISR."""
        named: dict[Key, None] = {}
        for key in _rotate(self._outside, OUTSIDE_PER_ROUND_MAX):
            if is_outside(key):
                named[key] = None
            else:
                del self._outside[key]
        limit = ROUNDS_PER_TURN * TURN_PER_ROUND_MAX
        count, self._due = divmod(min(self._due + len(self._turns), limit), ROUNDS_PER_TURN)
        named.update(dict.fromkeys(_rotate(self._turns, count)))
        return list(named)


def _rotate(queue: dict[Key, None], count: int) -> list[Key]:
    """First `count` keys of the queue, moved to its end."""
    first = list(islice(queue, count))
    for key in first:
        del queue[key]
        queue[key] = None
    return first
