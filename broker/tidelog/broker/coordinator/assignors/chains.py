"""Chains of moves from member to member: a gives to b, b gives another partition to c.

No chain from one member to another whose load is smaller by 2 or more means that no assignment is
more even: the semi-matching is optimal (Harvey, Ladner, Lovasz, Tamir: Semi-matchings for
bipartite graphs and load balancing, 2006).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.broker.coordinator.assignors.holdings import Holdings
from tidelog.broker.coordinator.assignors.member_sets import first_of, members_of
from tidelog.broker.coordinator.assignors.pools import Pool
from tidelog.broker.coordinator.assignors.slices import Sliced, Steps

CHAIN_STEPS = 10
"""Steps that the moves of a chain and the search's beginning count for."""


class Reach:
    """Members that chains from `start` lead to, found wave by wave: the shortest chains first.

    `members` and `pools` are bits; those that are in at first are not entered.
    """

    def __init__(
        self, pools: Sequence[Pool], start: int, *, members: int = 0, used_pools: int = 0
    ) -> None:
        self._all_pools = pools
        self._start = start
        self.members = members | 1 << start
        self.pools = used_pools
        self._givers: dict[int, int] = {}
        self._entered: list[tuple[int, int]] = []

    def wave(
        self, givers: Iterable[int], given: Sequence[int], goal: int, steps: Steps
    ) -> Sliced[int]:
        """Enter the members that `givers` can give to, out of pools `given[giver]`; return them.

        The wave stops early once it has a member of the goal, bits as they are.
        """
        reached = 0
        for giver in givers:
            for pool in members_of(given[giver] & ~self.pools):
                self.pools |= 1 << pool
                self._givers[pool] = giver
                entered = self._all_pools[pool].subscribers & ~self.members
                self._entered.append((pool, entered))
                self.members |= entered
                reached |= entered
                if entered & goal:
                    return reached
                if steps.fill_slice():
                    yield None
            if steps.fill_slice():
                yield None
        return reached

    def move_to(self, end: int, holdings: Holdings) -> None:
        """Do the moves of the chain to a member that was entered, or to the start: none."""
        taker = end
        while taker != self._start:
            pool = next(pool for pool, entered in self._entered if entered >> taker & 1)
            holdings.move(pool, self._givers[pool], taker)
            taker = self._givers[pool]


def level(pools: Sequence[Pool], holdings: Holdings, steps: Steps) -> Sliced[None]:
    """Move partitions along chains until no chain makes loads more even."""
    unsettled = (1 << len(holdings.held)) - 1
    used_pools = 0
    while unsettled:
        start = holdings.loads.heaviest(unsettled)
        lightest = holdings.loads.lightest_members()
        if holdings.loads[start] - holdings.loads[first_of(lightest)] < 2:
            return  # as even as can be: no need to settle the others
        reach = Reach(pools, start, members=~unsettled, used_pools=used_pools)
        end = yield from _lighter_end(reach, start, holdings, lightest, steps)
        if end is not None:
            reach.move_to(end, holdings)
            if steps.fill_slice(CHAIN_STEPS):
                yield None
            continue
        # Nothing leaves the members reached, so that no later chain through them ends elsewhere,
        # and their loads differ from the heaviest by one at most: they are done.
        unsettled &= ~reach.members
        used_pools = reach.pools


def _lighter_end(
    reach: Reach, start: int, holdings: Holdings, lightest: int, steps: Steps
) -> Sliced[int | None]:
    """Find the lightest member lighter by 2 or more, at the first wave with any.

    Chains go over surplus partitions as far as these lead: only then does a member of the chain
    give a partition that it owned.
    """
    loads = holdings.loads
    givers, waiting = [start], list[int]()
    while givers or waiting:
        if givers:
            waiting += givers
            reached = yield from reach.wave(givers, holdings.surplus, lightest, steps)
        else:
            reached = yield from reach.wave(waiting, holdings.held, lightest, steps)
            waiting = []
        if reached and loads[end := loads.lightest(reached)] <= loads[start] - 2:
            return end
        givers = list(members_of(reached))
    return None


def regain(pools: Sequence[Pool], holdings: Holdings, steps: Steps) -> Sliced[None]:
    """Give members back what they owned, along chains that cost nobody else an owned partition.

    Loads stay as even as they are.
    """
    is_better = True
    while is_better:
        is_better = False
        for member in range(len(holdings.held)):
            for pool in holdings.lost(member):
                while holdings.count(member, pool) < holdings.owned(member, pool) and (
                    yield from _regain_one(pools, holdings, member, pool, steps)
                ):
                    is_better = True
            if steps.fill_slice():
                yield None


def _regain_one(
    pools: Sequence[Pool], holdings: Holdings, member: int, pool: int, steps: Steps
) -> Sliced[bool]:
    """Take a partition of the pool back from a member with surplus; return if there is a way.

    The load goes on along a chain to the same member, or to another one lighter by one before.
    """
    others = holdings.with_surplus[pool]
    if not others:
        return False
    reach = Reach(pools, member)
    givers = [member]
    while givers and not others & reach.members:
        reached = yield from reach.wave(givers, holdings.surplus, others, steps)
        givers = list(members_of(reached))
    loads = holdings.loads
    if both := others & reach.members:
        giver = end = first_of(both)
    else:
        giver, end = loads.heaviest(others), loads.lightest(reach.members)
        if loads[giver] <= loads[end]:
            return False
    reach.move_to(end, holdings)
    holdings.move(pool, giver, member)
    if steps.fill_slice(CHAIN_STEPS):
        yield None
    return True
