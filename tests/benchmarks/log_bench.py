"""Figures of the storage engine alone, one JSON line each: `python -m tests.benchmarks.log_bench`.

    append      µs a batch of `append_as_leader`, beside a bare `pwritev`
    read        of a log of 20 segments: µs a read at a random offset (a batch, 64 KiB), beside a
                bare `pread` there; µs a look-up of a random time, beside a `pread` and decoding of
                the right batch; MB/s from end to end of a segment, beside a `pread` loop
    recovery    GB/s at which an unclean tail of 1 GiB is gone over, beside `pread` and CRC-32C
    compaction  records/s, see compaction_bench.py
    memory      MiB resident and files open with 1,000 partitions of one batch; ms to open them new
                and after a clean and an unclean end, beside reading their files
    flush       batches/s of 64 tasks that await a flush for every batch, beside the same tasks
                without, and beside a bare `pwritev` for each and one fdatasync for all of them

Warm: everything was read just before. Cold: all files' pages were synced and dropped with
posix_fadvise; the host of a virtual disk may hold them all the same. For all else see measures.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from crc32c import crc32c
from tests.benchmarks import compaction_bench
from tests.benchmarks.bench_logs import (
    CACHES,
    GIB,
    KIB,
    MIB,
    batches,
    closing,
    new_folder,
    open_file,
    open_log,
    read_files,
)
from tests.benchmarks.log_read_bench import read
from tests.benchmarks.measures import Figure, Pair, Took, apart, be_quiet, rates, spread, times

from tidelog.core.system import SystemDisk, raise_open_files_limit
from tidelog.log.config import LogConfig
from tidelog.log.file_names import LOG, file_name
from tidelog.log.partition_log import PartitionLog

BUILD = Path(__file__).resolve().parents[2] / "build"
READ_GIB, SPARE_GIB = 10.0, 5.0
APPENDED_BYTES = {MIB: 256 * MIB, 16 * KIB: 128 * MIB, KIB: 32 * MIB}
TURNS = 32
RECOVERED_BYTES = GIB
PARTITIONS, OPENED_AT_ONCE = 1_000, 8
IN_FLIGHT = 64
FLUSHED_BATCHES = {MIB: 512, 16 * KIB: 4_096, KIB: 8_192}


def main() -> None:
    """Run the figures named on the command line, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *all_figures(0)], metavar="NAME")
    parser.add_argument("--dir", type=Path, default=BUILD, help="where logs are made (build/)")
    parser.add_argument("--gib", type=float, default=READ_GIB, help="of the log that is read (10)")
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    for figure in log_figures(asked.runs, names=asked.names, folder=asked.dir, gib=asked.gib):
        sys.stdout.write(json.dumps(figure) + "\n")
        sys.stdout.flush()


def log_figures(
    runs: int, *, names: Sequence[str] = (), folder: Path = BUILD, gib: float = READ_GIB
) -> Iterator[Figure]:
    """The figures of these names, or all."""
    be_quiet()
    folder.mkdir(parents=True, exist_ok=True)
    free_gib = shutil.disk_usage(folder).free / GIB
    if free_gib < gib + SPARE_GIB:
        gib = free_gib / 2
        sys.stderr.write(f"only {free_gib:.0f} GiB are free: the log read has {gib:.1f} GiB\n")
    with tempfile.TemporaryDirectory(prefix="log-bench-", dir=folder) as temporary:
        figures = all_figures(gib)
        for name in names or figures:
            for figure in figures[name](Path(temporary), runs):
                yield {"figure": name, **figure, "runs": runs}


def all_figures(gib: float) -> Mapping[str, Callable[[Path, int], Iterable[Figure]]]:
    """By name: they take the folder to work in and the number of runs."""
    return {
        "append": append,
        "read": partial(read, gib=gib),
        "recovery": recovery,
        "compaction": compaction,
        "memory": memory,
        "flush": flush,
    }


# Appending


