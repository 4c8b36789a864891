"""Figures of the disk port, one JSON line each: `python -m tests.benchmarks.disk_bench`.

    sync    ms of a sync of the metadata log, [p50, p99], beside N partitions that write 16 KiB and
            flush it again and again: by the threads of all flushes, and by threads of its own
    read    µs of `PartitionLog.read` of warm records, median: waiting on the loop, from memory
            alone, and by a thread, as where a file system cannot tell what is in memory

Both ways take turns, so that a noisy machine strikes all alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from tests.benchmarks.bench_logs import KIB, MIB, batches, closing, open_log
from tests.benchmarks.measures import Figure, be_quiet

from tidelog.core.memory_reads import Loaded
from tidelog.core.page_cache import Residency
from tidelog.core.system import SystemDisk
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import PartitionLog

BUILD = Path(__file__).resolve().parents[2] / "build"
PARTITIONS = (16, 64, 128)
TURN_S, TURNS = 1.5, 3
ENTRY_BYTES, FLUSHED_BYTES = 512, 16 * KIB
LOG_BYTES = 64 * MIB
READ_BYTES = (16 * KIB, 64 * KIB, MIB)
READS, BATCH_BYTES = 150, 16 * KIB
END = 1 << 60


def main() -> None:
    """Run the figures named on the command line, or both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="sync, read; default: both")
    be_quiet()
    BUILD.mkdir(exist_ok=True)
    for name in parser.parse_args().figures or FIGURES:
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            for figure in FIGURES[name](Path(folder)):
                sys.stdout.write(json.dumps({"figure": name, **figure}) + "\n")
                sys.stdout.flush()


def syncs(folder: Path) -> Iterator[Figure]:
    """Beside each number of partitions."""
    for count in PARTITIONS:
        found = asyncio.run(_syncs(folder, count))
        yield {
            "partitions": count,
            **{name: _ranks(took) for name, took in found.items()},
        }


async def _syncs(folder: Path, partitions: int) -> dict[str, list[float]]:
    disk = SystemDisk()
    ways = {"shared_ms": disk, "own_ms": disk.with_own_threads()}
    found: dict[str, list[float]] = {name: [] for name in ways}
    flushing = [
        asyncio.create_task(_flush_forever(disk, f"{folder}/{partitions}-{number}.log"))
        for number in range(partitions)
    ]
    for _ in range(TURNS):
        for name, one in ways.items():
            file, end_s = one.open(f"{folder}/raft.wal", create=True), time.perf_counter() + TURN_S
            while time.perf_counter() < end_s:
                file.write_at(file.size(), bytes(ENTRY_BYTES))
                began_s = time.perf_counter()
                await file.sync()
                found[name].append(1000 * (time.perf_counter() - began_s))
            file.close()
    for task in flushing:
        task.cancel()
    await asyncio.gather(*flushing, return_exceptions=True)
    disk.close()
    return found


async def _flush_forever(disk: SystemDisk, path: str) -> None:
    file, data = disk.open(path, create=True), os.urandom(FLUSHED_BYTES)
    while True:
        file.write_at(0, data)
        await file.sync()


def _ranks(took: list[float]) -> list[float]:
    ordered = sorted(took)
    return [round(ordered[len(ordered) * rank // 100], 2) for rank in (50, 99)]


def reads(folder: Path) -> Iterator[Figure]:
    """Of each size."""
    yield from asyncio.run(_reads(folder))


async def _reads(folder: Path) -> list[Figure]:
    disk, figures = SystemDisk(), []
    async with closing(await open_log(folder / "t-0", LogConfig(), disk=disk)) as log:
        for batch, _ in zip(batches(BATCH_BYTES), range(LOG_BYTES // BATCH_BYTES), strict=False):
            log.append_as_leader(batch, leader_epoch=0)
        for size_bytes in READ_BYTES:
            took: dict[str, list[float]] = {name: [] for name in WAYS}
            for turn in range(READS):
                offset = log.log_end_offset * (turn % 50) // 100
                for name, read in WAYS.items():
                    began_s = time.perf_counter()
                    await read(disk, log, offset, size_bytes)
                    took[name].append(1e6 * (time.perf_counter() - began_s))
            medians = {name: round(statistics.median(one), 1) for name, one in took.items()}
            figures.append({"bytes": size_bytes, **medians})
    disk.close()
    return figures


async def _waiting(_: SystemDisk, log: PartitionLog, offset: int, size_bytes: int) -> None:
    log.read(offset, max_bytes=size_bytes, upper_bound=END)


async def _from_memory(_: SystemDisk, log: PartitionLog, offset: int, size_bytes: int) -> None:
    with log.from_memory(Loaded()):
        log.read(offset, max_bytes=size_bytes, upper_bound=END)


async def _by_thread(disk: SystemDisk, log: PartitionLog, offset: int, size_bytes: int) -> None:
    del disk
    files = [segment.file for segment in log.segments]
    known = [vars(file)["_residency"] for file in files]
    for file in files:
        vars(file)["_residency"] = Residency.UNKNOWN
    await log.reading(lambda: log.read(offset, max_bytes=size_bytes, upper_bound=END))
    for file, residency in zip(files, known, strict=True):
        vars(file)["_residency"] = residency


Way = Callable[[SystemDisk, PartitionLog, int, int], Awaitable[None]]
WAYS: dict[str, Way] = {
    "waiting_us": _waiting,
    "from_memory_us": _from_memory,
    "by_thread_us": _by_thread,
}
FIGURES: dict[str, Callable[[Path], Iterator[Figure]]] = {"sync": syncs, "read": reads}

if __name__ == "__main__":
    main()
