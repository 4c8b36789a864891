"""Damages the files of a closed and of a killed log, byte by byte, and counts what becomes of it.

    python -m tests.log.damage_sweep                 every byte of every file, and every cut
    python -m tests.log.damage_sweep --stride 101    some of them

Each trial opens the log on a disk with one change. Opening never raises, and what is served is what
was written, else the run ends with the change. The outcomes:

    damaged      flushed batches are not as they were: the log says so, at the start or when read
    truncated    it is shorter, by batches that were never flushed
    rebuilt      the file was made anew, or is gone, and all is served
    unaffected   all is served, and the file is as it was left
    untold       a batch that was never flushed has a greater epoch now: nothing knows better
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import structlog
from tests.log.cleaned_logs import StillClock
from tests.log.partition_logs import DIRECTORY, END, NOW_MS, TOPIC_ID, Producer, batch

from tidelog.core.errors import DamagedLogError
from tidelog.log.config import LogConfig
from tidelog.log.file_names import LOG
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import HEADER_BYTES, iter_batches
from tidelog.records.compression import Codec
from tidelog.simulation.engine.disk import SimDisk

KINDS = (".log", ".index", ".timeindex", ".snapshot", "checkpoint", ".clean", "partition.metadata")
EPOCH_FIELD = range(12, 16)
EPOCHS = 5
PRODUCER_ID = 7
Files = Mapping[str, bytes]


class Trial(NamedTuple):
    """The files of a log with a change in these of them."""

    names: tuple[str, ...]
    change: str
    files: Files


@dataclass(frozen=True)
class Reference:
    """A log as it was left, and what it says of itself."""

    config: LogConfig
    files: Files
    batches: bytes
    end: int
    flushed: int
    """Offset up to which it must be there."""
    answers: tuple[object, ...]


def kind_of(name: str) -> str:
    return next(kind for kind in KINDS if name.endswith(kind))


async def open_log(files: Files, config: LogConfig) -> tuple[SimDisk, PartitionLog]:
    disk = SimDisk(random.Random(0), 0.0)
    disk.make_directory(DIRECTORY)
    for name, content in files.items():
        disk.open(f"{DIRECTORY}/{name}", create=True).write_at(0, content)
    log = await PartitionLog.open(
        directory=DIRECTORY,
        disk=disk,
        clock=StillClock(NOW_MS),
        config=config,
        topic_id=TOPIC_ID,
    )
    return disk, log


def files_of(disk: SimDisk) -> dict[str, bytes]:
    paths = {name: f"{DIRECTORY}/{name}" for name in disk.list(DIRECTORY)}
    return {name: disk.open(path).read_at(0, disk.size(path)) for name, path in paths.items()}


async def reference(*, size_bytes: int, batches: int, is_clean: bool) -> Reference:
    """A log of about this size in four segments; if it was killed its last tenth is not flushed."""
    config = LogConfig(segment_bytes=size_bytes // 4, index_interval_bytes=size_bytes // 64)
    disk, log = await open_log({}, config)
    rng, sequence = random.Random(1), 0
    for place in range(batches):
        if not is_clean and place == batches * 9 // 10:
            await log.flush()
            await log.checkpoint()
        value = rng.randbytes(max(0, size_bytes // batches - 75))
        producer = Producer(PRODUCER_ID, 0, sequence) if place % 3 == 0 else Producer(-1, -1, -1)
        sequence += place % 3 == 0
        data = batch(
            value,
            times=[NOW_MS + place - 2 * (place % 2)],
            codec=Codec.LZ4 if place % 5 == 0 else Codec.NONE,
            producer=producer,
        )
        log.append_as_leader(data, leader_epoch=place // (batches // EPOCHS))
    flushed = log.recovery_point
    if is_clean:
        flushed = log.log_end_offset
        await log.close()
    files = files_of(disk)
    _, log = await open_log(files, config)
    stored, _ = serve(log)
    end = log.log_end_offset
    return Reference(config, files, stored, end, flushed, answers(log, stored))


def serve(log: PartitionLog) -> tuple[bytes, bool]:
    """All that can be read, and whether that ended at damage."""
    found, offset = [], log.log_start_offset
    try:
        while offset < log.log_end_offset:
            result = log.read(offset, max_bytes=1 << 20, upper_bound=END)
            found.append(result.records)
            assert result.next_offset > offset
            offset = result.next_offset
    except DamagedLogError:
        return b"".join(found), True
    return b"".join(found), log.damage is not None


def answers(log: PartitionLog, batches: bytes) -> tuple[object, ...]:
    """What it says of times, of epochs, and of the last batch of its producer."""
    end = log.log_end_offset
    sent = [header for header, _ in iter_batches(batches) if header.producer_id == PRODUCER_ID]
    return (
        *(log.offset_for_time(NOW_MS + ms, upper_bound=END) for ms in range(0, end, end // 7 + 1)),
        log.offset_of_max_timestamp(upper_bound=END),
        *(log.epoch_end_offset(epoch) for epoch in range(EPOCHS)),
        log.producers.check(sent[-1]) if sent else None,
    )


async def outcome(known: Reference, trial: Trial) -> str:
    """What becomes of the log. Raises for anything wrong that is served."""
    disk, log = await open_log(trial.files, known.config)
    served, is_damaged = serve(log)
    if _is_unreported(known, served):
        return "untold"
    assert known.batches.startswith(served)
    if not is_damaged:
        try:
            found = answers(log, served)
        except DamagedLogError:
            is_damaged = True
    if is_damaged:
        assert log.damage is not None
        assert log.damage.first_bad_offset < known.flushed
        return "damaged"
    if served != known.batches:
        assert known.flushed <= log.log_end_offset < known.end
        return "truncated"
    assert found == known.answers
    left = files_of(disk)
    is_as_left = all(left.get(name) == trial.files.get(name) for name in trial.names)
    return "unaffected" if is_as_left else "rebuilt"


def _is_unreported(known: Reference, served: bytes) -> bool:
    """It differs in an epoch above the flushed offset, and nowhere else."""
    if known.batches.startswith(served):
        return False
    differing = [at for at, byte in enumerate(served) if byte != known.batches[at]]
    starts = _starts(known.batches)
    place = bisect_right(starts, differing[0]) - 1
    is_epoch = all(at - starts[place] in EPOCH_FIELD for at in differing)
    return is_epoch and place >= known.flushed  # A batch is one record.


def flips(known: Reference, *, stride: int) -> Iterator[Trial]:
    """Every `stride`-th byte of every log changed, all of some headers, more of smaller files."""
    for name, content in known.files.items():
        places = set(range(0, len(content), stride if name.endswith(LOG) else min(stride, 7)))
        if name.endswith(LOG):
            starts = _starts(content)
            headers = starts[:: len(starts) // 2]
            places.update(at + byte for at in headers for byte in range(HEADER_BYTES))
        for at in sorted(places):
            changed = bytearray(content)
            changed[at] ^= 1 << at % 8
            yield Trial((name,), f"flipped at {at}", {**known.files, name: bytes(changed)})


def cuts(known: Reference, *, stride: int) -> Iterator[Trial]:
    """Every file cut short, at every `stride`-th byte."""
    for name, content in known.files.items():
        for size in range(0, len(content), stride):
            yield Trial((name,), f"cut to {size}", {**known.files, name: content[:size]})


def deletions(known: Reference) -> Iterator[Trial]:
    """Every file gone, and every two of a middle segment's."""
    names = sorted(known.files)
    bases = [name.removesuffix(LOG) for name in names if name.endswith(LOG)]
    middle = [name for name in names if name.startswith(bases[1])]
    for gone in [*((name,) for name in names), *combinations(middle, 2)]:
        left = {name: content for name, content in known.files.items() if name not in gone}
        yield Trial(gone, "gone", left)


