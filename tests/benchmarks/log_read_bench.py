"""Reads of one large log of 20 segments and 16 KiB batches, see log_bench.py."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.bench_logs import (
    CACHES,
    FIRST_TIMESTAMP_MS,
    GIB,
    KIB,
    MIB,
    batches,
    closing,
    drop_pages,
    new_folder,
    open_log,
)
from tests.benchmarks.measures import Figure, Pair, Times, apart, percentiles, rates

from tidelog.log.config import LogConfig
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import parse_header
from tidelog.records.records import iter_records

SEGMENTS, BATCH_BYTES = 20, 16 * KIB
LOOK_UPS_MAX = {"warm": 5_000, "cold": 500}
END = 1 << 60


class ReadLog(NamedTuple):
    """Equal batches; the record at an offset is that many milliseconds younger than the first."""

    directory: Path
    segment_batches: int
    batch_records: int

    @property
    def config(self) -> LogConfig:
        """Makes the segments as large as they are."""
        return LogConfig(segment_bytes=self.segment_batches * BATCH_BYTES)

    @property
    def batches(self) -> int:
        """In all segments."""
        return SEGMENTS * self.segment_batches


class Opened(NamedTuple):
    """The log, and its segments as bare files."""

    made: ReadLog
    log: PartitionLog
    files: list[int]

    def pread(self, offset: int, max_bytes: int) -> bytes:
        """From the batch with `offset` on."""
        segment, batch = divmod(offset // self.made.batch_records, self.made.segment_batches)
        return os.pread(self.files[segment], max_bytes, batch * BATCH_BYTES)


LookUp = Callable[[Opened, int], object]
"""Finds the record at this offset, or with the timestamp that it has."""


def read(folder: Path, runs: int, *, gib: float) -> Iterator[Figure]:
    """Look-ups at random places and whole segments, each run in a process of its own."""
    with new_folder(folder) as temporary:
        made = apart(_fill, temporary / "bench-0", gib)
        segment_bytes, count = made.config.segment_bytes, made.batches * made.batch_records
        for cache in CACHES:
            facts = {"cache": cache, "gib": round(made.batches * BATCH_BYTES / GIB, 2)}
            for name in LOOK_UPS:
                offsets = random.Random(1).sample(range(count), min(LOOK_UPS_MAX[cache], count))
                found = [apart(_look_up, made, cache, name, offsets) for _ in range(runs)]
                yield {"read": name, **facts, **percentiles(found)}
            segments = [run * SEGMENTS // runs for run in range(runs)]
            pairs = [apart(_read_segment, made, cache, segment) for segment in segments]
            speed = rates(pairs, "mb_per_s", amount=segment_bytes / 1e6)
            yield {"read": "segment", **facts, **speed}


def _fill(directory: Path, gib: float) -> ReadLog:
    records = parse_header(next(batches(BATCH_BYTES))).records_count
    made = ReadLog(directory, int(gib * GIB / SEGMENTS / BATCH_BYTES), records)

    async def fill() -> None:
        async with closing(await open_log(directory, made.config)) as log:
            for batch in islice(batches(BATCH_BYTES), made.batches):
                log.append_as_leader(batch, leader_epoch=0)
            if len(log.segments) != SEGMENTS:
                raise SystemExit(f"{len(log.segments)} segments were made, not {SEGMENTS}")

    asyncio.run(fill())
    return made


def _look_up(made: ReadLog, cache: str, name: str, offsets: list[int]) -> tuple[Times, Times]:
    ours, bare = LOOK_UPS[name]

    async def run() -> tuple[Times, Times]:
        if cache == "cold":
            drop_pages(made.directory.iterdir())
        async with _opened(made) as opened:
            if cache == "warm":
                _timed(ours, opened, offsets)
            took = _timed(ours, opened, offsets)
            if cache == "cold":
                drop_pages(made.directory.iterdir())
            return took, _timed(bare, opened, offsets)

    return asyncio.run(run())


def _timed(find: LookUp, opened: Opened, offsets: list[int]) -> Times:
    took = []
    for offset in offsets:
        wall_ns, cpu_ns = time.perf_counter_ns(), time.thread_time_ns()
        find(opened, offset)
        cpu_ns = time.thread_time_ns() - cpu_ns
        took.append(((time.perf_counter_ns() - wall_ns) / 1000, cpu_ns / 1000))
    return took


def _read_batch(opened: Opened, offset: int) -> None:
    _check(opened.log.read(offset, max_bytes=BATCH_BYTES, upper_bound=END).next_offset > offset)


def _read_64_kib(opened: Opened, offset: int) -> None:
    _check(opened.log.read(offset, max_bytes=64 * KIB, upper_bound=END).next_offset > offset)


def _find_time(opened: Opened, offset: int) -> None:
    found = opened.log.offset_for_time(FIRST_TIMESTAMP_MS + offset, upper_bound=END)
    _check(found is not None and found.offset == offset)


def _decode_batch(opened: Opened, offset: int) -> None:
    records = iter_records(opened.pread(offset, BATCH_BYTES))
    next(record for record in records if record.timestamp >= FIRST_TIMESTAMP_MS + offset)


def _check(is_found: bool) -> None:
    if not is_found:
        raise SystemExit("a look-up found something else")


LOOK_UPS: dict[str, tuple[LookUp, LookUp]] = {
    "batch": (_read_batch, lambda opened, offset: opened.pread(offset, BATCH_BYTES)),
    "64 KiB": (_read_64_kib, lambda opened, offset: opened.pread(offset, 64 * KIB)),
    "time": (_find_time, _decode_batch),
}
"""Ours and bare."""


def _read_segment(made: ReadLog, cache: str, number: int) -> Pair:
    """From end to end, a megabyte a time."""

    async def run() -> Pair:
        pair = Pair()
        async with _opened(made) as opened:
            segment = opened.log.segments[number]
            offset, end = segment.base_offset, segment.next_offset
            CACHES[cache]([Path(segment.file.path)])
            with pair.ours.turn():
                while offset < end:
                    offset = opened.log.read(offset, max_bytes=MIB, upper_bound=END).next_offset
            CACHES[cache]([Path(segment.file.path)])
            with pair.bare.turn():
                for position in range(0, segment.size, MIB):
                    os.pread(opened.files[number], MIB, position)
        return pair

    return asyncio.run(run())


@asynccontextmanager
async def _opened(made: ReadLog) -> AsyncIterator[Opened]:
    async with closing(await open_log(made.directory, made.config)) as log:
        files = [os.open(segment.file.path, os.O_RDONLY) for segment in log.segments]
        yield Opened(made, log, files)
        for file in files:
            os.close(file)
