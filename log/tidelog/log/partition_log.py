"""The log of one partition replica: its contract.

    append_as_leader, append_as_follower     whole batches at the end, all or nothing
    append_marker                            the end of a producer's transaction
    read, offset_for_time, …                 whole batches, each walked and CRC-checked
    flush, checkpoint, close                  bounds the cost of a power loss, a crash, a start
    truncate_to, restart_at                  the end moves down: a follower after an election
    delete_records, apply_retention          the start moves up
    replace_segments                         compaction replaces segments by a shorter copy
    damage, scrub                            changed or missing bytes are never served

Owns the files of one folder, see `file_names`. Knows nothing of roles and replicas: the caller of
`append_as_leader` must be the leader. Data is on stable storage only after `flush`; the checkpoint
never claims more than that. There is never an offset gap between batches: a gap is damage. One task
at a time may append or truncate; everything else may run concurrently.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

from tidelog.core.env import Clock, Disk
from tidelog.core.errors import DamagedLogError, OffsetOutOfRangeError, StorageError
from tidelog.core.logs import get_logger
from tidelog.core.memory_reads import reading
from tidelog.log import time_lookup
from tidelog.log.append_result import AppendResult
from tidelog.log.config import LogConfig
from tidelog.log.file_names import CLEANED
from tidelog.log.log_folder import ONLY_LIFE, Life, delete_log
from tidelog.log.opening import LogParts, open_parts
from tidelog.log.producers import EXPIRATION_MS, ProducerStates
from tidelog.log.recovery import Damage
from tidelog.log.retention import RetentionResult
from tidelog.log.segment import Segment
from tidelog.log.segment_walk import ReadResult
from tidelog.log.time_lookup import Span, TimestampedOffset
from tidelog.log.validation import (
    LOG_APPEND_TIME,
    UNSEEN,
    Seen,
    validate_fetched,
    validate_produced,
)
from tidelog.records.batch import Buffer
from tidelog.records.records import ControlMarker

__all__ = [
    "AppendResult",
    "Damage",
    "PartitionLog",
    "ReadResult",
    "RetentionResult",
    "TimestampedOffset",
    "delete_log",
]

T = TypeVar("T")
_log = get_logger(__name__)


class PartitionLog:
    """An open log, created by `open`. After a `StorageError` it accepts no more writes."""

    def __init__(
        self, parts: LogParts, *, directory: str, disk: Disk, clock: Clock, config: LogConfig
    ) -> None:
        self.directory = directory
        self.config = config
        """Settings of the log; may be replaced at any time."""
        self.damage = parts.damage
        """Damage found; while set, nothing is served. `truncate_to` its offset heals the log."""
        self.was_clean = parts.was_clean
        """True when the previous life ended with `close`, and the files are as it left them."""
        self.folder = parts.folder
        self.from_memory = disk.from_memory
        """Context manager that lets no read wait for the disk: see `tidelog.core.memory_reads`."""
        self._disk, self._clock = disk, clock
        self._segments = parts.segments
        self._epochs = parts.epochs
        self._snapshots = parts.snapshots
        self._stable = parts.stable
        self._writer = parts.writer
        self._ends = parts.ends
        self._files_lock = asyncio.Lock()

    @classmethod
    async def open(
        cls,
        *,
        directory: str,
        disk: Disk,
        clock: Clock,
        config: LogConfig,
        topic_id: bytes,
        life: Life = ONLY_LIFE,
    ) -> PartitionLog:
        """Open and recover the log in `directory`, or create a new one.

        It opens whatever its files contain: see `damage`. `life`: this and the previous life of the
        node's process. Raises `KafkaError` when it belongs to another topic
        (INCONSISTENT_TOPIC_ID), `StorageError` when the disk refuses.
        """
        parts = await open_parts(directory, disk, clock, config, topic_id=topic_id, life=life)
        return cls(parts, directory=directory, disk=disk, clock=clock, config=config)

    @property
    def log_start_offset(self) -> int:
        """Oldest offset that is served; may lie within a batch."""
        return self._stable.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """Offset of the next record."""
        return self._segments.all[-1].next_offset

    @property
    def latest_epoch(self) -> int:
        """Newest leader epoch with records or assigned, -1 when there is none."""
        return self._epochs.latest_epoch

    @property
    def size_in_bytes(self) -> int:
        """Size of all segments, without indexes."""
        return self._segments.size_in_bytes

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Segments, oldest first; the last one is active. For the cleaner: read only."""
        return self._segments.all

    @property
    def recovery_point(self) -> int:
        """End of the records on stable storage."""
        return self._stable.recovery_point

    @property
    def high_watermark(self) -> int:
        """High watermark last set; after a start that of the last checkpoint."""
        return self._stable.high_watermark

    @property
    def first_dirty_offset(self) -> int:
        """End of the compacted part of the log."""
        return self._stable.first_dirty_offset

    @property
    def producers(self) -> ProducerStates:
        """Producers of the log's records."""
        return self._stable.producers

    @producers.setter
    def producers(self, states: ProducerStates) -> None:
        self._stable.producers = states

    @property
    def first_unstable_offset(self) -> int | None:
        """First offset of the oldest open transaction."""
        return self.producers.first_unstable_offset

    @property
    def last_stable_offset(self) -> int:
        """End of the committed records of decided transactions, at most the high watermark.

        A transaction is decided when its marker is below the high watermark.
        """
        return self._stable.last_stable_offset

    def is_in_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """True when the producer's transaction of exactly this epoch is open: it is verified."""
        return self.producers.is_in_transaction(producer_id, producer_epoch)

    @property
    def is_usable(self) -> bool:
        """True when the log accepts reads and writes: not damaged, failed or closed."""
        return self.damage is None and not self._stable.is_failed

    @property
    def is_flush_due(self) -> bool:
        """True when flush.messages requires a `flush` before any response."""
        return self.log_end_offset - self._stable.recovery_point >= self.config.flush_messages

    @property
    def is_flush_overdue(self) -> bool:
        """True when flush.ms requires a `flush`."""
        return self._stable.unflushed_ms() >= self.config.flush_ms

    # Appending

    def append_as_leader(
        self,
        records: Buffer,
        *,
        leader_epoch: int,
        seen: Seen = UNSEEN,
        transactional: bool = False,
        numbered: bool = True,
    ) -> AppendResult:
        """Validate a producer's batches, assign offsets and epoch, append them; all or nothing.

        `transactional`: the coordinator has this partition in the producer's transaction: its end
        has a marker; else such a batch is refused. `numbered` False: its sequences tell nothing.
        A batch that an idempotent producer has sent before is not appended again: `AppendResult`.
        Raises as `validate_produced` (there: `seen`) and `ProducerStates.check`; `StorageError`
        when the disk refused: the log is out of service until it is reopened, and nothing was
        appended, unless it `is_outcome_unknown` or power is lost before a `flush`.
        """
        self._require_usable()
        config, now_ms = self.config, self._clock.wall_ms()
        batches = validate_produced(
            records, config=config, now_ms=now_ms, seen=seen, transactional=transactional
        )
        if (duplicate := self.producers.check(batches[0][0], numbered=numbered)) is not None:
            is_append_time = config.message_timestamp_type == LOG_APPEND_TIME
            time_ms = duplicate.timestamp_ms if is_append_time else None
            ends = (duplicate.base_offset, duplicate.last_offset, self.log_end_offset)
            return AppendResult(*ends, time_ms, is_duplicate=True)
        with self._noting_damage():
            return self._writer.append_in_epoch(
                batches, leader_epoch=leader_epoch, config=config, now_ms=now_ms
            )

    def append_marker(
        self,
        *,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_commit: bool,
        leader_epoch: int,
    ) -> AppendResult:
        """End a producer's transaction: one control record, with the raised epoch (KIP-890).

        It fences late batches of older epochs also where no transaction is open. A marker that was
        appended before is not again: the caller waits for the replication of the result's
        `last_offset` all the same. Raises as `ProducerStates.check_marker`; `StorageError` as
        `append_as_leader`.
        """
        self._require_usable()
        with self._noting_damage():
            return self._writer.append_marker(
                ControlMarker(is_commit, coordinator_epoch),
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                leader_epoch=leader_epoch,
                config=self.config,
                now_ms=self._clock.wall_ms(),
            )

    def append_as_follower(self, records: bytes) -> AppendResult:
        """Append the leader's batches unchanged; all or nothing.

        Raises `CorruptMessageError` as `validate_fetched`, `StorageError` as `append_as_leader`.
        """
        self._require_usable()
        batches = validate_fetched(records, next_offset=self.log_end_offset)
        now_ms = self._clock.wall_ms()
        with self._noting_damage():
            return self._writer.append(batches, (records,), config=self.config, now_ms=now_ms)

    def assign_epoch(self, *, epoch: int, start_offset: int) -> None:
        """Record where a new leader's epoch begins, before the leader writes in it."""
        self._epochs.assign(epoch, start_offset)

    def set_high_watermark(self, offset: int) -> None:
        """Set the high watermark, clamped to the log's ends, for the next checkpoint."""
        self._stable.high_watermark = max(self.log_start_offset, min(offset, self.log_end_offset))
        self.producers.transactions.raise_high_watermark(self._stable.high_watermark)

    # Reading

    def read(self, offset: int, *, max_bytes: int, upper_bound: int) -> ReadResult:
        """Read whole batches from the one holding `offset` on, below `upper_bound` (exclusive).

        At most `max_bytes`, but at least one batch when there is one; from one segment. The first
        may begin below `offset`. Raises `OffsetOutOfRangeError`; `DamagedLogError` when a stored
        batch has changed: `damage` is set then; `StorageError`.
        """
        self._require_whole()
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRangeError(
                f"offset {offset} is outside {self.log_start_offset} to {self.log_end_offset}",
                log_start_offset=self.log_start_offset,
                log_end_offset=self.log_end_offset,
            )
        if offset >= min(upper_bound, self.log_end_offset):
            return ReadResult(b"", offset)
        with self._noting_damage():
            segment = self._segments.holding(offset)
            return segment.read(offset, max_bytes=max_bytes, upper_bound=upper_bound)

    def aborted_transactions(self, offset: int, upper_bound: int) -> list[tuple[int, int]]:
        """Producer id and first offset of each aborted transaction in a range, by first offset.

        All of them while `upper_bound` (exclusive) is at most the last stable offset. One ends with
        its marker, and may begin below `offset`.
        """
        return self._segments.aborted(offset, upper_bound)

    def offset_for_time(self, timestamp_ms: int, *, upper_bound: int) -> TimestampedOffset | None:
        """Find the first record below `upper_bound` that is not older than `timestamp_ms` (KIP-79).

        Raises as `read`.
        """
        self._require_whole()
        with self._noting_damage():
            span = self._span(upper_bound)
            return time_lookup.offset_for_time(self.segments, timestamp_ms, span=span)

    def offset_of_max_timestamp(self, *, upper_bound: int) -> TimestampedOffset | None:
        """Find the first of the newest records below `upper_bound` (KIP-734). Raises as `read`."""
        self._require_whole()
        with self._noting_damage():
            return time_lookup.offset_of_max_timestamp(self.segments, span=self._span(upper_bound))

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """See `EpochCache.end_offset_for`."""
        return self._epochs.end_offset_for(epoch, log_end_offset=self.log_end_offset)

    def note_damage(self, error: DamagedLogError) -> None:
        """Stop serving the log: a reader of one of its segments found damage."""
        self.damage = Damage(error.first_bad_offset, error.message)
        _log.error("log damaged", directory=self.directory, reason=error.message)

    async def scrub(self, *, max_bytes: int) -> int:
        """Verify the next stretch of batches; return the number of bytes read.

        Starts over after the end. Sets `damage` instead of raising.
        """
        with suppress(DamagedLogError), self._noting_damage():
            return await self.reading(
                lambda: self._segments.check_next(
                    self.log_end_offset if self.is_usable else 0, max_bytes=max_bytes
                )
            )
        return 0

    async def reading(self, work: Callable[[], T]) -> T:
        """Run `work`, which reads this log, retrying it after each wait for the disk."""
        return await reading(self._disk, work)

    # The end moves down

    async def truncate_to(self, offset: int) -> None:
        """Drop every batch that holds `offset` or a later one; durable when it returns.

        Epochs assigned at or above the new end go too, even when no batch does (KAFKA-10706).
        Truncating a damaged log to its damage heals it. Where no served record is left, the log
        restarts empty at its log start offset, which never moves down.
        """
        async with self._files():
            if self.damage is None or offset > self.damage.first_bad_offset:
                self._require_usable()
            is_damaged, start = self.damage is not None, self.log_start_offset
            end = await self.reading(lambda: self._segments.cut_offset(max(start, offset)))
            if end < start or (is_damaged and end == start):
                await self._restart_at(start)
                return
            if end < self.log_end_offset or is_damaged:
                await self._ends.cut(end)
            else:
                self._epochs.truncate_from_end(end)
            self.damage = None

    async def restart_at(self, offset: int) -> None:
        """Drop everything and restart empty at `offset`: the leader has nothing older.

        Heals any damage; durable when it returns.
        """
        async with self._files():
            if self.damage is None:
                self._require_usable()
            await self._restart_at(offset)

    # The start moves up

    async def delete_records(self, offset: int) -> int:
        """Raise the log start offset to `offset`, permanently; return the log start offset.

        It never moves down, nor above the log end. The caller must check the high watermark.
        """
        async with self._files():
            self._require_usable()
            await self._stable.raise_log_start(offset)
            self._ends.retire_below_start()
            return self.log_start_offset

    async def apply_retention(self, *, expiration_ms: int = EXPIRATION_MS) -> RetentionResult:
        """Delete segments by age and size, and forget silent producers."""
        async with self._files():
            self._require_usable()
            now_ms = self._clock.wall_ms()
            self.producers.expire(now_ms, expiration_ms=expiration_ms)
            facts = await self.reading(lambda: self._segments.facts(now_ms))
            return await self._ends.retire_expired(facts, config=self.config, now_ms=now_ms)

    def has_deleted_files(self) -> bool:
        """True when `remove_deleted` has, or will have, something to do."""
        return self._segments.has_retired

    async def remove_deleted(self) -> int:
        """Remove files deleted file.delete.delay.ms ago or earlier; return how many."""
        before_ms = self._clock.monotonic_ms() - self.config.file_delete_delay_ms
        return await self._segments.remove_retired(before_ms=before_ms)

    # Compaction

    def new_cleaned_segment(self, base_offset: int) -> Segment:
        """Create an empty segment for `replace_segments`; a crash before that discards it."""
        return self._segments.new_segment(base_offset, self.config, suffix=CLEANED)

    async def replace_segments(
        self, old: Sequence[Segment], cleaned: Segment, *, first_dirty_offset: int
    ) -> bool:
        """Replace `old` by `cleaned`, which covers the same offsets; durable.

        Returns False, having deleted `cleaned`, when `old` are no longer sealed segments of the
        open log.
        """
        async with self._files():
            if not self.is_usable or not self._segments.is_replaceable(old, cleaned):
                cleaned.delete()
                return False
            # Records that replaced those dropped by `cleaned` must be durable before it is.
            await self._stable.sync(self.segments[:-1])
            with self._stable.failing():
                await self._segments.replace(old, cleaned, now_ms=self._clock.monotonic_ms())
                self._snapshots.drop_within(cleaned.base_offset, cleaned.next_offset)
                self._stable.first_dirty_offset = first_dirty_offset
                await self._stable.save()
            return True

    # Stable storage

    async def flush(self) -> None:
        """Flush everything appended before the call to stable storage."""
        async with self._files():
            self._require_usable()
            await self._stable.sync(self.segments)

    async def checkpoint(self) -> None:
        """Flush all but the last segment and save the checkpoint.

        Call it every few seconds: it bounds the scan of a start after a crash. Does nothing when
        nothing changed, or when the log is damaged.
        """
        async with self._files():
            if self.damage is None:
                self._require_usable()
                await self._stable.checkpoint(self.segments[:-1])

    async def close(self) -> None:
        """Flush, save the checkpoint, mark the shutdown clean, close all files."""
        async with self._files():
            is_usable, self._stable.is_failed = self.is_usable, True
            try:
                if is_usable:
                    self._segments.active.seal()
                    self._snapshots.write(self.log_end_offset, self.producers.entries())
                    await self._stable.checkpoint(self.segments)
                    await self.folder.mark_clean(self.log_end_offset)
            finally:
                self._segments.close()

    async def _restart_at(self, offset: int) -> None:
        if self.damage is None:
            await self._stable.checkpoint(self.segments)
        await self._ends.restart_at(offset, self.config)
        self.damage = None

    def _require_whole(self) -> None:
        if self.damage is not None:
            raise self.damage.error(self.directory)

    def _require_usable(self) -> None:
        self._require_whole()
        if self._stable.is_failed:
            raise StorageError(f"the log in {self.directory} is closed or failed: reopen it")

    @asynccontextmanager
    async def _files(self) -> AsyncIterator[None]:
        """Serialise changes of the set of files and of their ends."""
        async with self._files_lock:
            with self._noting_damage():
                yield

    @contextmanager
    def _noting_damage(self) -> Iterator[None]:
        try:
            yield
        except DamagedLogError as error:
            if self.damage is None or error.first_bad_offset < self.damage.first_bad_offset:
                self.note_damage(error)
            raise

    def _span(self, upper_bound: int) -> Span:
        return Span(self.log_start_offset, min(upper_bound, self.log_end_offset))
