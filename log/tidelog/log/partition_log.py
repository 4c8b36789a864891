"""The log of one partition replica: its contract.

    append_as_leader, append_as_follower     whole batches at the end, all or nothing
    read, offset_for_time, …                 whole batches, each walked and CRC-checked
    flush, checkpoint, close                 what a power loss, a crash, a start may cost
    truncate_to, start_anew                  the end moves down: the follower's side of an election
    delete_records, apply_retention          the start moves up
    replace_segments                         compaction puts a shorter copy in the place of segments
    damage, scrub                            what is not as it was written is never served

Owns the files of one folder, see `file_names`. Knows nothing of roles and replicas: whoever appends
as leader has the right to. Data is on stable storage only after `flush`; the checkpoint never
claims more than that. Base offsets have no gap between batches, ever: a gap is damage.

One task at a time may append or truncate; everything else may run beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import structlog

from tidelog.log.batch import BatchHeader, Buffer, iter_batches, placed, stamped
from tidelog.log.checkpoints import Checkpoint
from tidelog.log.config import LogConfig
from tidelog.log.env import Clock, Disk
from tidelog.log.errors import (
    CorruptMessageError,
    DamagedLogError,
    OffsetOutOfRangeError,
    StorageError,
    invariant,
)
from tidelog.log.file_names import CLEANED
from tidelog.log.log_folder import LogFolder, delete_log
from tidelog.log.recovery import (
    Damage,
    Recovered,
    rebuild_producers,
    recover,
    report,
    update_producers,
)
from tidelog.log.retention import SegmentFacts, expired_segments
from tidelog.log.segment import ReadResult, Segment
from tidelog.log.segment_list import SegmentList
from tidelog.log.stable_storage import StableStorage
from tidelog.log.time_lookup import (
    Span,
    TimestampedOffset,
    offset_for_time,
    offset_of_max_timestamp,
)
from tidelog.log.validation import ProducedBatch, validate_produced

__all__ = [
    "AppendResult",
    "Damage",
    "PartitionLog",
    "ReadResult",
    "RetentionResult",
    "TimestampedOffset",
    "delete_log",
]

PRODUCER_EXPIRATION_MS = 24 * 60 * 60 * 1000
"""producer.id.expiration.ms: how long a silent producer's last batches are remembered."""
_log = structlog.get_logger(__name__)


class AppendResult(NamedTuple):
    """Where batches are; `last_offset` is inclusive. A duplicate is where it was, appended once."""

    base_offset: int
    last_offset: int
    log_end_offset: int
    log_append_time_ms: int | None = None
    is_duplicate: bool = False


class RetentionResult(NamedTuple):
    """What left the log."""

    segments: int
    bytes: int


class _Placed(NamedTuple):
    """A batch on its way into the log: its header there, as it came, and its bytes there."""

    header: BatchHeader
    batch: memoryview
    pieces: tuple[Buffer, ...]


