"""Replay of what is read of a coordinator's partition, in the log's order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, decode
from tidelog.broker.partition.partition_loader import PartitionSlice

RECORDS_PER_TURN = 250
"""Records that are loaded before other work has the loop."""


class Shard(Protocol):
    """State of one partition; the `replay` methods alone change what the log holds of it."""

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record that was appended or loaded."""

    def replay_pending(self, record: CoordinatorRecord, producer_id: int) -> None:
        """Apply a record of a producer's transaction, which is not decided yet."""

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply the end of a producer's transaction."""

    def pending_of(self, producer_id: int) -> list[CoordinatorRecord]:
        """Records that the end of a producer's transaction decides."""


async def replay_slice(shard: Shard, piece: PartitionSlice) -> int:
    """Replay a slice, other work in between; return its number of records.

    Of records outside transactions, between two batches of transactions, the newest of each key, as
    if the others had been compacted.
    """
    count = 0
    newest: dict[bytes | None, bytes | None] = {}
    for producer_id, marker, records in piece.read_batches():
        if producer_id >= 0 and newest:
            await _replay(shard, newest)
            newest = {}
        if marker is not None:
            shard.replay_end(producer_id, is_commit=marker.is_commit)
        for raw in records:
            if producer_id < 0:
                newest.pop(raw.key, None)  # its place is that of the newest
                newest[raw.key] = raw.value
            elif (record := decode(raw.key, raw.value)) is not None:
                shard.replay_pending(record, producer_id)
            count += 1
            if count % RECORDS_PER_TURN == 0:
                await asyncio.sleep(0)
    await _replay(shard, newest)
    return count


async def _replay(shard: Shard, newest: Mapping[bytes | None, bytes | None]) -> None:
    for number, (key, value) in enumerate(newest.items(), start=1):
        record = decode(key, value)
        if record is not None:
            shard.replay(record)
        if number % RECORDS_PER_TURN == 0:
            await asyncio.sleep(0)
