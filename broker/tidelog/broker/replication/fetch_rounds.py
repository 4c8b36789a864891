"""Followed partitions that are named to their leader though nothing of them moved.

So that neither side can forget the other's state for good, and since joining the ISR is decided at
a fetch: those outside the ISR in each round, the rest in turns, a few a round. What a round costs
does not grow with what is followed. Decides which; when a round begins is the fetch loop's.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

Key = tuple[str, int]

ROUNDS_PER_TURN = 4
"""Few partitions have all been named after so many rounds.

Not sooner: an answer is of no use where its partition was named again before it came.
"""
TURN_PER_ROUND_MAX = 16
OUTSIDE_PER_ROUND_MAX = 100


class FetchRounds:
    """The followed partitions of one leader, in the order of their turns."""

    def __init__(self) -> None:
        self._turns: dict[Key, None] = {}
        self._outside: dict[Key, None] = {}
        """Perhaps outside the ISR; looked at when their turn comes."""
        self._due = 0
        """What the last round left of a turn, in parts of which `ROUNDS_PER_TURN` are one."""

    def add(self, key: Key) -> None:
        """It is followed from now on, or the image has something new of it."""
        self._turns.setdefault(key)
        self._outside[key] = None

    def remove(self, key: Key) -> None:
        """It is followed no more."""
        self._turns.pop(key, None)
        self._outside.pop(key, None)

    def next(self, is_outside: Callable[[Key], bool]) -> list[Key]:
        """The partitions of the next round; `is_outside` says whether one is outside the ISR."""
        named: dict[Key, None] = {}
        for key in _turned(self._outside, OUTSIDE_PER_ROUND_MAX):
            if is_outside(key):
                named[key] = None
            else:
                del self._outside[key]
        limit = ROUNDS_PER_TURN * TURN_PER_ROUND_MAX
        count, self._due = divmod(min(self._due + len(self._turns), limit), ROUNDS_PER_TURN)
        named.update(dict.fromkeys(_turned(self._turns, count)))
        return list(named)


def _turned(queue: dict[Key, None], count: int) -> list[Key]:
    """The first so many, which are the last ones then."""
    first = list(islice(queue, count))
    for key in first:
        del queue[key]
        queue[key] = None
    return first
