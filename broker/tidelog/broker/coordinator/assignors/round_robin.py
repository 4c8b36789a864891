"""Kafka's round robin assignor: all partitions in order, dealt to the members in turns.

Source: Kafka's `RoundRobinAssignor` of consumers. Kafka has none on the server: `uniform` took its
place there.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator

from tidelog.broker.coordinator.assignors.interface import (
    Assignment,
    GroupSpec,
    TopicPartitionId,
)
from tidelog.broker.coordinator.assignors.member_sets import first_of
from tidelog.broker.coordinator.assignors.ordering import (
    static_members_first,
    subscribers_by_topic,
    topics_by_name,
)
from tidelog.broker.coordinator.assignors.slices import Steps


class RoundRobinAssignor:
    """Deals partitions by topic name and number, each to the next member that is subscribed."""

    name = "roundrobin"

    def assign(self, group: GroupSpec) -> Iterator[Assignment | None]:
        """Assign in turns; members that are not subscribed to the topic are skipped."""
        steps = Steps()
        members = static_members_first(group)
        subscribers = yield from subscribers_by_topic(members, steps)
        given: list[set[TopicPartitionId]] = [set() for _ in members]
        turn = 0
        for topic in topics_by_name(group):
            if topic not in subscribers:
                continue
            for partition in range(group.partition_counts[topic]):
                taker = _next_from(subscribers[topic], turn)
                given[taker].add((topic, partition))
                turn = taker + 1
                if steps.fill_slice():
                    yield None
        yield {member.member_id: frozenset(given[i]) for i, member in enumerate(members)}


def _next_from(subscribers: int, turn: int) -> int:
    """Find the first subscriber whose turn is `turn` or later, around the circle of members."""
    later = subscribers >> turn << turn
    return first_of(later or subscribers)
