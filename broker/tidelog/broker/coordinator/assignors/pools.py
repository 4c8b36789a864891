"""Topics with the same subscribers, as one pool of partitions, and who owned which of them.

Which member has how many partitions of a pool is all that balance depends on: members may exchange
partitions of a pool as they like.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.broker.coordinator.assignors.interface import (
    GroupSpec,
    MemberSubscription,
    TopicPartitionId,
)
from tidelog.broker.coordinator.assignors.ordering import subscribers_by_topic, topics_by_name
from tidelog.broker.coordinator.assignors.slices import Sliced, Steps


@dataclass(frozen=True, slots=True)
class Pool:
    """Topics, each with its partition count, and their subscribers: bits, at least one."""

    subscribers: int
    topics: tuple[tuple[bytes, int], ...]

    def partitions(self) -> Iterator[TopicPartitionId]:
        """Partitions by topic name, then number."""
        for topic, count in self.topics:
            for partition in range(count):
                yield topic, partition


def read_pools(
    group: GroupSpec, members: list[MemberSubscription], steps: Steps
) -> Sliced[list[Pool]]:
    """Pools, those with the fewest subscribers first; bit i of a set is `members[i]`."""
    subscribers = yield from subscribers_by_topic(members, steps)
    topics: dict[int, list[tuple[bytes, int]]] = {}
    for topic in topics_by_name(group):
        if topic in subscribers:
            pool = topics.setdefault(subscribers[topic], [])
            pool.append((topic, group.partition_counts[topic]))
        if steps.fill_slice():
            yield None
    # Stable: pools with as many subscribers stay in the order of their first topics' names.
    fewest_first = sorted(topics, key=int.bit_count)
    return [Pool(bits, tuple(topics[bits])) for bits in fewest_first]


def read_owners(
    group: GroupSpec, members: list[MemberSubscription], steps: Steps
) -> Sliced[dict[TopicPartitionId, int]]:
    """Index of the member that owned it, by partition; only what exists and is subscribed to.

    Of several members that say they owned a partition, the first counts.
    """
    owners: dict[TopicPartitionId, int] = {}
    for index, member in enumerate(members):
        for topic, partition in member.owned:
            if topic in member.topic_ids and 0 <= partition < group.partition_counts.get(topic, 0):
                owners.setdefault((topic, partition), index)
            if steps.fill_slice():
                yield None
    return owners
