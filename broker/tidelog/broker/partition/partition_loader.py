"""A whole partition, read by the coordinator whose state it holds, in slices.

Kafka's `CoordinatorLoader`. Owns nothing between two slices but where it goes on: the log may grow,
be compacted or be deleted from meanwhile, and the leadership is asked for again at each read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from enum import Enum, auto
from typing import NamedTuple

from tidelog.broker.partition.partition_listener import Leadership
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.errors import invariant
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import CONTROL_FLAG, NO_PRODUCER_ID, TRANSACTIONAL_FLAG, iter_batches
from tidelog.records.records import ControlMarker, Record, iter_records, read_marker


class LoadEnd(Enum):
    """End of a load, see `PartitionLoader.slices`."""

    HIGH_WATERMARK = auto()
    """Only committed records."""
    LOG_END = auto()
    """Every record that the leader holds, committed or not: the state it will commit."""


class LoadedBatch(NamedTuple):
    """A batch, or the marker that ends a transaction."""

    producer_id: int
    """Producer whose transaction it is part of, or ends; -1: it is in none."""
    marker: ControlMarker | None
    records: Iterator[Record]


class PartitionSlice(NamedTuple):
    """Whole batches of a partition, as they lie in the log."""

    start_offset: int
    """Records of the first batch that lie below do not belong to the slice."""
    next_offset: int
    """Exclusive end of this slice, and the start of the next."""
    records: bytes

    def read_batches(self) -> Iterator[LoadedBatch]:
        """Decode the batches, those without records left out. Raises `CorruptMessageError`."""
        for header, batch in iter_batches(self.records):
            flags = header.attributes
            if not header.records_count:
                continue
            if flags & CONTROL_FLAG:
                yield LoadedBatch(header.producer_id, read_marker(batch), iter(()))
                continue
            records = iter_records(batch, header=header)
            if header.base_offset < self.start_offset:
                start = self.start_offset
                records = (one for one in records if one.offset >= start)
            is_part = flags & TRANSACTIONAL_FLAG
            yield LoadedBatch(header.producer_id if is_part else NO_PRODUCER_ID, None, records)

    def read_records(self) -> Iterator[Record]:
        """Decode the records alone, whatever became of their transactions."""
        for one in self.read_batches():
            yield from one.records


class PartitionLoader:
    """Reads for coordinators; slices of at most `load_buffer_size` bytes, or a single batch."""

    def __init__(self, partitions: PartitionMap, config: ReplicaConfig) -> None:
        self._partitions = partitions
        self._config = config

    async def slices(
        self, leadership: Leadership, until: LoadEnd, *, start: int = 0
    ) -> AsyncIterator[PartitionSlice]:
        """Read every record from the log start, or `start`, to the end that `until` names now.

        And some later ones, as far as compaction may have come meanwhile: it may have dropped a
        record because of a newer one there. Other work has the loop between two slices, and one at
        a time is in memory. Records that are deleted meanwhile may be missing. Raises `KafkaError`
        as `PartitionWriter.append` when the leadership is over or the log out of use,
        `StorageError` when a read fails: discard what was read then.
        """
        partition_log = self._partitions.find_led(leadership).log
        offset, end = max(start, partition_log.log_start_offset), _end(partition_log, until)
        while (found := await self._read(leadership, until, offset, end)) is not None:
            yield found
            offset = found.next_offset
            await asyncio.sleep(0)

    async def _read(
        self, leadership: Leadership, until: LoadEnd, offset: int, end: int
    ) -> PartitionSlice | None:
        def read() -> PartitionSlice | None:
            # Asked for again after each wait for the disk.
            with self._partitions.find_led(leadership).at_work() as partition_log:
                start = max(offset, partition_log.log_start_offset)
                end_now = _end(partition_log, until)
                if start >= max(end, _compacted_below(partition_log, end_now)):
                    return None
                limit = self._config.load_buffer_size
                found = partition_log.read(start, max_bytes=limit, upper_bound=end_now)
            invariant(found.next_offset > start, leadership, start, end_now)
            return PartitionSlice(start, found.next_offset, found.records)

        return await self._partitions.find_led(leadership).log.reading(read)


def _compacted_below(partition_log: PartitionLog, end: int) -> int:
    """Compaction dropped no record because of one at or above: it leaves the active segment out."""
    return min(end, partition_log.segments[-1].base_offset)


def _end(partition_log: PartitionLog, until: LoadEnd) -> int:
    if until is LoadEnd.HIGH_WATERMARK:
        return partition_log.high_watermark
    return partition_log.log_end_offset