class PartitionLog:
    """One open log; made by `open`. After a `StorageError` it takes no more writes."""

    def __init__(
        self,
        *,
        directory: str,
        disk: Disk,
        clock: Clock,
        config: LogConfig,
        folder: LogFolder,
        recovered: Recovered,
        checkpoint: Checkpoint | None,
    ) -> None:
        """Use `open`."""
        self.directory = directory
        self.topic_id = folder.topic_id
        self.config = config
        """May be replaced at any time."""
        self.damage = recovered.damage
        """Nothing is served from here while it is set; `truncate_to` its offset heals."""
        self.was_clean = recovered.is_clean
        """Whether the last life ended with `close`, and its files are as it left them."""
        self.producers = recovered.producers
        self._disk = disk
        self._clock = clock
        self._folder = folder
        self._epochs = recovered.epochs
        self._segments = SegmentList(
            disk, directory, segments=recovered.segments, run_at=recovered.epochs.run_at
        )
        self._snapshots = recovered.snapshots
        self._stable = StableStorage(
            clock=clock,
            folder=folder,
            segments=self._segments,
            snapshots=recovered.snapshots,
            epochs=recovered.epochs,
            checkpoint=checkpoint,
            log_start_offset=recovered.log_start_offset,
        )
        self._files_lock = asyncio.Lock()
        self._scrubbed_to = 0

    @classmethod
    async def open(
        cls, *, directory: str, disk: Disk, clock: Clock, config: LogConfig, topic_id: bytes
    ) -> PartitionLog:
        """Open the log in `directory`, recovering it, or make a new one.

        Whatever its files hold, it opens: see `damage`. Raises `KafkaError` INCONSISTENT_TOPIC_ID
        when it belongs to another topic, `StorageError` when the disk refuses.
        """
        started_ms = clock.monotonic_ms()
        folder = LogFolder(disk, directory, topic_id)
        left = await folder.enter()
        recovered = await recover(
            disk=disk,
            directory=directory,
            config=config,
            checkpoint=left.checkpoint,
            clean_marker=left.clean_marker,
            now_ms=clock.wall_ms(),
        )
        if not left.is_owner_known:
            recovered.damage = Damage(recovered.log_start_offset, "no file says whose log this is")
        log = cls(
            directory=directory,
            disk=disk,
            clock=clock,
            config=config,
            folder=folder,
            recovered=recovered,
            checkpoint=left.checkpoint,
        )
        report(
            recovered,
            directory=directory,
            recovery_point=left.checkpoint.recovery_point if left.checkpoint else 0,
            took_ms=clock.monotonic_ms() - started_ms,
        )
        if log.damage is None:
            await log._stable.lower_recovery_point(log.log_end_offset)
        return log

    # What it holds

    @property
    def log_start_offset(self) -> int:
        """The oldest offset that is served; may lie within a batch."""
        return self._stable.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset the next record gets."""
        return self._segments.active.next_offset

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch with records or assigned, -1 when there is none."""
        return self._epochs.latest_epoch

    @property
    def size_in_bytes(self) -> int:
        """Of all segments, without indexes."""
        return self._segments.size_in_bytes

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Oldest first; the last one is active. For whoever compacts: read, never write."""
        return self._segments.all

    @property
    def is_usable(self) -> bool:
        """Whether it takes reads and writes: neither damaged, nor failed, nor closed."""
        return self.damage is None and not self._stable.is_failed

    @property
    def recovery_point(self) -> int:
        """Everything below is on stable storage."""
        return self._stable.recovery_point

    @property
    def high_watermark(self) -> int:
        """The last one set; after a start the one of the last checkpoint."""
        return self._stable.high_watermark

    @property
    def first_dirty_offset(self) -> int:
        """Everything below has been compacted."""
        return self._stable.first_dirty_offset

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest open transaction begins."""
        return self.producers.first_unstable_offset

    @property
    def unflushed_messages(self) -> int:
        """How many records a power loss may take."""
        return self.log_end_offset - self._stable.recovery_point

    @property
    def is_flush_due(self) -> bool:
        """Whether flush.messages asks for a `flush` before anyone is answered."""
        return self.log_end_offset - self._stable.recovery_point >= self.config.flush_messages

    @property
    def is_flush_overdue(self) -> bool:
        """Whether flush.ms asks for a `flush`."""
        since_ms = self._stable.unflushed_since_ms
        return (
            since_ms is not None and self._clock.monotonic_ms() - since_ms >= self.config.flush_ms
        )

    # Appending

    def append_as_leader(self, records: bytes, *, leader_epoch: int) -> AppendResult:
        """Validate a producer's batches, give them offsets and the epoch, append them; all or none.

        A batch that an idempotent producer has sent before is not appended again: see
        `AppendResult`. Raises what `validate_produced` and `ProducerStates.check` raise;
        `StorageError` when the disk refused: nothing was appended, unless it `is_outcome_unknown`,
        and the log is out of service until it is opened anew.
        """
        self._require_usable()
        now_ms = self._clock.wall_ms()
        batches = validate_produced(records, config=self.config, now_ms=now_ms)
        duplicate = self.producers.check(batches[0][0])
        if duplicate is not None:
            return AppendResult(
                duplicate.base_offset,
                duplicate.last_offset,
                self.log_end_offset,
                is_duplicate=True,
            )
        invariant(leader_epoch >= self.latest_epoch, leader_epoch, self.latest_epoch)
        is_append_time = self.config.message_timestamp_type == "LogAppendTime"
        if is_append_time:
            batches = [stamped(header, batch, now_ms) for header, batch in batches]
        result = self._append(self._placed(batches, leader_epoch), len(records), now_ms)
        return result._replace(log_append_time_ms=now_ms) if is_append_time else result

    def append_as_follower(self, records: bytes) -> AppendResult:
        """Append what the leader sent, as it is. All or nothing.

        Raises `CorruptMessageError` when a batch is damaged, does not continue the log or goes back
        in epochs; `StorageError` as `append_as_leader`.
        """
        self._require_usable()
        now_ms = self._clock.wall_ms()
        batches = list(iter_batches(records))
        next_offset, epoch = self.log_end_offset, 0
        for header, _ in batches:
            if header.base_offset != next_offset or header.partition_leader_epoch < epoch:
                raise CorruptMessageError(
                    f"batch at offset {header.base_offset} of epoch {header.partition_leader_epoch}"
                    f" does not continue the log at offset {next_offset} of epoch {epoch}"
                )
            next_offset, epoch = header.next_offset, header.partition_leader_epoch
        if not batches:
            raise CorruptMessageError("no record batch to append")
        placed_batches = [_Placed(header, batch, (batch,)) for header, batch in batches]
        return self._append(placed_batches, len(records), now_ms)

    def assign_epoch(self, *, epoch: int, start_offset: int) -> None:
        """A new leader marks where its epoch begins, before it writes in it."""
        self._epochs.assign(epoch, start_offset)

    def set_high_watermark(self, offset: int) -> None:
        """Remember it for the next start, held within the log's ends."""
        self._stable.high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))

    # Reading

    def read(self, offset: int, *, max_bytes: int, upper_bound: int) -> ReadResult:
        """Whole batches from the one that holds `offset`, none reaching `upper_bound` (exclusive).

        At most `max_bytes`, but at least one batch when there is one; from one segment. The first
        may begin below `offset`. Raises `OffsetOutOfRangeError`; `DamagedLogError` when a stored
        batch is not as it was written: `damage` is set then; `StorageError`.
        """
        self._require_whole()
        if not self._stable.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRangeError(
                f"offset {offset} is outside {self.log_start_offset} to {self.log_end_offset}",
                log_start_offset=self._stable.log_start_offset,
                log_end_offset=self.log_end_offset,
            )
        if offset >= min(upper_bound, self.log_end_offset):
            return ReadResult(b"", offset)
        segment = self._segments.holding(offset)
        try:
            return segment.read(offset, max_bytes=max_bytes, upper_bound=upper_bound)
        except DamagedLogError as error:
            self.note_damage(error)
            raise

    def offset_for_time(self, timestamp_ms: int, *, upper_bound: int) -> TimestampedOffset | None:
        """The first record below `upper_bound` that is no older than `timestamp_ms` (KIP-79).

        Raises as `read`.
        """
        self._require_whole()
        span = Span(self._stable.log_start_offset, min(upper_bound, self.log_end_offset))
        try:
            return offset_for_time(self._segments.all, timestamp_ms, span=span)
        except DamagedLogError as error:
            self.note_damage(error)
            raise

    def offset_of_max_timestamp(self, *, upper_bound: int) -> TimestampedOffset | None:
        """The first of the newest records below `upper_bound` (KIP-734). Raises as `read`."""
        self._require_whole()
        span = Span(self._stable.log_start_offset, min(upper_bound, self.log_end_offset))
        try:
            return offset_of_max_timestamp(self._segments.all, span=span)
        except DamagedLogError as error:
            self.note_damage(error)
            raise

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """The largest epoch ≤ `epoch`, or -1, and the offset after its last record (KIP-279)."""
        return self._epochs.end_offset_for(epoch, log_end_offset=self.log_end_offset)

    async def scrub(self, *, max_bytes: int) -> int:
        """Read the next stretch of flushed batches and see that they are good; bytes read.

        Begins again at the start after the end. Sets `damage` instead of raising.
        """
        if self.damage is not None or self._stable.is_failed:
            return 0
        offset = max(self._scrubbed_to, self.segments[0].base_offset)
        if offset >= self._stable.recovery_point:
            self._scrubbed_to = 0
            return 0
        segment = self._segments.holding(offset)
        try:
            start = segment.place_of(offset)
            end = segment.check(start, max_bytes=max_bytes)
        except DamagedLogError as error:
            self.note_damage(error)
            return 0
        self._scrubbed_to = end.base_offset
        return end.position - start.position

    def note_damage(self, error: DamagedLogError) -> None:
        """Serve nothing more: whoever read a segment by itself found it so."""
        self.damage = Damage(error.first_bad_offset, error.message)
        _log.error("log damaged", directory=self.directory, reason=error.message)

    # The end moves down

    async def truncate_to(self, offset: int) -> None:
        """Drop every batch that holds `offset` or a later one; durable when it returns.

        Epochs assigned at or above the new end go too, even when no batch does (KAFKA-10706).
        A damaged log is whole again when it was cut to its damage.
        """
        async with self._files_lock:
            if self.damage is None or offset > self.damage.first_bad_offset:
                self._require_usable()
            elif self.damage is not None:
                await self._folder.claim()
            end = max(self.log_start_offset, min(offset, self.log_end_offset))
            self._epochs.truncate_from_end(end)
            if end < self.log_end_offset or self.damage is not None:
                await self._stable.lower_recovery_point(end)
                with self._stable.failing():
                    await self._cut(end)
            self.damage = None

    async def start_anew(self, offset: int) -> None:
        """Drop everything and begin empty at `offset`: the leader has nothing older.

        Heals any damage; durable when it returns.
        """
        async with self._files_lock:
            if self.damage is None:
                self._require_usable()
            with self._stable.failing():
                await self._folder.claim()
                self._epochs.truncate_from_end(0)
                # Before anything goes: a start in between finds all of it below the log start.
                await self._stable.begin_at(offset)
                self._segments.begin_anew(offset, self.config)
                self._snapshots.drop_above(-1)
                self.producers.clear()
                await self._segments.sync_names()
            self.damage = None

    # The start moves up

    async def delete_records(self, offset: int) -> int:
        """Serve nothing below `offset` any more, for good; returns the log start offset.

        It never moves down, nor above the log end. What is committed is for the caller to know.
        """
        async with self._files_lock:
            self._require_usable()
            await self._raise_log_start(offset)
            self._retire_below_start()
            return self._stable.log_start_offset

    async def apply_retention(self) -> RetentionResult:
        """Let go of segments that had their time or are too many, by the topic's policy."""
        async with self._files_lock:
            self._require_usable()
            now_ms = self._clock.wall_ms()
            self.producers.expire(now_ms, expiration_ms=PRODUCER_EXPIRATION_MS)
            count = expired_segments(
                [
                    SegmentFacts(one.next_offset, one.size, one.max_timestamp)
                    for one in self.segments
                ],
                config=self.config,
                log_start_offset=self._stable.log_start_offset,
                high_watermark=self._stable.high_watermark,
                now_ms=now_ms,
            )
            if not count:
                return RetentionResult(0, 0)
            with self._stable.failing():
                if count == len(self.segments):
                    self._roll()
                await self._raise_log_start(self.segments[count].base_offset)
            return self._retire_below_start()

    async def remove_deleted(self) -> int:
        """Remove the files that left the log file.delete.delay.ms ago; how many."""
        before_ms = self._clock.monotonic_ms() - self.config.file_delete_delay_ms
        return self._segments.remove_retired(before_ms=before_ms)

    # Compaction

    def new_cleaned_segment(self, base_offset: int) -> Segment:
        """An empty segment for `replace_segments`; until then a crash leaves nothing of it."""
        return self._segments.new_segment(base_offset, self.config, suffix=CLEANED)

    async def replace_segments(
        self, old: Sequence[Segment], cleaned: Segment, *, first_dirty_offset: int
    ) -> bool:
        """Put `cleaned`, which covers the offsets of `old`, in their place; durable.

        False: `old` are not sealed in the log any more as they were; `cleaned` is gone then.
        """
        async with self._files_lock:
            self._require_usable()
            if not self._segments.is_replaceable(old, cleaned):
                cleaned.delete()
                return False
            with self._stable.failing():
                now_ms = self._clock.monotonic_ms()
                await self._segments.replace(old, cleaned, now_ms=now_ms)
                self._stable.first_dirty_offset = max(
                    self._stable.first_dirty_offset, first_dirty_offset
                )
                await self._stable.save()
            return True

    # Stable storage

    async def flush(self) -> None:
        """Bring everything appended before the call to stable storage."""
        async with self._files_lock:
            self._require_usable()
            await self._stable.sync(self.segments)

    async def checkpoint(self) -> None:
        """Flush all but the last segment, save the recovery point and what else a start must know.

        Call it every few seconds: it bounds what a start after a crash must scan. Costs nothing
        when nothing changed, or when the log is damaged: then the last one stays.
        """
        async with self._files_lock:
            if self.damage is None:
                self._require_usable()
                await self._stable.sync(self.segments[:-1])
                await self._stable.save()

    async def close(self) -> None:
        """Flush, save the checkpoint, mark the shutdown clean, close all files."""
        async with self._files_lock:
            try:
                if not self._stable.is_failed and self.damage is None:
                    self._segments.active.seal()
                    self._snapshots.write(self.log_end_offset, self.producers.entries())
                    await self._stable.sync(self.segments)
                    await self._stable.save()
                    await self._folder.mark_clean(self.log_end_offset)
            finally:
                self._stable.is_failed = True
                self._segments.close()

    # Inside

    def _placed(self, batches: Sequence[ProducedBatch], leader_epoch: int) -> list[_Placed]:
        """The batches as they will lie in the log, with what a leader decides of them."""
        next_offset, found = self.log_end_offset, []
        for header, batch in batches:
            header, pieces = placed(
                header, batch, base_offset=next_offset, leader_epoch=leader_epoch
            )
            next_offset = header.next_offset
            found.append(_Placed(header, batch, pieces))
        return found

    def _append(self, batches: Sequence[_Placed], size_bytes: int, now_ms: int) -> AppendResult:
        for header, _, _ in batches:
            self._epochs.assign(header.partition_leader_epoch, header.base_offset)
        first, last = batches[0].header, batches[-1].header
        with self._stable.failing():
            if not self._segments.active.has_room(
                header=last, size_bytes=size_bytes, config=self.config
            ):
                self._roll()
            pieces = [piece for batch in batches for piece in batch.pieces]
            self._segments.active.append(pieces, [batch.header for batch in batches])
        for header, batch, _ in batches:
            update_producers(self.producers, header, batch, now_ms)
        if self._stable.unflushed_since_ms is None:
            self._stable.unflushed_since_ms = self._clock.monotonic_ms()
        return AppendResult(first.base_offset, last.last_offset, last.next_offset)

    def _roll(self) -> None:
        """Begin a new segment, with the producers as they are at its base offset."""
        self._segments.roll(self.config)
        self._snapshots.write(self.log_end_offset, self.producers.entries())

    async def _cut(self, end: int) -> None:
        """Truncate the files, so that no power loss brings back what they held."""
        self._segments.cut(end)
        self._stable.clamp()
        await self._segments.active.file.sync()
        await self._disk.sync_directory(self.directory)
        self._snapshots.drop_above(self.log_end_offset)
        self.producers = await rebuild_producers(
            self.segments, self._snapshots, self._clock.wall_ms()
        )

    async def _raise_log_start(self, offset: int) -> None:
        """Persist, then serve no more: what a restart brought back could be read twice."""
        self._stable.log_start_offset = max(self.log_start_offset, offset)
        self._stable.clamp()
        await self._stable.save()

    def _retire_below_start(self) -> RetentionResult:
        gone = [
            one for one in self.segments[:-1] if one.next_offset <= self._stable.log_start_offset
        ]
        if not gone:
            return RetentionResult(0, 0)
        with self._stable.failing():
            now_ms = self._clock.monotonic_ms()
            size_bytes = self._segments.retire_first(len(gone), now_ms=now_ms)
            self._snapshots.drop_below(self.segments[0].base_offset)
        self._epochs.truncate_from_start(self.segments[0].base_offset)
        return RetentionResult(len(gone), size_bytes)

    def _require_whole(self) -> None:
        if self.damage is not None:
            raise DamagedLogError(
                f"the log in {self.directory} is damaged from offset "
                f"{self.damage.first_bad_offset} on, nothing is served: {self.damage.reason}",
                first_bad_offset=self.damage.first_bad_offset,
            )

    def _require_usable(self) -> None:
        self._require_whole()
        if self._stable.is_failed:
            raise StorageError(f"the log in {self.directory} is closed or failed: open it anew")
