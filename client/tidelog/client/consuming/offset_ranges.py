"""Ranges of offsets: those that a partition holds, and those to read. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NamedTuple

from tidelog.client.cluster_metadata import UNKNOWN_EPOCH, ClusterMetadata


class OffsetBounds(NamedTuple):
    """The offsets that readers get: earliest <= offset < latest, the high watermark."""

    earliest: int
    latest: int


class OffsetRange(NamedTuple):
    """start_offset <= offset < end_offset of a partition in one incarnation of its topic."""

    topic: str
    topic_id: bytes
    partition: int
    start_offset: int
    end_offset: int
    leader_epoch: int = UNKNOWN_EPOCH
    """An epoch in which the end was known, or a later one: older leaders' logs may end earlier."""

    def as_of(self, metadata: ClusterMetadata) -> OffsetRange:
        """The same range with the newest known leader epoch, so that no older leader serves it."""
        known = metadata.leader_epoch(self.topic, self.topic_id, self.partition)
        return self._replace(leader_epoch=max(self.leader_epoch, known))


class TopicPartitions(NamedTuple):
    """The id and partitions of an existing topic."""

    topic_id: bytes
    partitions: tuple[int, ...]
