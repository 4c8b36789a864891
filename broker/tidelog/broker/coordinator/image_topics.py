"""Topics of a metadata image, as the cores of this package ask for them. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable

from tidelog.metadata.image import MetadataImage


class ImageTopics:
    """`Topics` of the newest image, whichever that is when a question is asked."""

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image

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
