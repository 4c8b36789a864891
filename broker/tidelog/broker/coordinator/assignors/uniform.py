"""The uniform assignor, the default: loads as even as subscriptions allow, and sticky.

Source: KIP-848's `UniformAssignor`. Where all members subscribe to the same topics, loads differ by
one at most and no assignment as even moves fewer partitions. For unequal subscriptions loads are as
even as they can be, and no chain of moves gives a member back what it owned at nobody's cost: few
partitions move, though rarely one more than must. Racks are not looked at, as in Kafka.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from tidelog.broker.coordinator.assignors.chains import level, regain
from tidelog.broker.coordinator.assignors.holdings import Holdings
from tidelog.broker.coordinator.assignors.interface import (
    Assignment,
    GroupSpec,
    TopicPartitionId,
)
from tidelog.broker.coordinator.assignors.member_sets import members_of
from tidelog.broker.coordinator.assignors.pools import Pool, read_owners, read_pools
from tidelog.broker.coordinator.assignors.slices import Sliced, Steps


class UniformAssignor:
    """Counts partitions per member first, then chooses which: kept ones before others."""

    name = "uniform"

    def assign(self, group: GroupSpec) -> Iterator[Assignment | None]:
        """Assign so that loads are even, then so that few partitions move."""
        steps = Steps()
        members = sorted(group.members, key=lambda member: member.member_id)
        pools = yield from read_pools(group, members, steps)
        owners = yield from read_owners(group, members, steps)
        holdings = Holdings(len(members), len(pools))
        yield from _fill(pools, owners, holdings, steps)
        yield from level(pools, holdings, steps)
        yield from regain(pools, holdings, steps)
        given: list[set[TopicPartitionId]] = [set() for _ in members]
        for number, pool in enumerate(pools):
            free = yield from _keep(number, pool, owners, holdings, given, steps)
            yield from _deal(number, pool, free, holdings, given, steps)
        yield {member.member_id: frozenset(given[i]) for i, member in enumerate(members)}


def _fill(
    pools: Sequence[Pool], owners: Mapping[TopicPartitionId, int], holdings: Holdings, steps: Steps
) -> Sliced[None]:
    """Count each partition for its owner, those without for the lightest subscriber."""
    unowned = [0] * len(pools)
    for number, pool in enumerate(pools):
        for partition in pool.partitions():
            owner = owners.get(partition)
            if owner is None:
                unowned[number] += 1
            else:
                holdings.keep(owner, number)
            if steps.fill_slice():
                yield None
    # Pools with the fewest subscribers come first: others can still even out what these leave.
    for number, pool in enumerate(pools):
        for _ in range(unowned[number]):
            holdings.add(holdings.loads.lightest(pool.subscribers), number, 1)
            if steps.fill_slice():
                yield None


def _keep(
    number: int,
    pool: Pool,
    owners: Mapping[TopicPartitionId, int],
    holdings: Holdings,
    given: list[set[TopicPartitionId]],
    steps: Steps,
) -> Sliced[list[TopicPartitionId]]:
    """Give owners as many of their partitions as they hold; return the others, in order.

    A member that loses some of them loses every second, say, so that it keeps some of each topic.
    """
    free: list[TopicPartitionId] = []
    seen = [0] * len(given)
    for partition in pool.partitions():
        owner = owners.get(partition)
        if owner is None:
            free.append(partition)
        else:
            owned, place = holdings.owned(owner, number), seen[owner]
            kept = min(owned, holdings.count(owner, number))
            seen[owner] += 1
            is_kept = (place + 1) * kept // owned > place * kept // owned
            (given[owner].add if is_kept else free.append)(partition)
        if steps.fill_slice():
            yield None
    return free


def _deal(
    number: int,
    pool: Pool,
    free: Sequence[TopicPartitionId],
    holdings: Holdings,
    given: list[set[TopicPartitionId]],
    steps: Steps,
) -> Sliced[None]:
    """Deal the partitions in turns to the members that hold more than they owned."""
    takers = deque[tuple[int, int]]()
    for member in members_of(pool.subscribers):
        missing = holdings.count(member, number) - holdings.owned(member, number)
        if missing > 0:
            takers.append((member, missing))
        if steps.fill_slice():
            yield None
    for partition in free:
        taker, missing = takers.popleft()
        given[taker].add(partition)
        if missing > 1:
            takers.append((taker, missing - 1))
        if steps.fill_slice():
            yield None
