"""Kafka's range assignor: consecutive partitions of each topic to each of its subscribers.

Source: Kafka's `RangeAssignor` on the server, without its stickiness and racks; members that
subscribe to the same topics get the same partition numbers of topics with equal counts.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tidelog.broker.coordinator.assignors.interface import (
    Assignment,
    GroupSpec,
    TopicPartitionId,
)
from tidelog.broker.coordinator.assignors.member_sets import members_of
from tidelog.broker.coordinator.assignors.ordering import (
    static_members_first,
    subscribers_by_topic,
    topics_by_name,
)
from tidelog.broker.coordinator.assignors.slices import Steps


class RangeAssignor:
    """Deals 8 partitions to 3 members as 0 to 2, 3 to 5, and 6 and 7."""

    name = "range"

    def assign(self, group: GroupSpec) -> Iterator[Assignment | None]:
        """Assign per topic; the first subscribers get one partition more if it does not divide."""
        steps = Steps()
        members = static_members_first(group)
        subscribers = yield from subscribers_by_topic(members, steps)
        given: list[set[TopicPartitionId]] = [set() for _ in members]
        for topic in topics_by_name(group):
            for partition, index in _ranges(
                subscribers.get(topic, 0), group.partition_counts[topic]
            ):
                given[index].add((topic, partition))
                if steps.fill_slice():
                    yield None
        yield {member.member_id: frozenset(given[i]) for i, member in enumerate(members)}


def _ranges(subscribers: int, partitions: int) -> Iterator[tuple[int, int]]:
    """Pairs of a partition and its subscriber; none if there is no subscriber."""
    if not subscribers:
        return
    each, longer = divmod(partitions, subscribers.bit_count())
    start = 0
    for place, index in enumerate(islice(members_of(subscribers), partitions)):
        end = start + each + (place < longer)
        for partition in range(start, end):
            yield partition, index
        start = end
