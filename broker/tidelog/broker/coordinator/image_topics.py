"""Topics of a metadata image, as the cores of this package ask for them. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.coordinator.patterns.topic_patterns import TopicPatterns
from tidelog.broker.coordinator.subscribed_topics import digest_of
from tidelog.metadata.image import MetadataImage, TopicImage


class ImageTopics:
    """`Topics` of the newest image, whichever that is when a question is asked."""

    def __init__(
        self, image: Callable[[], MetadataImage], patterns: TopicPatterns | None = None
    ) -> None:
        self._image = image
        self._patterns = TopicPatterns() if patterns is None else patterns
        self._seen: tuple[object, int] = (None, 0)
        self._digests: dict[str, tuple[TopicImage, int]] = {}

    @property
    def revision(self) -> object:
        """See `Topics`."""
        topics, patterns = self._image().topics, self._patterns.revision
        if self._seen[0] is not topics or self._seen[1] != patterns:
            self._seen = (topics, patterns)
            if len(self._digests) > len(topics):
                self._digests.clear()  # some are of topics that are gone
        return self._seen

    def topic_id(self, topic: str) -> bytes | None:
        """See `Topics`."""
        found = self._image().topics.get(topic)
        return None if found is None else found.topic_id

    def name(self, topic_id: bytes) -> str | None:
        """See `Topics`."""
        found = self._image().topic_by_id(topic_id)
        return None if found is None else found.name

    def partition_count(self, topic_id: bytes) -> int:
        """See `Topics`."""
        found = self._image().topic_by_id(topic_id)
        return 0 if found is None else len(found.partitions)

    def leader_epoch(self, topic_id: bytes, partition: int) -> int:
        """See `Topics`."""
        found = self._image().topic_by_id(topic_id)
        return -1 if found is None else found.partitions[partition].leader_epoch

    def matching(self, pattern: str) -> frozenset[str]:
        """See `Topics`."""
        return self._patterns.matching(pattern)

    def digest(self, topic: str) -> int:
        """See `Topics`."""
        found = self._image().topics.get(topic)
        if found is None:
            return 0
        known = self._digests.get(topic)
        if known is None or known[0] is not found:
            digest = digest_of(topic, found.topic_id, len(found.partitions))
            known = self._digests[topic] = (found, digest)
        return known[1]
