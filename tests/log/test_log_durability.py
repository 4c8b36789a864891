"""What may be counted on after a power cut in any operation of a log's life."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from tests.log.partition_logs import (
    DIRECTORY,
    TOPIC_ID,
    OpenLog,
    append,
    base_offsets,
    contents,
    segment_path,
)
from tests.log.power_cuts import ends, power_cuts

from tidelog.log.checkpoints import decode_checkpoint, decode_topic_id
from tidelog.log.config import LogConfig
from tidelog.log.epochs import EpochCache
from tidelog.log.file_names import CLEANED, INDEX, LOG, SWAP, TIME_INDEX
from tidelog.log.partition_log import PartitionLog, delete_log
from tidelog.log.segment import Segment
from tidelog.simulation.engine.disk import SimDisk

CONFIG: dict[str, Any] = {"segment_bytes": 400, "index_interval_bytes": 80}
STEPS_MAX = 200


class Story:
    """A log, and what may be found of it when the power goes."""

    def __init__(self, log: PartitionLog, disk: SimDisk, open_log: OpenLog) -> None:
        self.log, self.disk, self.open_log = log, disk, open_log
        self.possible = [contents(log)]
        """A prefix of one of these, of at least so many records."""
        self.at_least = 0
        self.rng = random.Random(4)

    def put(self, count: int, *, epoch: int) -> None:
        """Batches of several records, their times in no order."""
        for _ in range(count):
            values = [self.rng.randbytes(4) for _ in range(self.rng.randrange(1, 4))]
            times = [self.rng.randrange(1, 50) for _ in values]
            end = self.log.log_end_offset
            new = [(end + place, epoch, value) for place, value in enumerate(values)]
            self.possible = [[*contents(self.log), *new]]
            append(self.log, *values, epoch=epoch, times=times)

    async def flush(self) -> None:
        end = self.log.log_end_offset
        await self.log.flush()
        self.at_least = end

    async def checkpoint(self) -> None:
        await self.log.checkpoint()
        self.at_least = max(self.at_least, self.log.recovery_point)

    async def truncate(self, offset: int) -> None:
        self.at_least = min(self.at_least, offset - 3)
        self.possible.append(self.possible[0][: offset - 3])
        await self.log.truncate_to(offset)
        self.possible = [contents(self.log)]

    async def restart(self) -> None:
        """The process was killed."""
        self.log = await self.open_log(on=self.disk, **CONFIG)

    def check(self, log: PartitionLog) -> None:
        found = contents(log)
        assert log.damage is None
        assert len(found) >= self.at_least
        assert any(found == one[: len(found)] for one in self.possible)
        for epoch in {epoch for _, epoch, _ in found}:
            last = max(offset for offset, of, _ in found if of == epoch)
            assert log.epoch_end_offset(epoch) == (epoch, last + 1)


def assert_indexed(disk: SimDisk) -> None:
    """Below the saved recovery point both indexes are as if made from the batches now."""
    path = f"{DIRECTORY}/checkpoint"
    data = disk.open(path).read_at(0, 1 << 16) if disk.exists(path) else b""
    checkpoint = decode_checkpoint(data)
    if checkpoint is None:
        return
    run_at = EpochCache(checkpoint.epochs).run_at
    for base, following in pairwise(base_offsets(disk, DIRECTORY)):
        if following <= checkpoint.recovery_point:
            copied = deepcopy(disk)
            config = LogConfig(**CONFIG)
            anew = Segment(copied, DIRECTORY, base_offset=base, config=config, run_at=run_at)
            anew.trust(next_offset=following)
            anew.reindex()
            anew.close()
            for kind in (INDEX, TIME_INDEX):
                expected = index_bytes(copied, base, kind)
                assert index_bytes(disk, base, kind)[: len(expected)] == expected


def index_bytes(disk: SimDisk, base_offset: int, kind: str) -> bytes:
    path = segment_path(DIRECTORY, base_offset, kind)
    return disk.open(path).read_at(0, 1 << 16) if disk.exists(path) else b""


async def test_what_was_flushed_is_there_and_what_is_there_is_a_prefix(open_log: OpenLog) -> None:
    story: Story

    async def make(disk: SimDisk) -> PartitionLog:
        nonlocal story
        log = await open_log(on=disk, **CONFIG)
        story = Story(log, disk, open_log)
        return log

    async def work(_: PartitionLog) -> None:
        story.put(5, epoch=0)
        await story.flush()
        story.put(6, epoch=1)
        await story.checkpoint()
        story.put(2, epoch=1)
        await story.truncate(12)
        story.put(9, epoch=2)
        await story.restart()
        await story.checkpoint()
        story.put(2, epoch=3)
        await story.flush()
        await story.truncate(9)
        story.put(9, epoch=4)
        await story.checkpoint()
        await story.log.close()
        await story.restart()
        story.put(1, epoch=5)

    async for disk, _ in power_cuts(make, work, fates=1):
        assert_indexed(disk)
        story.check(await open_log(on=disk, **CONFIG))


# Starts


async def tear(disk: SimDisk, log: PartitionLog) -> None:
    """Above the recovery point, with segments behind."""
    disk.open(log.segments[-3].file.path).truncate(200)


async def lose_a_segment(disk: SimDisk, log: PartitionLog) -> None:
    disk.remove(log.segments[-2].file.path)


async def leave_a_swap(disk: SimDisk, log: PartitionLog) -> None:
    """Of the first two segments, and something worth nothing."""
    old = log.segments[:2]
    cleaned = log.new_cleaned_segment(0)
    for segment in old:
        for header, data in segment.batches(max_bytes=1 << 20):
            cleaned.append([data], [header])
    cleaned.seal()
    await cleaned.sync()
    cleaned.rename(suffix=SWAP)
    log.new_cleaned_segment(log.segments[2].base_offset).close()


Leave = Callable[[SimDisk, PartitionLog], Awaitable[None]]


@pytest.mark.parametrize("leave", [tear, lose_a_segment, leave_a_swap])
async def test_a_power_cut_during_a_start_changes_nothing_of_what_the_next_one_finds(
    open_log: OpenLog, leave: Leave
) -> None:
    disk = SimDisk(random.Random(1), 0.0)
    log = await open_log(on=disk, **CONFIG)
    story = Story(log, disk, open_log)
    story.put(6, epoch=0)
    await log.flush()
    await log.checkpoint()
    story.put(12, epoch=1)
    await log._segments.sync_names()
    for segment in log.segments:
        await segment.file.sync()
    await leave(disk, log)
    await disk.sync_directory(DIRECTORY)
    disk.crash()
    expected = contents(await open_log(on=deepcopy(disk), **CONFIG))
    assert 6 < len(expected) <= len(story.possible[0])

    for step in range(1, STEPS_MAX):
        again = deepcopy(disk)
        again.crash_at(step)
        has_ended = await ends(open_log(on=again, **CONFIG))
        again.crash()
        log = await open_log(on=again, **CONFIG)
        assert (log.damage, contents(log)) == (None, expected)
        assert not [one for one in again.list(DIRECTORY) if one.endswith((CLEANED, SWAP))]
        if has_ended:
            return
    raise AssertionError("the start has no end")


async def test_a_power_cut_while_a_log_is_deleted_leaves_no_files_of_nobody(
    open_log: OpenLog,
) -> None:
    disk_of: SimDisk

    async def make(disk: SimDisk) -> PartitionLog:
        nonlocal disk_of
        disk_of = disk
        log = await open_log(on=disk, **CONFIG)
        Story(log, disk, open_log).put(9, epoch=0)
        await log.close()
        return log

    async def work(log: PartitionLog) -> None:
        await delete_log(disk_of, DIRECTORY)

    async for disk, has_ended in power_cuts(make, work):
        assert not (has_ended and disk.exists(DIRECTORY))
        if any(name.endswith(LOG) for name in disk.list(DIRECTORY)):
            file = disk.open(f"{DIRECTORY}/partition.metadata")
            assert decode_topic_id(file.read_at(0, 100)) == TOPIC_ID
