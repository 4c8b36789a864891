"""Who waits for a record's outcome: futures, for one record or for many.

Owns no batch and retries nothing.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from tidelog.client.records import BulkMetadata, RecordMetadata, TopicPartition


class Delivery(Protocol):
    """Told once for every run of its records."""

    def acknowledged(self, tp: TopicPartition, base_offset: int, count: int, /) -> None:
        """`count` records lie at `base_offset` on (-1: nobody knows, acks=0)."""

    def failed(self, error: Exception, count: int, /) -> None:
        """`count` records were given up."""


class SingleDelivery:
    """One record. A caller that gave up waiting is no reason to touch the batch."""

    __slots__ = ("_timestamp_ms", "future")

    def __init__(self, *, timestamp_ms: int) -> None:
        self._timestamp_ms = timestamp_ms
        self.future: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()

    def acknowledged(self, tp: TopicPartition, base_offset: int, _count: int, /) -> None:
        """See `Delivery`."""
        if not self.future.done():
            metadata = RecordMetadata(tp.topic, tp.partition, base_offset, self._timestamp_ms)
            self.future.set_result(metadata)

    def failed(self, error: Exception, _count: int, /) -> None:
        """See `Delivery`."""
        if not self.future.done():
            self.future.set_exception(error)


class BulkDelivery:
    """Many records, over any number of batches: done once each has its outcome."""

    __slots__ = ("_acknowledged", "_error", "_failed", "_pending", "future")

    def __init__(self, *, count: int) -> None:
        self._pending = count
        self._acknowledged = 0
        self._failed = 0
        self._error: Exception | None = None
        self.future: asyncio.Future[BulkMetadata] = asyncio.get_running_loop().create_future()
        self._resolve(0)

    def acknowledged(self, _tp: TopicPartition, _base_offset: int, count: int, /) -> None:
        """See `Delivery`."""
        self._acknowledged += count
        self._resolve(count)

    def failed(self, error: Exception, count: int, /) -> None:
        """See `Delivery`."""
        self._failed += count
        self._error = self._error or error
        self._resolve(count)

    def _resolve(self, count: int) -> None:
        self._pending -= count
        if self._pending == 0 and not self.future.done():
            self.future.set_result(BulkMetadata(self._acknowledged, self._failed, self._error))
