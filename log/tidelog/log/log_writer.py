"""Writing at the end of one log: batches that have been checked, and the state that follows them.

Owns the order: batches are in the file before the state of producers has them. Never
checks a batch: `partition_log` does, which alone calls this.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from tidelog.core.errors import StorageError, invariant
from tidelog.log.append_result import AppendResult
from tidelog.log.config import LogConfig
from tidelog.log.epochs import EpochCache
from tidelog.log.producer_replay import update_producers
from tidelog.log.segment_list import SegmentList
from tidelog.log.snapshot_files import SnapshotFiles
from tidelog.log.stable_storage import StableStorage
from tidelog.log.transactions import CompletedTransaction, Step
from tidelog.log.validation import LOG_APPEND_TIME, ProducedBatch
from tidelog.records.batch import (
    CONTROL_FLAG,
    TRANSACTIONAL_FLAG,
    Buffer,
    assign_offsets,
    iter_batches,
    set_append_time,
)
from tidelog.records.records import ControlMarker, encode_marker, read_marker


class LogWriter:
    """Writer of one log. After a `StorageError` the log is failed."""

    def __init__(
        self,
        *,
        segments: SegmentList,
        epochs: EpochCache,
        snapshots: SnapshotFiles,
        stable: StableStorage,
    ) -> None:
        self._segments = segments
        self._epochs = epochs
        self._snapshots = snapshots
        self._stable = stable

    def append_in_epoch(
        self,
        batches: Sequence[ProducedBatch],
        *,
        leader_epoch: int,
        config: LogConfig,
        now_ms: int,
    ) -> AppendResult:
        """Append batches at the end of the log, in a leader's epoch. Raises as `append`."""
        latest = self._epochs.latest_epoch
        invariant(leader_epoch >= latest, leader_epoch, latest)
        end = self._segments.active.next_offset
        placed, pieces = assign_offsets(batches, base_offset=end, leader_epoch=leader_epoch)
        result = self.append(placed, pieces, config=config, now_ms=now_ms)
        is_append_time = config.message_timestamp_type == LOG_APPEND_TIME
        return result._replace(log_append_time_ms=now_ms) if is_append_time else result

    def append_marker(
        self,
        marker: ControlMarker,
        *,
        producer_id: int,
        producer_epoch: int,
        leader_epoch: int,
        config: LogConfig,
        now_ms: int,
    ) -> AppendResult:
        """Append the control batch that ends a producer's transaction, unless it is here already.

        The offset of a known marker is at most the one returned. Raises as `append` and
        `ProducerStates.check_marker`.
        """
        producers = self._stable.producers
        if producers.check_marker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
        ):
            end, known = self._segments.active.next_offset, producers.marker_offset(producer_id)
            last_offset = end - 1 if known is None else known
            return AppendResult(last_offset, last_offset, end, is_duplicate=True)
        encoded = encode_marker(
            marker, producer_id=producer_id, producer_epoch=producer_epoch, timestamp_ms=now_ms
        )
        batches = list(iter_batches(encoded))
        if config.message_timestamp_type == LOG_APPEND_TIME:
            batches = [set_append_time(header, batch, now_ms) for header, batch in batches]
        return self.append_in_epoch(
            batches, leader_epoch=leader_epoch, config=config, now_ms=now_ms
        )

    def append(
        self,
        batches: Sequence[ProducedBatch],
        pieces: Sequence[Buffer],
        *,
        config: LogConfig,
        now_ms: int,
    ) -> AppendResult:
        """Append batches that have offsets and epoch, all or nothing; `pieces` are their bytes.

        Raises `StorageError` when the disk refuses, `DamagedLogError` when the active segment turns
        out to be damaged.
        """
        headers = [header for header, _ in batches]
        for header in headers:
            self._epochs.assign(header.partition_leader_epoch, header.base_offset)
        first, last = headers[0], headers[-1]
        aborted = self._aborted_by(batches)
        with self._stable.failing():
            if not self._segments.active.has_room(last, sum(map(len, pieces)), config):
                self.roll(config)
            self._segments.note_aborted(aborted)
            try:
                self._segments.active.append(pieces, headers)
            except StorageError:
                if aborted:
                    with suppress(StorageError):  # The next start rebuilds the index.
                        self._segments.active.aborted.truncate_to(first.base_offset)
                raise
        for header, batch in batches:
            update_producers(self._stable.producers, header, batch, now_ms)
        self._stable.note_append()
        return AppendResult(first.base_offset, last.last_offset, last.next_offset)

    def _aborted_by(self, batches: Sequence[ProducedBatch]) -> list[CompletedTransaction]:
        """Aborted transactions that end with these batches."""
        flags = CONTROL_FLAG | TRANSACTIONAL_FLAG
        for header, _ in batches:  # a plain loop: it runs for each append
            if header.attributes & CONTROL_FLAG:
                break
        else:
            return []
        return self._stable.producers.transactions.aborted_by(
            Step(
                header.producer_id,
                header.last_offset if header.attributes & CONTROL_FLAG else header.base_offset,
                read_marker(batch).is_commit if header.attributes & CONTROL_FLAG else None,
            )
            for header, batch in batches
            if header.attributes & flags and header.records_count and header.producer_id >= 0
        )

    def roll(self, config: LogConfig) -> None:
        """Roll a new segment, with a snapshot of the producers at its base offset."""
        self._segments.roll(config)
        entries = self._stable.producers.entries()
        self._snapshots.write(self._segments.active.next_offset, entries)
