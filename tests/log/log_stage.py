"""A log on a simulated disk beside its model: how it is worked on, crashed and opened again.

Whatever is done inside `power` may be cut short by the power going; then the log is opened anew and
compared with the model, and the block is as good as done.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from tests.log.cleaned_logs import StillClock
from tests.log.log_model import (
    Batch,
    Cleaning,
    LogModel,
    as_leader_places,
    check_index_entries,
)
from tests.log.partition_logs import DIRECTORY, NOW_MS, TOPIC_ID
from tests.virtual_loop import VirtualLoop

from tidelog.log.checkpoints import METADATA_FILE
from tidelog.log.cleaner import CleanerConfig, LogCleaner
from tidelog.log.config import LogConfig
from tidelog.log.file_names import INDEX, LOG, TIME_INDEX
from tidelog.log.index import TIME_ENTRY
from tidelog.log.partition_log import PartitionLog
from tidelog.records.compression import Codec
from tidelog.records.records import BatchBuilder
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.disk_faults import PowerCutError

NO_PRODUCER = (-1, -1, -1)
Pair = tuple[bytes, bytes | None]
"""Key and value."""
T = TypeVar("T")


class LogStage:
    """One log, in one folder, through many lives."""

    def __init__(self, *, config: LogConfig, seed: int) -> None:
        self.config = config
        self.disk = SimDisk(random.Random(seed), 0.0)
        self.clock = StillClock(NOW_MS)
        self.model = LogModel(delete_retention_ms=config.delete_retention_ms)
        self.cleaner = LogCleaner(self.clock, CleanerConfig())
        self.epoch = 0
        self.had_crashes = False
        self._runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.log = self.run(self.open())

    def close(self) -> None:
        self._runner.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    async def open(self, *, on: SimDisk | None = None) -> PartitionLog:
        return await PartitionLog.open(
            directory=DIRECTORY,
            disk=on or self.disk,
            clock=self.clock,
            config=self.config,
            topic_id=TOPIC_ID,
        )

    # Lives and their ends

    @contextmanager
    def power(self) -> Iterator[None]:
        try:
            yield
            self.model.end_at_least = max(self.model.end_at_least, self.log.recovery_point)
        except PowerCutError:
            self.restart_after_power_cut()

    def restart_after_power_cut(self) -> None:
        self.had_crashes = True
        self.disk.capacity_bytes = None
        self.disk.crash()
        self.log = self.run(self.open())
        if self.model.anew_at is not None and self.log.damage:
            self.run(self.log.restart_at(self.model.anew_at))
        assert self.log.damage is None
        self.model.take_back(self.log)
        self.model.check(self.log)
        self.model.accept(self.log)
        assert self.log.log_start_offset <= self.log.high_watermark <= self.log.log_end_offset

    def restart_after_kill(self) -> None:
        """The process goes and the machine stays: nothing that was written is lost."""
        self.had_crashes = True
        start, held = self.log.log_start_offset, self.model.end
        self.log = self.run(self.open())
        self.model.check(self.log)
        assert (self.log.log_start_offset, self.log.log_end_offset) == (start, held)

    # Work

    @contextmanager
    def appending(self, placed: Sequence[Batch]) -> Iterator[None]:
        """These will be at the end of the log, or may be if the power goes in the block."""
        try:
            yield
        except PowerCutError:
            self.model.append(placed)
            raise
        self.model.append(placed)
        assert self.log.log_end_offset == self.model.end

    def append_as_leader(self, data: bytes) -> None:
        with self.appending(self.placed(data)):
            result = self.log.append_as_leader(data, leader_epoch=self.epoch)
            assert not result.is_duplicate

    async def flush(self) -> None:
        end = self.log.log_end_offset
        await self.log.flush()
        self.model.end_at_least = max(self.model.end_at_least, end)

    async def checkpoint(self) -> None:
        start = self.log.log_start_offset
        await self.log.checkpoint()
        self.model.start_at_least = max(self.model.start_at_least, start)

    async def compact(self) -> bool:
        """Whether there was something to do."""
        cleaning = Cleaning(self.log.segments[-1].base_offset, self.clock.now_ms)
        self.model.cleanings.append(cleaning)
        result = await self.cleaner.run_once([self.log])
        if result is None:
            self.model.cleanings.remove(cleaning)
        return result is not None

    def commit_all(self) -> None:
        self.log.set_high_watermark(self.log.log_end_offset)

    # Batches

    def placed(self, data: bytes) -> list[Batch]:
        """What the log makes of a producer's batches."""
        is_append_time = self.config.message_timestamp_type == "LogAppendTime"
        return as_leader_places(
            data,
            base_offset=self.log.log_end_offset,
            epoch=self.epoch,
            append_time_ms=self.clock.now_ms if is_append_time else None,
        )

    def encode(
        self,
        content: Sequence[Pair],
        *,
        codec: Codec = Codec.NONE,
        producer: tuple[int, int, int] = NO_PRODUCER,
        base_offset: int = 0,
        epoch: int = -1,
    ) -> bytes:
        """One batch of now; of its records every other one is older than the one before."""
        builder = BatchBuilder(compression=codec)
        for place, (key, value) in enumerate(content):
            age_ms = 7 * (place % 2)
            builder.append(timestamp_ms=self.clock.now_ms - age_ms, key=key, value=value)
        producer_id, producer_epoch, base_sequence = producer
        return builder.build(
            base_offset=base_offset,
            leader_epoch=epoch,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )

    def is_surely_known(self, producer_id: int, place: int) -> bool:
        """The log tells of this batch of the producer, whoever forgot what."""
        known = self.model.of_producer(producer_id)
        offset = known[place].header.base_offset
        is_last = place == len(known) - 1
        return offset >= max(self.log.log_start_offset, 0 if is_last else self.model.cleaned_below)

    # Indexes

    def check_indexes(self) -> None:
        """Those of a closed log say what is true, and all of it if no crash came between (I26)."""
        other = SimDisk(random.Random(0), 0.0)
        other.make_directory(DIRECTORY)
        for name in (METADATA_FILE, *self._names(LOG)):
            other.open(f"{DIRECTORY}/{name}", create=True).write_at(0, self._content(name))
        self.run(self.run(self.open(on=other)).close())
        for name in self._names(LOG):
            stem = name.removesuffix(LOG)
            index, times = self._content(stem + INDEX), self._content(stem + TIME_INDEX)
            check_index_entries(self._content(name), index, times, base_offset=int(stem))
            if not self.had_crashes:
                assert index == self._content(stem + INDEX, on=other)
                made = self._content(stem + TIME_INDEX, on=other)
                # Each close adds an entry.
                assert set(TIME_ENTRY.iter_unpack(made)) <= set(TIME_ENTRY.iter_unpack(times))

    def _names(self, kind: str) -> list[str]:
        return [name for name in self.disk.list(DIRECTORY) if name.endswith(kind)]

    def _content(self, name: str, *, on: SimDisk | None = None) -> bytes:
        """Of a file; empty if it is not there, as an index without entries may be."""
        disk, path = on or self.disk, f"{DIRECTORY}/{name}"
        return disk.open(path, create=True).read_at(0, disk.size(path))