def _starts(content: bytes) -> list[int]:
    starts, position = [], 0
    for _, data in iter_batches(content):
        starts.append(position)
        position += len(data)
    return starts


async def sweep(known: Reference, trials: Iterable[Trial]) -> Counter[tuple[str, str]]:
    """How often each outcome came of a change of each kind of file."""
    counts: Counter[tuple[str, str]] = Counter()
    for trial in trials:
        try:
            result = await outcome(known, trial)
        except BaseException as error:
            error.add_note(f"{' and '.join(trial.names)} {trial.change}")
            raise
        counts[" and ".join(map(kind_of, trial.names)), result] += 1
    return counts


def show(title: str, counts: Counter[tuple[str, str]]) -> None:
    sys.stdout.write(f"{title}: {counts.total():,} trials, nothing wrong served\n")
    for (kind, result), count in sorted(counts.items()):
        sys.stdout.write(f"    {kind:26}{result:12}{count:10,}\n")


async def main() -> None:
    """Run as the module's docstring says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stride", type=int, default=1)
    stride = parser.parse_args().stride
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    for is_clean in (True, False):
        end = "closed" if is_clean else "killed"
        short = await reference(size_bytes=12_000, batches=100, is_clean=is_clean)
        show(f"{end}, 100 batches, cut", await sweep(short, cuts(short, stride=stride)))
        known = await reference(size_bytes=256 << 10, batches=250, is_clean=is_clean)
        show(f"{end}, 256 KiB, files gone", await sweep(known, deletions(known)))
        show(f"{end}, 256 KiB, flipped", await sweep(known, flips(known, stride=stride)))


if __name__ == "__main__":
    asyncio.run(main())
