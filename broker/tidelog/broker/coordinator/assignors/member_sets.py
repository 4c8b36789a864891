"""Sets of small numbers as the bits of an integer, and members by their load.

A set of 1,000 members is 16 machine words: union and difference take a fraction of a microsecond.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator


def members_of(bits: int) -> Iterator[int]:
    """Numbers in the set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def first_of(bits: int) -> int:
    """The smallest number in a set that is not empty."""
    return (bits & -bits).bit_length() - 1


class Loads:
    """Loads of members, in partitions: zero for each at first."""

    def __init__(self, members: int) -> None:
        self._loads = [0] * members
        self._at = {0: (1 << members) - 1}
        self._levels = [0]

    def __getitem__(self, member: int) -> int:
        """The member's load."""
        return self._loads[member]

    def add(self, member: int, change: int) -> None:
        """Change a member's load."""
        before = self._loads[member]
        self._loads[member] = before + change
        self._at[before] ^= 1 << member
        if not self._at[before]:
            del self._at[before]
            del self._levels[bisect_left(self._levels, before)]
        if before + change not in self._at:
            insort(self._levels, before + change)
        self._at[before + change] = self._at.get(before + change, 0) | 1 << member

    def lightest_members(self) -> int:
        """Members with the smallest load, as bits."""
        return self._at[self._levels[0]]

    def lightest(self, members: int) -> int:
        """The first member with the smallest load of a set that is not empty."""
        return first_of(next(hit for level in self._levels if (hit := self._at[level] & members)))

    def heaviest(self, members: int) -> int:
        """The first member with the largest load of a set that is not empty."""
        levels = reversed(self._levels)
        return first_of(next(hit for level in levels if (hit := self._at[level] & members)))
