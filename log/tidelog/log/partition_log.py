"""The log of one partition replica: appends, reads, truncation, and what survives a crash.

Owns the files of one folder: segments, `checkpoint`, `.clean`, `partition.metadata`. Knows nothing
of roles and replicas: whoever appends as leader has the right to. Data is on stable storage only
after `flush`; the checkpoint never claims more than that.

One task at a time may append or truncate; reads, `flush` and `checkpoint` may run beside it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from tidelog.log.batch import (
    BatchHeader,
    Buffer,
    assign_position,
    iter_batches,
    validate_batches,
)
from tidelog.log.checkpoints import (
    CHECKPOINT_FILE,
    CLEAN_FILE,
    METADATA_FILE,
    Checkpoint,
    CleanMarker,
    decode_checkpoint,
    decode_clean_marker,
    decode_topic_id,
    encode_checkpoint,
    encode_clean_marker,
    encode_topic_id,
)
from tidelog.log.config import LogConfig
from tidelog.log.env import Clock, Disk, write_atomically
from tidelog.log.errors import (
    CorruptMessageError,
    KafkaError,
    OffsetOutOfRangeError,
    StorageError,
    invariant,
)
from tidelog.log.recovery import Recovered, recover
from tidelog.log.segment import ReadResult, Segment, base_offsets
from tidelog.v1 import common_pb2

__all__ = ["AppendResult", "PartitionLog", "ReadResult", "delete_log"]

_MAX_SMALL_FILE_BYTES = 1 << 20
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AppendResult:
    """Where batches went; `last_offset` is inclusive."""

    base_offset: int
    last_offset: int
    log_end_offset: int


class PartitionLog:
    """One open log; made by `open`. After a `StorageError` it takes no more writes."""

    def __init__(
        self,
        *,
        directory: str,
        disk: Disk,
        config: LogConfig,
        topic_id: bytes,
        recovered: Recovered,
        checkpoint: Checkpoint | None,
    ) -> None:
        """Use `open`."""
        self.directory = directory
        self.topic_id = topic_id
        self.config = config
        """May be replaced at any time."""
        self._disk = disk
        self._segments = recovered.segments
        self._epochs = recovered.epochs
        self._is_failed = False
        self._has_new_names = False
        self._files_lock = asyncio.Lock()
        self._saved = checkpoint
        self._recovery_point = self._clamp(checkpoint.recovery_point if checkpoint else 0)
        self._high_watermark = self._clamp(checkpoint.high_watermark if checkpoint else 0)

    @classmethod
    async def open(
        cls, *, directory: str, disk: Disk, clock: Clock, config: LogConfig, topic_id: bytes
    ) -> PartitionLog:
        """Open the log in `directory`, recovering it, or make a new one.

        Raises `KafkaError` INCONSISTENT_TOPIC_ID when it belongs to another topic, `StorageError`
        when it cannot be used.
        """
        started_ms = clock.monotonic_ms()
        await _claim(disk, directory, topic_id)
        checkpoint = decode_checkpoint(_read(disk, f"{directory}/{CHECKPOINT_FILE}"))
        clean_path = f"{directory}/{CLEAN_FILE}"
        recovered = await recover(
            disk=disk,
            directory=directory,
            config=config,
            checkpoint=checkpoint,
            clean_marker=decode_clean_marker(_read(disk, clean_path)),
        )
        # Before the first write: a marker that outlives one would vouch for what it never saw.
        disk.remove(clean_path)
        await disk.sync_directory(directory)
        log = cls(
            directory=directory,
            disk=disk,
            config=config,
            topic_id=topic_id,
            recovered=recovered,
            checkpoint=checkpoint,
        )
        await log._lower_saved_recovery_point()
        log._report(recovered, checkpoint, clock.monotonic_ms() - started_ms)
        return log

    @property
    def log_start_offset(self) -> int:
        """The oldest offset there is."""
        return self._segments[0].base_offset

    @property
    def log_end_offset(self) -> int:
        """The offset the next record gets."""
        return self._segments[-1].next_offset

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch with records or assigned, -1 when there is none."""
        return self._epochs.latest_epoch

    @property
    def size_in_bytes(self) -> int:
        """Of all segments, without indexes."""
        return sum(segment.size for segment in self._segments)

    @property
    def recovery_point(self) -> int:
        """Everything below is on stable storage."""
        return self._recovery_point

    @property
    def high_watermark(self) -> int:
        """The last one set; after a start the one of the last checkpoint."""
        return self._high_watermark

    @property
    def unflushed_messages(self) -> int:
        """How many records a power loss may take."""
        return self.log_end_offset - self._recovery_point

    @property
    def is_flush_due(self) -> bool:
        """Whether flush.messages asks for a `flush` before anyone is answered."""
        return self.unflushed_messages >= self.config.flush_messages

    def append_as_leader(self, records: bytes, *, leader_epoch: int) -> AppendResult:
        """Validate whole batches from a producer, give them offsets and the epoch, append them.

        All or nothing. Raises `CorruptMessageError`, `MessageTooLargeError`, and `StorageError`
        when the disk refused: then the log is out of service until it is opened anew.
        """
        headers = validate_batches(records, max_message_bytes=self.config.max_message_bytes)
        invariant(leader_epoch >= self.latest_epoch, leader_epoch, self.latest_epoch)
        assigned = bytearray(records)
        base_offset, position = self.log_end_offset, 0
        for place, header in enumerate(headers):
            assign_position(assigned, position, base_offset=base_offset, leader_epoch=leader_epoch)
            headers[place] = header._replace(
                base_offset=base_offset, partition_leader_epoch=leader_epoch
            )
            base_offset = headers[place].next_offset
            position += header.size_in_bytes
        return self._append(assigned, headers)

    def append_as_follower(self, records: bytes) -> AppendResult:
        """Append what the leader sent, as it is. All or nothing.

        Raises `CorruptMessageError` when a batch is damaged, does not continue the log or goes back
        in epochs; `StorageError` as `append_as_leader`.
        """
        headers = [header for header, _ in iter_batches(records)]
        next_offset, epoch = self.log_end_offset, 0
        for header in headers:
            if header.base_offset != next_offset or header.partition_leader_epoch < epoch:
                raise CorruptMessageError(
                    f"batch at offset {header.base_offset} of epoch {header.partition_leader_epoch}"
                    f" does not continue the log at offset {next_offset} of epoch {epoch}"
                )
            next_offset, epoch = header.next_offset, header.partition_leader_epoch
        return self._append(records, headers)

    def assign_epoch(self, *, epoch: int, start_offset: int) -> None:
        """A new leader marks where its epoch begins, before it writes in it."""
        self._epochs.assign(epoch, start_offset)

    def set_high_watermark(self, offset: int) -> None:
        """Remember it for the next start, held within the log's ends."""
        self._high_watermark = self._clamp(offset)

    def read(self, offset: int, *, max_bytes: int, upper_bound: int) -> ReadResult:
        """Whole batches from the one that holds `offset`, none reaching `upper_bound` (exclusive).

        At most `max_bytes`, but at least one batch when there is one; from one segment. The first
        may begin below `offset`. Raises `OffsetOutOfRangeError`, `StorageError`, and
        `CorruptMessageError` when a stored header is damaged.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRangeError(
                f"offset {offset} is outside {self.log_start_offset} to {self.log_end_offset}",
                log_start_offset=self.log_start_offset,
                log_end_offset=self.log_end_offset,
            )
        if offset >= min(upper_bound, self.log_end_offset):
            return ReadResult(b"", offset)
        place = bisect_right(self._segments, offset, key=lambda segment: segment.base_offset) - 1
        return self._segments[place].read(offset, max_bytes=max_bytes, upper_bound=upper_bound)

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """The largest epoch ≤ `epoch`, or -1, and the offset after its last record (KIP-279)."""
        return self._epochs.end_offset_for(epoch, log_end_offset=self.log_end_offset)

    async def truncate_to(self, offset: int) -> None:
        """Drop every batch that holds `offset` or a later one; durable when it returns.

        Epochs assigned at or above the new end go too, even when no batch does (KAFKA-10706).
        """
        async with self._files_lock:
            self._require_usable()
            end = self._clamp(offset)
            self._epochs.truncate_from_end(end)
            if end == self.log_end_offset:
                return
            self._recovery_point = min(self._recovery_point, end)
            await self._lower_saved_recovery_point()
            await self._cut(end)

    async def flush(self) -> None:
        """Bring everything appended before the call to stable storage."""
        async with self._files_lock:
            await self._sync_up_to(len(self._segments))

    async def checkpoint(self) -> None:
        """Flush all but the last segment and save recovery point, high watermark and epochs.

        Call it every few seconds: it bounds what a start after a crash must scan. Costs nothing
        when nothing changed.
        """
        async with self._files_lock:
            await self._sync_up_to(len(self._segments) - 1)
            await self._save_checkpoint()

    async def close(self) -> None:
        """Flush, save the checkpoint, mark the shutdown clean, close all files."""
        async with self._files_lock:
            try:
                if not self._is_failed:
                    await self._sync_up_to(len(self._segments))
                    await self._save_checkpoint()
                    await self._mark_clean()
            finally:
                self._is_failed = True
                for segment in self._segments:
                    segment.close()

    def _append(self, records: Buffer, headers: Sequence[BatchHeader]) -> AppendResult:
        self._require_usable()
        if not headers:
            raise CorruptMessageError("no record batch to append")
        first, last = headers[0], headers[-1]
        for header in headers:
            self._epochs.assign(header.partition_leader_epoch, header.base_offset)
        try:
            segment = self._segment_for(last.last_offset, len(records))
            segment.append(records, headers)
        except StorageError:
            self._is_failed = True
            raise
        return AppendResult(first.base_offset, last.last_offset, last.next_offset)

    def _segment_for(self, last_offset: int, size_bytes: int) -> Segment:
        active = self._segments[-1]
        if active.has_room(last_offset=last_offset, size_bytes=size_bytes, config=self.config):
            return active
        self._segments.append(
            Segment(self._disk, self.directory, base_offset=active.next_offset, config=self.config)
        )
        self._has_new_names = True
        return self._segments[-1]

    async def _cut(self, end: int) -> None:
        """Truncate the files, so that no power loss brings back what they held."""
        try:
            while len(self._segments) > 1 and self._segments[-1].base_offset >= end:
                self._segments.pop().delete()
            self._segments[-1].truncate_to(end)
            self._recovery_point = self._clamp(self._recovery_point)
            self._high_watermark = self._clamp(self._high_watermark)
            await self._segments[-1].file.sync()
            await self._disk.sync_directory(self.directory)
        except StorageError:
            self._is_failed = True
            raise

    async def _sync_up_to(self, count: int) -> None:
        """Sync what is unflushed of the first `count` segments; never again after a failure."""
        self._require_usable()
        unflushed = [
            segment
            for segment in self._segments[:count]
            if segment.next_offset > self._recovery_point
        ]
        if not unflushed:
            return
        flushed = unflushed[-1].next_offset
        try:
            if self._has_new_names:
                self._has_new_names = False
                await self._disk.sync_directory(self.directory)
            for segment in unflushed:
                await segment.sync()
        except StorageError:
            self._is_failed = True
            raise
        self._recovery_point = flushed

    async def _lower_saved_recovery_point(self) -> None:
        """Before records are lost or cut: new ones in their place would pass for flushed."""
        if self._saved and self._saved.recovery_point > self._recovery_point:
            await self._save_checkpoint()

    async def _save_checkpoint(self) -> None:
        current = Checkpoint(self._recovery_point, self._high_watermark, self._epochs.entries)
        if current != self._saved:
            path = f"{self.directory}/{CHECKPOINT_FILE}"
            await write_atomically(self._disk, path, encode_checkpoint(current))
            self._saved = current

    async def _mark_clean(self) -> None:
        marker = CleanMarker(self.log_end_offset, self._segments[-1].size)
        path = f"{self.directory}/{CLEAN_FILE}"
        await write_atomically(self._disk, path, encode_clean_marker(marker))

    def _require_usable(self) -> None:
        if self._is_failed:
            raise StorageError(f"the log in {self.directory} is closed or failed: open it anew")

    def _clamp(self, offset: int) -> int:
        return max(self.log_start_offset, min(offset, self.log_end_offset))

    def _report(self, recovered: Recovered, checkpoint: Checkpoint | None, took_ms: int) -> None:
        promised = checkpoint.recovery_point if checkpoint else 0
        is_lossy = promised > self.log_end_offset
        is_usual = not recovered.scanned_bytes and not recovered.truncated_bytes
        report = _log.warning if is_lossy else _log.debug if is_usual else _log.info
        report(
            "log opened",
            directory=self.directory,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
            recovery_point=promised,
            is_clean=recovered.is_clean,
            segments=len(self._segments),
            scanned_bytes=recovered.scanned_bytes,
            truncated_bytes=recovered.truncated_bytes,
            removed_segments=recovered.removed_segments,
            took_ms=took_ms,
        )


async def delete_log(disk: Disk, directory: str) -> None:
    """Remove a closed log. The file that says whose it is goes last: a crash leaves no orphan."""
    for name in disk.list(directory):
        if name != METADATA_FILE:
            disk.remove(f"{directory}/{name}")
    await disk.sync_directory(directory)
    disk.remove_tree(directory)
    await disk.sync_directory(directory.rsplit("/", 1)[0])


async def _claim(disk: Disk, directory: str, topic_id: bytes) -> None:
    """Make sure the folder is there and belongs to `topic_id`."""
    path = f"{directory}/{METADATA_FILE}"
    if disk.exists(path):
        found = decode_topic_id(_read(disk, path))
        if found is None:
            raise StorageError(f"{path} is unreadable: remove the folder to fetch it anew")
        if found != topic_id:
            raise KafkaError(
                common_pb2.INCONSISTENT_TOPIC_ID,
                f"{directory} belongs to topic id {found.hex()}, not {topic_id.hex()}",
            )
        return
    if base_offsets(disk, directory):
        raise StorageError(f"{directory} holds a log but no {METADATA_FILE}: whose is it?")
    disk.make_directory(directory)
    await disk.sync_directory(directory.rsplit("/", 1)[0])
    await write_atomically(disk, path, encode_topic_id(topic_id))


def _read(disk: Disk, path: str) -> bytes:
    """A small file; empty when it does not exist."""
    if not disk.exists(path):
        return b""
    file = disk.open(path)
    try:
        return file.read_at(0, _MAX_SMALL_FILE_BYTES)
    finally:
        file.close()
