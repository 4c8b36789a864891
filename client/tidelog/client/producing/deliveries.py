"""The waiters for the outcome of records: futures, for one record or for many.

Owns no batch and retries nothing.
"""

from __future__ import annotations

import asyncio

from tidelog.client.errors import TransactionAbortedError
from tidelog.client.producing.producer_interceptors import OnDelivery
from tidelog.client.records import BulkMetadata, RecordMetadata, TopicPartition


class SingleDelivery:
    """The waiter of one record. A caller that gives up waiting does not change the batch.

    The listener, which raises nothing, is called once, whether or not a caller waits.
    """

    __slots__ = ("_listener", "_timestamp_ms", "future")

    def __init__(self, *, timestamp_ms: int, listener: OnDelivery | None = None) -> None:
        self._timestamp_ms = timestamp_ms
        self._listener = listener
        self.future: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()

    def acknowledge(
        self, tp: TopicPartition, base_offset: int, _count: int, append_time_ms: int | None, /
    ) -> None:
        """See `Delivery`."""
        if self._listener is None and self.future.done():
            return
        time_ms = self._timestamp_ms if append_time_ms is None else append_time_ms
        metadata = RecordMetadata(tp.topic, tp.partition, base_offset, time_ms)
        if not self.future.done():
            self.future.set_result(metadata)
        if self._listener is not None:
            self._listener(metadata, None)

    def fail(self, error: Exception, _count: int, /) -> None:
        """See `Delivery`."""
        if not self.future.done():
            self.future.set_exception(error)
            if self._listener is not None or isinstance(error, TransactionAbortedError):
                # The listener gets the error, and an abort is the application's own: asyncio must
                # not report it as never retrieved.
                self.future.exception()
        if self._listener is not None:
            self._listener(None, error)


class BulkDelivery:
    """The waiter of many records, over any number of batches: done once each has its outcome.

    The listener, which raises nothing, is called once per record.
    """

    __slots__ = (
        *("_acknowledged", "_error", "_failed", "_listener", "_pending", "_timestamp_ms"),
        "future",
    )

    def __init__(
        self, *, count: int, timestamp_ms: int, listener: OnDelivery | None = None
    ) -> None:
        self._pending = count
        self._acknowledged = 0
        self._failed = 0
        self._error: Exception | None = None
        self._timestamp_ms = timestamp_ms
        self._listener = listener
        self.future: asyncio.Future[BulkMetadata] = asyncio.get_running_loop().create_future()
        self._resolve(0)

    def acknowledge(
        self, tp: TopicPartition, base_offset: int, count: int, append_time_ms: int | None, /
    ) -> None:
        """See `Delivery`."""
        self._acknowledged += count
        self._resolve(count)
        if self._listener is not None:
            time_ms = self._timestamp_ms if append_time_ms is None else append_time_ms
            for place in range(count):
                offset = base_offset + place if base_offset >= 0 else -1
                metadata = RecordMetadata(tp.topic, tp.partition, offset, time_ms)
                self._listener(metadata, None)

    def fail(self, error: Exception, count: int, /) -> None:
        """See `Delivery`."""
        self._failed += count
        self._error = self._error or error
        self._resolve(count)
        if self._listener is not None:
            for _ in range(count):
                self._listener(None, error)

    def _resolve(self, count: int) -> None:
        self._pending -= count
        if self._pending == 0 and not self.future.done():
            self.future.set_result(BulkMetadata(self._acknowledged, self._failed, self._error))
