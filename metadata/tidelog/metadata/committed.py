"""The committed metadata of this node: the image, and the batches it was made of, to be followed.

Owns both; `on_committed` alone changes them. The batches are kept as long as the replicated log
keeps its entries: from the first on. Void batches are not kept, nobody needs them.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import AsyncGenerator

from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.delta import replay
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.raft.replicated_log import CommittedEntry
from tidelog.v1.metadata_records_pb2 import MetadataBatch


class CommittedMetadata:
    """Grows by one batch at a time; any number of followers read it, each with its own cursor."""

    def __init__(self, config: ControllerConfig) -> None:
        self._config = config
        self._image = EMPTY_IMAGE
        self._offsets: list[int] = []
        self._batches: list[MetadataBatch] = []
        self._grew = asyncio.Event()
        self._is_closed = False

    @property
    def image(self) -> MetadataImage:
        """The image as of the last batch that applied."""
        return self._image

    def on_committed(self, entry: CommittedEntry) -> None:
        """Apply a batch unless it is void. An exception means that the node must stop."""
        batch = MetadataBatch.FromString(entry.command)
        image = replay(self._image, batch, offset=entry.index)
        if image is self._image:
            return
        self._image = image
        self._offsets.append(entry.index)
        self._batches.append(batch)
        self._wake_followers()

    def has_applied(self, offset: int) -> bool:
        """Whether the batch committed at `offset` applied: False when it was void."""
        position = bisect_right(self._offsets, offset)
        return position > 0 and self._offsets[position - 1] == offset

    async def follow(
        self, from_offset: int
    ) -> AsyncGenerator[list[tuple[int, MetadataBatch]], None]:
        """Batches after `from_offset` with their offsets, old ones first, then each as it applies.

        An empty list says that there was nothing for `follow_keep_alive_ms`. Ends when closed.
        """
        while not self._is_closed:
            found = self._after(from_offset)
            if not found:
                await self._wait_for_growth()
                found = self._after(from_offset)
            if found:
                from_offset = found[-1][0]
            yield found

    def close(self) -> None:
        """End all followers."""
        self._is_closed = True
        self._wake_followers()

    def _after(self, offset: int) -> list[tuple[int, MetadataBatch]]:
        start = end = bisect_right(self._offsets, offset)
        size_bytes = 0
        while end < len(self._batches) and (
            end == start or size_bytes < self._config.follow_bytes_max
        ):
            size_bytes += self._batches[end].ByteSize()
            end += 1
        return list(zip(self._offsets[start:end], self._batches[start:end], strict=True))

    def _wake_followers(self) -> None:
        self._grew.set()
        self._grew = asyncio.Event()

    async def _wait_for_growth(self) -> None:
        try:
            await asyncio.wait_for(
                self._grew.wait(), timeout=self._config.follow_keep_alive_ms / 1000
            )
        except TimeoutError:
            return
