"""Leaders of the partitions that lack a marker, by this broker's metadata image. Pure.

A topic's id that the image lacks is of a deleted topic, or of one that this broker has not heard
of yet: it was in the image of the leader that had its partition added. So it counts as deleted
once this broker surely knows all that was decided before it was first missed.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.transactions.marker_lines import Place
from tidelog.broker.transactions.transaction import TransactionPartition
from tidelog.core.env import Clock
from tidelog.metadata.image import MetadataImage

MISSED_MAX = 10_000
"""Missing topics that are remembered; the longest missed ones are looked at again."""


class MarkerLeaders:
    """`known_as_of_ms` as `Lifecycle`'s."""

    def __init__(
        self,
        *,
        image: Callable[[], MetadataImage],
        known_as_of_ms: Callable[[], int | None],
        clock: Clock,
    ) -> None:
        self._image = image
        self._known_as_of_ms = known_as_of_ms
        self._clock = clock
        self._missed_ms: dict[bytes, int] = {}
        """By topic id: time by the monotonic clock at which it was first missed."""

    def leader_of(self, partition: TransactionPartition) -> int | Place:
        """Find the broker that leads a partition."""
        topic = self._image().topic_by_id(partition.topic.id)
        if topic is None:
            return Place.GONE if self._is_deleted(partition.topic.id) else Place.UNKNOWN
        self._missed_ms.pop(partition.topic.id, None)
        if partition.number >= len(topic.partitions):
            return Place.UNKNOWN  # it was added, and this broker has not heard of it
        leader_id = topic.partitions[partition.number].leader_id
        return Place.UNKNOWN if leader_id is None else leader_id

    def _is_deleted(self, topic_id: bytes) -> bool:
        missed_ms = self._missed_ms.get(topic_id)
        if missed_ms is None:
            if len(self._missed_ms) >= MISSED_MAX:
                del self._missed_ms[next(iter(self._missed_ms))]
            self._missed_ms[topic_id] = self._clock.monotonic_ms()
            return False
        known_ms = self._known_as_of_ms()
        return known_ms is not None and known_ms > missed_ms