def append(folder: Path, runs: int) -> Iterator[Figure]:
    """The same batches to a log and to a file, neither synced."""
    for batch_bytes, total_bytes in APPENDED_BYTES.items():
        for is_idempotent in (False, True):
            stream = batches(batch_bytes, is_idempotent=is_idempotent)
            data = list(islice(stream, total_bytes // batch_bytes))
            pairs = [asyncio.run(_append(folder, data)) for _ in range(runs + 1)][1:]
            speed = times(pairs, "us_per_batch", per_second=1e6 / len(data))
            yield {"batch_bytes": batch_bytes, "is_idempotent": is_idempotent, **speed}


async def _append(folder: Path, data: Sequence[bytes]) -> Pair:
    pair, position, turn = Pair(), 0, len(data) // TURNS
    with new_folder(folder) as temporary, open_file(temporary / "bare") as bare:
        async with closing(await open_log(temporary / "bench-0")) as log:
            for at in range(0, len(data), turn):
                with pair.ours.turn():
                    for batch in data[at : at + turn]:
                        log.append_as_leader(batch, leader_epoch=0)
                with pair.bare.turn():
                    for batch in data[at : at + turn]:
                        position += os.pwritev(bare, (batch,), position)
    return pair


# Recovery


def recovery(folder: Path, runs: int) -> Iterator[Figure]:
    """Of a log whose process ended before it was closed or a checkpoint saved."""
    for batch_bytes in (16 * KIB, MIB):
        with new_folder(folder) as temporary:
            directory = temporary / "bench-0"
            apart(_write_unclean, directory, batch_bytes)
            for cache in CACHES:
                pairs = [apart(_recover, directory, cache) for _ in range(runs)]
                speed = rates(pairs, "gb_per_s", amount=RECOVERED_BYTES / 1e9)
                yield {"batch_bytes": batch_bytes, "cache": cache, **speed}


def _write_unclean(directory: Path, batch_bytes: int) -> None:
    async def write() -> None:
        log = await open_log(directory)
        for batch in islice(batches(batch_bytes), RECOVERED_BYTES // batch_bytes):
            log.append_as_leader(batch, leader_epoch=0)

    asyncio.run(write())


def _recover(directory: Path, cache: str) -> Pair:
    """Leaves the log as unclean as it was."""

    async def recover() -> Took:
        took = Took()
        with took.turn():
            log = await open_log(directory)
        if log.was_clean or log.size_in_bytes != RECOVERED_BYTES:
            raise SystemExit(f"{log.size_in_bytes} bytes were found, clean: {log.was_clean}")
        return took

    CACHES[cache](directory.iterdir())
    pair = Pair(ours=asyncio.run(recover()))
    CACHES[cache](directory.iterdir())
    with open_file(directory / file_name(0, LOG)) as file, pair.bare.turn():
        for position in range(0, RECOVERED_BYTES, MIB):
            crc32c(os.pread(file, MIB, position))
    return pair


# Compaction


def compaction(folder: Path, runs: int) -> Iterable[Figure]:
    """Of warm logs."""
    return compaction_bench.compaction(runs, folder=folder)


# Memory


class Opening(NamedTuple):
    """What the opening of all partitions took."""

    start: Pair
    mib: float
    mapped_mib: float
    """Of index files; the kernel counts them as resident, too."""
    files: int


def memory(folder: Path, runs: int) -> Iterator[Figure]:
    """All warm."""
    for end in ("clean", "unclean"):
        with new_folder(folder) as temporary:
            new = apart(_open_partitions, temporary, end)
            if end == "clean":
                yield {"start": "new", **_of_openings([new])}
            again = [apart(_open_partitions, temporary, end) for _ in range(runs)]
            yield {"start": end, **_of_openings(again)}


def _of_openings(openings: Sequence[Opening]) -> Figure:
    return {
        "partitions": PARTITIONS,
        "mib": spread([opening.mib for opening in openings]),
        "mapped_mib": spread([opening.mapped_mib for opening in openings]),
        "open_files": openings[0].files,
        **times([opening.start for opening in openings], "ms", per_second=1000),
    }


def _open_partitions(folder: Path, end: str) -> Opening:
    """Open all, see to it that each has a batch, and close them if the end is to be clean."""
    raise_open_files_limit()
    directories = [folder / f"bench-{number}" for number in range(PARTITIONS)]

    async def run() -> Opening:
        disk, slots, pair = SystemDisk(), asyncio.Semaphore(OPENED_AT_ONCE), Pair()

        async def open_one(directory: Path) -> PartitionLog:
            async with slots:
                return await open_log(directory, disk=disk)

        before, files_before = _resident_mib(), _open_files()
        with pair.ours.turn():
            logs = await asyncio.gather(*map(open_one, directories))
        for log in logs:
            if not log.log_end_offset:
                log.append_as_leader(next(batches(KIB)), leader_epoch=0)
        mib, mapped_mib = (
            after - then for after, then in zip(_resident_mib(), before, strict=True)
        )
        files = _open_files() - files_before
        with pair.bare.turn():
            for directory in directories:
                read_files(directory.iterdir())
        if end == "clean":
            await asyncio.gather(*(log.close() for log in logs))
        return Opening(pair, mib, mapped_mib, files)

    return asyncio.run(run())


def _resident_mib() -> tuple[float, float]:
    """All of this process, and what of it is mapped files."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    kib = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith("kB")}
    return kib["VmRSS"] / KIB, (kib["RssFile"] + kib["RssShmem"]) / KIB


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


# Flushing


def flush(folder: Path, runs: int) -> Iterator[Figure]:
    """flush.messages=1 and none; what is compared takes turns."""
    for batch_bytes, count in FLUSHED_BATCHES.items():
        data = list(islice(batches(batch_bytes), count))
        took = [
            (
                asyncio.run(_append_in_flight(folder, data, LogConfig(flush_messages=1))),
                asyncio.run(_append_in_flight(folder, data, LogConfig())),
                _write_and_sync(folder, data),
            )
            for _ in range(runs)
        ]
        flushed, unflushed, bare = ([count / run[kind] for run in took] for kind in range(3))
        yield {
            "batch_bytes": batch_bytes,
            "in_flight": IN_FLIGHT,
            "flushed_per_s": spread(flushed),
            "unflushed_per_s": spread(unflushed),
            "bare_per_s": spread(bare),
            "share_of_unflushed": spread([run[1] / run[0] for run in took]),
            "share": spread([run[2] / run[0] for run in took]),
        }


async def _append_in_flight(folder: Path, data: Sequence[bytes], config: LogConfig) -> float:
    with new_folder(folder) as temporary:
        async with closing(await open_log(temporary / "bench-0", config)) as log:
            began = time.perf_counter()
            flushing, stream = SharedFlush(log), iter(data)
            await asyncio.gather(*(flushing.append(stream) for _ in range(IN_FLIGHT)))
            return time.perf_counter() - began


class SharedFlush:
    """As a broker's: one flush after the other, each for all that came before it."""

    def __init__(self, log: PartitionLog) -> None:
        self._log = log
        self._flush: asyncio.Task[None] | None = None

    async def append(self, stream: Iterator[bytes]) -> None:
        """One batch after the other, each stable before the next if the log asks for it."""
        for batch in stream:
            end = self._log.append_as_leader(batch, leader_epoch=0).log_end_offset
            while self._log.is_flush_due and self._log.recovery_point < end:
                if self._flush is None or self._flush.done():
                    self._flush = asyncio.create_task(self._log.flush())
                await self._flush
            await asyncio.sleep(0)


def _write_and_sync(folder: Path, data: Sequence[bytes]) -> float:
    with new_folder(folder) as temporary, open_file(temporary / "bare") as file:
        began, position = time.perf_counter(), 0
        for at in range(0, len(data), IN_FLIGHT):
            for batch in data[at : at + IN_FLIGHT]:
                position += os.pwritev(file, (batch,), position)
            os.fdatasync(file)
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
