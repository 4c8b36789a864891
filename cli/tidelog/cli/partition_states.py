"""Partitions that lack something: a leader, in-sync replicas, or enough of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tidelog.log.internal_configs import follows

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.admin.descriptions import PartitionDescription, TopicDescription

MIN_ISR = "min.insync.replicas"


def is_offline(partition: PartitionDescription) -> bool:
    """True if nobody leads it: it can be neither read nor written."""
    return partition.leader is None


def is_under_replicated(partition: PartitionDescription) -> bool:
    """True if a replica is not in sync."""
    return len(partition.isr) < len(partition.replicas)


def is_under_min_isr(partition: PartitionDescription, min_isr: int) -> bool:
    """True if acks=all is refused: fewer replicas in sync than required, or than there are."""
    return len(partition.isr) < min(min_isr, len(partition.replicas))


async def min_isr_of(admin: Admin, topics: Iterable[TopicDescription]) -> dict[str, int]:
    """The effective min.insync.replicas by topic: its own, or the cluster's that reaches it."""
    of_cluster = (await admin.describe_configs(None))[MIN_ISR]

    def below(topic: TopicDescription) -> str:
        return of_cluster.value if follows(topic.name, MIN_ISR) else of_cluster.default

    return {topic.name: int(topic.configs.get(MIN_ISR, below(topic))) for topic in topics}
