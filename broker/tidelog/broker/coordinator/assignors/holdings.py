"""Counts of partitions by member and pool: those held now against those owned before."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.assignors.member_sets import Loads


class Holdings:
    """Counts by member and pool: nothing held and nothing owned at first.

    held[member], surplus[member]: pools, as bits, of which the member holds any partition, and of
    which it holds more than it owned: it can give one of them and keep what it owned.
    with_surplus[pool]: members, as bits, that hold more of the pool than they owned.
    """

    def __init__(self, members: int, pools: int) -> None:
        self.loads = Loads(members)
        self.held = [0] * members
        self.surplus = [0] * members
        self.with_surplus = [0] * pools
        self._counts: list[dict[int, int]] = [{} for _ in range(members)]
        self._owned: list[dict[int, int]] = [{} for _ in range(members)]

    def keep(self, member: int, pool: int) -> None:
        """Count a partition that the member owned, and holds."""
        self._owned[member][pool] = self._owned[member].get(pool, 0) + 1
        self.add(member, pool, 1)

    def add(self, member: int, pool: int, change: int) -> None:
        """Change how many partitions of the pool the member holds."""
        count = self.count(member, pool) + change
        self._counts[member][pool] = count
        self.loads.add(member, change)
        _set_bit(self.held, member, pool, is_in=count > 0)
        has_surplus = count > self.owned(member, pool)
        _set_bit(self.surplus, member, pool, is_in=has_surplus)
        _set_bit(self.with_surplus, pool, member, is_in=has_surplus)

    def move(self, pool: int, giver: int, taker: int) -> None:
        """Move a partition of the pool."""
        self.add(giver, pool, -1)
        self.add(taker, pool, 1)

    def count(self, member: int, pool: int) -> int:
        """Count the partitions of the pool that the member holds."""
        return self._counts[member].get(pool, 0)

    def owned(self, member: int, pool: int) -> int:
        """Count the partitions of the pool that the member owned before."""
        return self._owned[member].get(pool, 0)

    def lost(self, member: int) -> list[int]:
        """Pools of which the member holds fewer partitions than it owned."""
        return [p for p, owned in self._owned[member].items() if self.count(member, p) < owned]


def _set_bit(sets: list[int], place: int, number: int, *, is_in: bool) -> None:
    if is_in:
        sets[place] |= 1 << number
    else:
        sets[place] &= ~(1 << number)
