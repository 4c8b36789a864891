"""The committed metadata of this node: the image, and its newest batches, to be followed.

Owns both, as the state machine of the replicated log. A bounded tail of the batches is held; a
follower that needs older ones gets the image as a snapshot. Void batches are not kept.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from typing import NamedTuple

from tidelog.core.errors import invariant
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.delta import replay
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.metadata.snapshot import SnapshotReader, pieces_of
from tidelog.raft.replicated_log import CommittedEntry, ProposalUnknownError
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataSnapshotPiece


class FollowedBatch(NamedTuple):
    """A batch that applied, with the offset it was committed at."""

    offset: int
    batch: MetadataBatch


Followed = list[FollowedBatch] | MetadataSnapshotPiece
"""Batches, or a piece of a snapshot, for a follower; an empty list is a keep-alive."""


OnBatch = Callable[[MetadataImage, MetadataBatch, int], None]
"""Called with a batch that applied: the image before it, the batch, its offset."""


class MetadataStateMachine:
    """Grows by one batch at a time; any number of followers read it, each with its own cursor.

    It is the `StateMachine` of the replicated log.
    """

    def __init__(self, config: ControllerConfig, on_batch: OnBatch | None = None) -> None:
        self._config = config
        self._on_batch = on_batch
        self._image = EMPTY_IMAGE
        self._tail: deque[FollowedBatch] = deque()
        self._tail_bytes = 0
        self._tail_base = 0
        """The offset after which `_tail` holds every batch that applied."""
        self._grew = asyncio.Event()
        self._is_closed = False

    @property
    def image(self) -> MetadataImage:
        """The image as of the last batch that applied."""
        return self._image

    def apply(self, entry: CommittedEntry) -> None:
        """Apply a batch unless it is void. An exception means that the node must stop."""
        batch = MetadataBatch.FromString(entry.command)
        image = replay(self._image, batch, offset=entry.index)
        if image is self._image:
            return
        if self._on_batch is not None:
            self._on_batch(self._image, batch, entry.index)
        self._image = image
        self._tail.append(FollowedBatch(entry.index, batch))
        self._tail_bytes += batch.ByteSize()
        self._trim()
        self._wake_followers()

    def records(self) -> Iterator[bytes]:
        """Yield the image as of this call in pieces, each made when it is asked for."""
        return (piece.SerializeToString(deterministic=True) for piece in pieces_of(self._image))

    def restore(self, records: Iterable[bytes], *, index: int, term: int) -> None:
        """Become the image that `records` gave; followers go on from a snapshot of it."""
        reader, image = SnapshotReader(), None
        for record in records:
            invariant(image is None, "nothing follows the last piece of a snapshot", index)
            image = reader.take(MetadataSnapshotPiece.FromString(record))
        invariant(image is not None, "a snapshot is whole", index, term)
        if image is None:
            return
        invariant(
            self._image.offset <= image.offset <= index and image.controller_epoch <= term,
            "a snapshot is of the log and goes forward",
            *(self._image.offset, image.offset, index, image.controller_epoch, term),
        )
        self._image, self._tail_base = image, image.offset
        self._tail.clear()
        self._tail_bytes = 0
        self._wake_followers()

    def has_applied(self, offset: int) -> bool:
        """True when the batch committed at `offset` applied: False when it was void.

        Errors: `ProposalUnknownError` when its tail no longer reaches back to `offset`.
        """
        if offset <= self._tail_base:
            raise ProposalUnknownError("its outcome is no longer known: look, or ask again")
        for followed in reversed(self._tail):
            if followed.offset <= offset:
                return followed.offset == offset
        return False

    async def follow(
        self, from_offset: int, *, accepts_snapshot: bool = False
    ) -> AsyncGenerator[Followed, None]:
        """Yield batches after `from_offset`, old ones first, then each as it applies, until closed.

        A follower that accepts a snapshot gets one, piece by piece, where it is new (0) or batches
        it needs are gone. Others get the oldest batches held: to their images these are void.
        """
        while not self._is_closed:
            if accepts_snapshot and self._needs_snapshot(from_offset):
                image = self._image
                for piece in pieces_of(image):
                    yield piece
                from_offset = image.offset
                continue
            found = self._after(from_offset)
            if not found:
                await self._wait_for_growth()
                if accepts_snapshot and self._needs_snapshot(from_offset):
                    continue
                found = self._after(from_offset)
            if found:
                from_offset = found[-1].offset
            yield found

    def close(self) -> None:
        """End all followers."""
        self._is_closed = True
        self._wake_followers()

    def _needs_snapshot(self, from_offset: int) -> bool:
        return from_offset < self._tail_base or (from_offset == 0 and self._image.offset > 0)

    def _trim(self) -> None:
        """Drop the oldest batches; the newest one stays, however large it is."""
        batches_max, bytes_max = self._config.tail_batches_max, self._config.tail_bytes_max
        while len(self._tail) > 1 and (
            len(self._tail) > batches_max or self._tail_bytes > bytes_max
        ):
            gone = self._tail.popleft()
            self._tail_base = gone.offset
            self._tail_bytes -= gone.batch.ByteSize()

    def _after(self, offset: int) -> list[FollowedBatch]:
        found: list[FollowedBatch] = []
        size_bytes = 0
        for position in range(bisect_right(self._tail, offset, key=_offset), len(self._tail)):
            if found and size_bytes >= self._config.follow_bytes_max:
                break
            found.append(self._tail[position])
            size_bytes += found[-1].batch.ByteSize()
        return found

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


def _offset(followed: FollowedBatch) -> int:
    return followed.offset
