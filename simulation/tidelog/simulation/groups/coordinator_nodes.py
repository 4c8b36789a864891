"""Node that coordinates a group, by a metadata image. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.group_key import partition_of
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.metadata.image import MetadataImage


def coordinator_node(image: MetadataImage, group_id: str) -> int | None:
    """Find the node that leads the group's partition; None: there is none now."""
    topic = image.topics.get(OFFSETS_TOPIC)
    if topic is None:
        return None
    found = image.partition(OFFSETS_TOPIC, partition_of(group_id, len(topic.partitions)))
    return None if found is None else found.leader_id
