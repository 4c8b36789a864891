"""Log cleaner: reads compacted logs and rewrites their segments as `compaction` decides.

Owns the choice of the next log, the memory limit and the throttle. Never touches the files of a log
itself. Cleans one log at a time, in three passes: collect the outcomes of transactions in the dirty
segments, map the newest offset of each key, and rewrite the segments, group by group. Each
rewritten group replaces its segments on its own, so an interrupted cleaning leaves a partly cleaned
log.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from tidelog.core.config_keys import declare
from tidelog.core.config_types import DAY_MS, boolean, whole_number
from tidelog.core.env import Clock
from tidelog.core.errors import DamagedLogError, InvariantError
from tidelog.core.logs import get_logger
from tidelog.core.workers import InPlace, Workers
from tidelog.log.cleanable import Cleanable, cleanable_segments, group_segments
from tidelog.log.compaction import KeyMap, Piece, Rewriter, TransactionOutcomes
from tidelog.log.partition_log import PartitionLog
from tidelog.log.record_rows import Steps
from tidelog.log.segment import Segment
from tidelog.log.transactions import CompletedTransaction
from tidelog.records.batch import BatchHeader

T = TypeVar("T")
MIB = 1 << 20
_CHUNK_BYTES = 256 << 10
_TURN_BYTES = 16 << 10
"""Bytes processed before the cleaner yields to other tasks.

A worker inflates larger batches and compresses what is left of them.
"""
_ENTRIES_PER_TURN = 1024
"""Aborted transactions that are read before the cleaner yields."""
_NAP_S = 0.01
"""Shortest wait of the throttle: shorter ones accumulate until they reach it."""
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CleanerConfig:
    """Kafka's log.cleaner.*, with underscores for dots."""

    enable: bool = declare(
        default=True,
        value_type=boolean(),
        doc="Compact logs with cleanup.policy compact on this node.",
        key="log.cleaner.enable",
    )
    dedupe_buffer_size: int = declare(
        64 * MIB,
        whole_number(1 << 20),
        "Memory for the keys of one compaction; further keys wait for the next.",
        key="log.cleaner.dedupe.buffer.size",
    )
    """The default holds about 350,000 keys."""
    io_max_bytes_per_second: float = declare(
        16 * MIB,
        whole_number(1 << 10),
        "Limit of bytes that compaction reads and writes together.",
        key="log.cleaner.io.max.bytes.per.second",
    )
    backoff_ms: int = declare(
        15_000,
        whole_number(1, DAY_MS),
        "Wait of compaction after it found nothing to do.",
        key="log.cleaner.backoff.ms",
    )


@dataclass(frozen=True, slots=True)
class CleaningResult:
    """Result of one cleaning. Offsets from the first to the end (exclusive) are clean now."""

    directory: str
    first_dirty_offset: int
    end_offset: int
    bytes_before: int
    bytes_after: int
    """Size of all rewritten segments, including those that were clean already."""
    records_dropped: int
    took_ms: int


class LogCleaner:
    """Cleaner of all logs of a broker; the owner of the logs calls `run_once` in a loop."""

    def __init__(self, clock: Clock, config: CleanerConfig, workers: Workers | None = None) -> None:
        self._clock = clock
        self._workers = workers or InPlace()
        self._config = config
        self._pace = _Pace(clock, config.io_max_bytes_per_second)
        self._uncleanable: WeakSet[PartitionLog] = WeakSet()
        """Logs that failed to clean: not retried until they are reopened, as other objects."""

    async def run_once(self, logs: Iterable[PartitionLog]) -> CleaningResult | None:
        """Clean the dirtiest eligible log; if it cannot be cleaned, try the next.

        Returns None when there is nothing to do. A log that cannot be cleaned is logged and skipped
        from then on; a log that was truncated, shortened or closed during its cleaning is retried
        later.
        """
        if not self._config.enable:
            return None
        for log, cleanable in await self._due(logs):
            with self._guard(log):
                cleaning = _Cleaning(
                    log, cleanable, self._clock, self._config, self._pace, self._workers
                )
                result = await cleaning.run()
                if result is not None:
                    _log.info("log cleaned", **asdict(result))
                    return result
        return None

    async def _due(
        self, logs: Iterable[PartitionLog]
    ) -> list[tuple[PartitionLog, Cleanable[Segment]]]:
        """Eligible logs, the dirtiest first."""
        now_ms = self._clock.wall_ms()
        found = []
        for log in logs:
            if not log.config.is_compacted or not log.is_usable or log in self._uncleanable:
                continue
            with self._guard(log):
                cleanable = await log.reading(partial(_cleanable, log, now_ms))
                if cleanable is not None:
                    found.append((log, cleanable))
            await asyncio.sleep(0)
        return sorted(found, key=lambda due: due[1].dirty_ratio, reverse=True)

    @contextmanager
    def _guard(self, log: PartitionLog) -> Iterator[None]:
        """Contain the failure of one log, of any kind, so that the others are still cleaned."""
        try:
            yield
        except InvariantError:
            raise
        except _LogChangedError:
            pass
        except DamagedLogError as error:
            log.note_damage(error)
        except Exception as error:  # noqa: BLE001  # as a task's top: the cleaner lives on
            if log.is_usable:
                self._uncleanable.add(log)
                _log.error("log cannot be cleaned", directory=log.directory, error=repr(error))


