"""Crashes at arbitrary points: what was flushed is there, and what is there is a prefix."""

from __future__ import annotations

import asyncio
import random

import pytest
from tests.log.partition_logs import OpenLog, append, contents

from tidelog.core.errors import StorageError
from tidelog.log.partition_log import PartitionLog
from tidelog.simulation.engine.disk import SimDisk

Contents = list[tuple[int, int, bytes | None]]
SEGMENT_BYTES = 400
LIVES = 6
STEPS_PER_LIFE = 12


class Story:
    """Random work on a log, and what may be found after the crash that ends it."""

    def __init__(self, log: PartitionLog, rng: random.Random, *, epoch: int) -> None:
        self.log = log
        self.rng = rng
        self.epoch = epoch
        self.appended = contents(log)
        """What the log holds now."""
        self.must_have = log.recovery_point
        self.alternative: Contents | None = None
        """What it may hold instead, if the crash came while it was truncated."""

    async def step(self) -> None:
        match self.rng.randrange(0, 10):
            case 0:
                flushed = self.log.log_end_offset
                await self.log.flush()
                self.must_have = max(self.must_have, flushed)
            case 1:
                await self.log.checkpoint()
                self.must_have = max(self.must_have, self.log.recovery_point)
            case 2:
                await self.truncate(self.rng.randrange(0, len(self.appended) + 1))
            case 3:
                self.epoch += 1
            case _:
                append(self.log, self.rng.randbytes(self.rng.randrange(0, 120)), epoch=self.epoch)
                self.appended = contents(self.log)

    async def truncate(self, end: int) -> None:
        self.alternative, self.appended = self.appended, self.appended[:end]
        self.must_have = min(self.must_have, end)
        await self.log.truncate_to(end)
        self.alternative = None

    def check(self, found: Contents) -> None:
        assert len(found) >= self.must_have
        prefixes = [self.appended, self.alternative or self.appended]
        assert any(found == whole[: len(found)] for whole in prefixes)


async def until_crash(story: Story, disk: SimDisk) -> None:
    """Some steps, the last of which the crash may cut short."""

    async def work() -> None:
        for _ in range(STEPS_PER_LIFE):
            await story.step()

    task = asyncio.create_task(work())
    for _ in range(story.rng.randrange(0, 40)):
        await asyncio.sleep(0)
    disk.crash()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("seed", range(60))
async def test_no_crash_loses_what_was_flushed_or_leaves_anything_but_a_prefix(
    open_log: OpenLog, seed: int
) -> None:
    rng = random.Random(seed)
    disk = SimDisk(random.Random(seed + 1000), 0.0)
    epoch = 0
    log = await open_log(on=disk, segment_bytes=SEGMENT_BYTES, index_interval_bytes=100)
    for _ in range(LIVES):
        story = Story(log, rng, epoch=epoch)
        await until_crash(story, disk)
        log = await open_log(on=disk, segment_bytes=SEGMENT_BYTES, index_interval_bytes=100)
        story.check(contents(log))
        epoch = max(story.epoch, log.latest_epoch)
        assert_epochs_match(log)


def assert_epochs_match(log: PartitionLog) -> None:
    """The cache answers what the records say."""
    last_of = {epoch: offset for offset, epoch, _ in contents(log)}
    for epoch, last_offset in last_of.items():
        assert log.epoch_end_offset(epoch) == (epoch, last_offset + 1)


async def test_handles_of_a_crashed_disk_are_dead(open_log: OpenLog) -> None:
    disk = SimDisk(random.Random(1), 0.0)
    log = await open_log(on=disk)
    disk.crash()
    with pytest.raises(StorageError, match="crashed"):
        append(log, b"a")
