"""Parts of topics: what a partition holds, and what is to be read of it. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NamedTuple

from tidelog.client.cluster_metadata import UNKNOWN_EPOCH, ClusterMetadata


class OffsetBounds(NamedTuple):
    """What a partition holds for readers: earliest <= offset < latest, the high watermark."""

    earliest: int
    latest: int


class OffsetRange(NamedTuple):
    """start_offset <= offset < end_offset of one partition of one incarnation of a topic."""

    topic: str
    topic_id: bytes
    partition: int
    start_offset: int
    end_offset: int
    leader_epoch: int = UNKNOWN_EPOCH
    """One in which the end was known, or a later one: an older leader's log may end before it."""

    def as_of(self, metadata: ClusterMetadata) -> OffsetRange:
        """The same range, to be read from no older leader than is known by now."""
        known = metadata.leader_epoch(self.topic, self.topic_id, self.partition)
        return self._replace(leader_epoch=max(self.leader_epoch, known))


class TopicPartitions(NamedTuple):
    """One existing topic."""

    topic_id: bytes
    partitions: tuple[int, ...]