class _LogChangedError(Exception):
    """Segments left the log or were cut: what is known of them is worth nothing now."""


class _Cleaning:
    """A cleaning of one log."""

    def __init__(
        self,
        log: PartitionLog,
        cleanable: Cleanable[Segment],
        clock: Clock,
        config: CleanerConfig,
        pace: _Pace,
        workers: Workers,
    ) -> None:
        self._log = log
        self._cleanable = cleanable
        self._clock = clock
        self._config = config
        self._pace = pace
        self._workers = workers

    async def run(self) -> CleaningResult | None:
        """Clean the log. None: nothing could be cleaned, or the log changed during the cleaning."""
        log, cleanable, started_ms = self._log, self._cleanable, self._clock.monotonic_ms()
        transactions = await self._outcomes()
        decided_offset = transactions.decided_below(cleanable.end_offset)
        if decided_offset <= cleanable.first_dirty_offset:
            return None
        keys = KeyMap(
            max_bytes=self._config.dedupe_buffer_size,
            transactions=transactions,
            first_dirty_offset=cleanable.first_dirty_offset,
        )
        end_offset = await self._map(keys, decided_offset)
        rewriter = Rewriter(
            keys=keys,
            end_offset=end_offset,
            is_last_batch=self._is_last_batch,
            delete_retention_ms=log.config.delete_retention_ms,
            now_ms=self._clock.wall_ms(),
        )
        old = [segment for segment in cleanable.segments if segment.base_offset < end_offset]
        bytes_before, bytes_after = sum(segment.size for segment in old), 0
        for group in group_segments(old, log.config):
            cleaned = await self._rewritten(group, rewriter, end_offset)
            bytes_after += cleaned.size
            # Each group counts as clean by itself: its end moves up with the last replaced segment.
            clean_below = min(end_offset, group[-1].next_offset)
            if not await log.replace_segments(group, cleaned, first_dirty_offset=clean_below):
                return None
        return CleaningResult(
            directory=log.directory,
            first_dirty_offset=cleanable.first_dirty_offset,
            end_offset=end_offset,
            bytes_before=bytes_before,
            bytes_after=bytes_after,
            records_dropped=rewriter.records_dropped,
            took_ms=self._clock.monotonic_ms() - started_ms,
        )

    async def _outcomes(self) -> TransactionOutcomes:
        transactions = TransactionOutcomes()
        async with aclosing(self._aborted(self._cleanable.segments)) as aborted:
            async for entries in aborted:
                transactions.know_aborted(entries)
        async with aclosing(self._dirty_batches()) as dirty:
            async for header, batch in dirty:
                transactions.observe(header, batch)
                await self._pace.keep(len(batch))
        return transactions

    async def _map(self, keys: KeyMap, up_to: int) -> int:
        """Map keys up to `up_to`; return the end of the mapped range, lower if memory ran out."""
        async with aclosing(self._dirty_batches()) as dirty:
            async for header, batch in dirty:
                if header.base_offset >= up_to:
                    break
                taken = await self._in_steps(keys.taking(header, batch), len(batch))
                if taken < header.next_offset:
                    return taken
                await self._pace.keep(len(batch))
        return up_to

    async def _rewritten(
        self, old: Sequence[Segment], rewriter: Rewriter, end_offset: int
    ) -> Segment:
        cleaned = self._log.new_cleaned_segment(old[0].base_offset)
        try:
            async with aclosing(self._chunks(old)) as chunks:
                async for chunk in chunks:
                    pieces: list[Piece] = []
                    for header, batch in chunk:
                        steps = rewriter.rewriting(header, batch)
                        pieces += await self._in_steps(steps, len(batch))
                        await self._pace.keep(len(batch))
                    await self._append(cleaned, pieces)
            await self._append(cleaned, rewriter.flush())
            # Below the end no record of an aborted transaction is left.
            async with aclosing(self._aborted(old)) as aborted:
                async for entries in aborted:
                    cleaned.aborted.append(one for one in entries if one.last_offset >= end_offset)
        except BaseException:
            cleaned.delete()
            raise
        return cleaned

    async def _in_steps(self, steps: Steps[T], size_bytes: int) -> T:
        """Work on a batch of that size; others run after each step, and beside a long codec's."""
        answer: Any = None
        while True:
            try:
                work = steps.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            if work is None:
                answer = None
                await asyncio.sleep(0)
            else:
                answer = await self._workers.run(work) if size_bytes > _TURN_BYTES else work()

    async def _append(self, cleaned: Segment, pieces: Sequence[Piece]) -> None:
        if pieces:
            cleaned.append([batch for _, batch in pieces], [header for header, _ in pieces])
            await self._pace.keep(sum(len(batch) for _, batch in pieces))

    def _is_last_batch(self, header: BatchHeader) -> bool:
        """Ask the log's current producer state: a truncation replaces it."""
        return self._log.producers.is_last_batch(header)

    async def _dirty_batches(self) -> AsyncGenerator[tuple[BatchHeader, memoryview], None]:
        async with aclosing(self._chunks(self._cleanable.dirty)) as chunks:
            async for chunk in chunks:
                for header, batch in chunk:
                    if header.next_offset > self._cleanable.first_dirty_offset:
                        yield header, batch

    async def _aborted(
        self, segments: Iterable[Segment]
    ) -> AsyncGenerator[list[CompletedTransaction], None]:
        for segment in segments:
            slot = 0
            while entries := segment.aborted.entries(slot, slot + _ENTRIES_PER_TURN):
                yield entries
                slot += len(entries)
                await asyncio.sleep(0)
                self._check_is_held(segment)

    async def _chunks(
        self, segments: Iterable[Segment]
    ) -> AsyncGenerator[list[tuple[BatchHeader, memoryview]], None]:
        for segment in segments:
            position = 0
            while chunk := await self._log.reading(partial(self._read, segment, position)):
                yield chunk
                position += sum(len(batch) for _, batch in chunk)

    def _read(self, segment: Segment, position: int) -> list[tuple[BatchHeader, memoryview]]:
        self._check_is_held(segment)
        return segment.batches(position, max_bytes=_CHUNK_BYTES)

    def _check_is_held(self, segment: Segment) -> None:
        """Check before each read: a segment that was cut meanwhile is another object in its log."""
        if segment not in self._log.segments:
            raise _LogChangedError


