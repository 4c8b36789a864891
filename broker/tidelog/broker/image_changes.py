"""Partitions that differ from the newest image, applied in slices that do not stall the loop.

Owns the set of partitions still to be updated. Each is compared with the newest image when its turn
comes, so that a slow broker skips outdated states. Does not decide what an image means for a
partition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import islice

from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.background import Background
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage

Key = tuple[str, int]


class ImageChanges:
    """Pending partitions; the first slice is applied at once, the rest in turns by `apply`."""

    def __init__(
        self, apply: Callable[[Key], None], config: ReplicaConfig, background: Background
    ) -> None:
        self._apply = apply
        self._per_slice_max = config.changes_per_slice_max
        self._background = background
        self._waiting: dict[Key, None] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """True when every partition matches the newest image."""
        return not self._waiting

    def note(self, before: MetadataImage, now: MetadataImage) -> None:
        """Note that the image `now` replaces `before`."""
        self._waiting.update(dict.fromkeys(changed_partitions(before, now)))
        if self._task is None:
            self._work_off()
            if self._waiting:
                self._task = self._background.spawn("image-changes", self._work_on())

    async def _work_on(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)
            self._work_off()
        self._task = None

    def _work_off(self) -> None:
        for key in list(islice(self._waiting, self._per_slice_max)):
            del self._waiting[key]
            self._apply(key)


def changed_partitions(before: MetadataImage, now: MetadataImage) -> Iterator[Key]:
    """Partitions removed, added, or with another state or other configs; removed ones first."""
    are_defaults_kept = now.cluster_configs == before.cluster_configs
    if now.topics is before.topics and are_defaults_kept:
        return
    for topic in before.topics.values():
        kept = now.topics.get(topic.name)
        if kept is None or kept.topic_id != topic.topic_id:
            yield from ((topic.name, state.partition) for state in topic.partitions)
    for topic in now.topics.values():
        known = before.topics.get(topic.name)
        if known is topic and are_defaults_kept:
            continue
        for state in topic.partitions:
            if not are_defaults_kept or known is None or not _is_unchanged(state, topic, known):
                yield topic.name, state.partition


def _is_unchanged(state: PartitionImage, topic: TopicImage, known: TopicImage) -> bool:
    return (
        topic.configs == known.configs
        and state.partition < len(known.partitions)
        and known.partitions[state.partition] is state
    )
