"""The result of a table writer's writes: a `Delivery` that many batches share. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.client.records import TopicPartition


class PartitionWriteResult(NamedTuple):
    """The records written to a partition; other producers' records may lie between the offsets.

    With acks=0 the offsets are unknown: -1.
    """

    records: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The acknowledged records, and the bytes of their batches as sent, compressed."""

    records: int = 0
    bytes: int = 0
    partitions: dict[TopicPartition, PartitionWriteResult] = field(default_factory=dict)


class Tally:
    """The counts of a writer's batches from flush to flush."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        """The first error."""
        self._bytes = 0
        self._partitions: dict[TopicPartition, PartitionWriteResult] = {}

    def count_sent(self, size_bytes: int) -> None:
        """Count a batch of `size_bytes` that was put into the buffer."""
        self._bytes += size_bytes

    def acknowledge(
        self,
        tp: TopicPartition,
        base_offset: int,
        count: int,
        _append_time_ms: int | None = None,
        /,
    ) -> None:
        """See `Delivery`."""
        last_offset = base_offset + count - 1 if base_offset >= 0 else -1
        before = self._partitions.get(tp, PartitionWriteResult(0, base_offset, last_offset))
        self._partitions[tp] = PartitionWriteResult(
            before.records + count,
            min(before.first_offset, base_offset),
            max(before.last_offset, last_offset),
        )

    def fail(self, error: Exception, _count: int, /) -> None:
        """See `Delivery`."""
        self.error = self.error or error

    def raise_error(self) -> None:
        """Raise the first error, if there was one."""
        if self.error is not None:
            raise self.error

    def write_result(self) -> WriteResult:
        """The result, once all batches are acknowledged."""
        partitions = dict(sorted(self._partitions.items()))
        records = sum(one.records for one in partitions.values())
        return WriteResult(records, self._bytes, partitions)