class _Pace:
    """Throttle of reads and writes, which also yields to other tasks."""

    def __init__(self, clock: Clock, bytes_per_second: float) -> None:
        self._clock = clock
        self._bytes_per_second = bytes_per_second
        self._bytes_since_turn = 0
        self._due_s = 0.0
        """Time at which all bytes so far would be done at exactly the configured rate."""

    async def keep(self, size_bytes: int) -> None:
        """Account for that many bytes, and wait as long as they take at the configured rate."""
        self._bytes_since_turn += size_bytes
        if self._bytes_since_turn < _TURN_BYTES:
            return
        now_s = self._clock.monotonic_s()
        self._due_s = max(self._due_s, now_s) + self._bytes_since_turn / self._bytes_per_second
        self._bytes_since_turn = 0
        wait_s = self._due_s - now_s
        await asyncio.sleep(wait_s if wait_s >= _NAP_S else 0)


def _cleanable(log: PartitionLog, now_ms: int) -> Cleanable[Segment] | None:
    """Segments of `log` to clean now; None when no cleaning is due."""
    cleanable = cleanable_segments(
        log.segments,
        first_dirty_offset=log.first_dirty_offset,
        high_watermark=log.high_watermark,
        first_undecided_offset=log.producers.transactions.first_undecided_offset,
        min_compaction_lag_ms=log.config.min_compaction_lag_ms,
        now_ms=now_ms,
    )
    first_timestamps = _first_timestamps(cleanable.dirty)
    is_due = cleanable.is_due(log.config, first_timestamps=first_timestamps, now_ms=now_ms)
    return cleanable if is_due else None


def _first_timestamps(segments: Iterable[Segment]) -> Iterator[int]:
    for segment in segments:
        for header, _ in segment.batches(max_bytes=1):
            yield header.max_timestamp
