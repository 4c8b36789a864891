"""A log whose reads wait for the disk, and what may happen to it while one is on its way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.log.cleaned_logs import StillClock
from tests.log.partition_logs import DIRECTORY, END, NOW_MS, TOPIC_ID, append, batch, commit
from tests.virtual_time import virtual_time

from tidelog.core.errors import DamagedLogError, OffsetOutOfRangeError, StorageError
from tidelog.log.cleaner import CleanerConfig, LogCleaner
from tidelog.log.config import LogConfig
from tidelog.log.partition_log import PartitionLog, ReadResult
from tidelog.records.batch import iter_batches
from tidelog.records.records import iter_records
from tidelog.simulation.engine.disk import SimDisk

READ_S = 4.0
VALUES = [b"%d" % number for number in range(8)]
Meanwhile = Callable[[PartitionLog], Coroutine[Any, Any, object]]


class Ticker:
    """The longest that the loop did nothing else."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            before_s = loop.time()
            await asyncio.sleep(0.01)
            self.longest_s = max(self.longest_s, loop.time() - before_s)

    def stop(self) -> None:
        self._task.cancel()
        assert self.longest_s < 0.02, "the loop went on all the while"


class Stage:
    """A log with a batch for each of VALUES, four to a segment, on a disk that can be slow."""

    def __init__(self, **config: Any) -> None:
        self.disk = SimDisk(random.Random(1), 0.0)
        self.clock = StillClock(NOW_MS)
        size_bytes = len(batch(VALUES[0], key=b"0"))
        self.config = LogConfig(**{"segment_bytes": 4 * size_bytes + 10} | config)

    async def open(self) -> PartitionLog:
        return await PartitionLog.open(
            directory=DIRECTORY,
            disk=self.disk,
            clock=self.clock,
            config=self.config,
            topic_id=TOPIC_ID,
        )

    async def filled(self) -> PartitionLog:
        log = await self.open()
        for value in VALUES:
            append(log, value, key=b"%d" % (int(value) % 3))
        assert len(log.segments) == 2
        return log

    def slow_down(self) -> None:
        self.disk.faults.slow_reads(f"{DIRECTORY}/", READ_S)

    def run(self, story: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
        with virtual_time() as run:
            run(story(self))


def values(result: ReadResult) -> list[bytes | None]:
    return [
        record.value for _, data in iter_batches(result.records) for record in iter_records(data)
    ]


async def read_during(
    stage: Stage, log: PartitionLog, offset: int, meanwhile: Meanwhile
) -> ReadResult:
    """What a read finds whose bytes are on their way from the disk for all of `meanwhile`."""
    stage.slow_down()
    read = asyncio.create_task(
        log.reading(lambda: log.read(offset, max_bytes=1000, upper_bound=END))
    )
    await asyncio.sleep(READ_S / 2)
    assert not read.done()
    stage.disk.faults.heal()
    await meanwhile(log)
    return await read


async def nothing(_log: PartitionLog) -> None:
    """The log stays as it is."""


def test_a_slow_read_does_not_hold_the_loop() -> None:
    async def story(stage: Stage) -> None:
        log, ticker = await stage.filled(), Ticker()
        assert values(await read_during(stage, log, 5, nothing))[0] == VALUES[5]
        ticker.stop()

    Stage().run(story)


def test_a_read_that_may_wait_holds_the_loop_on_the_simulated_disk_as_on_a_real_one() -> None:
    async def story(stage: Stage) -> None:
        log, loop = await stage.filled(), asyncio.get_running_loop()
        stage.slow_down()
        began_s = loop.time()
        log.read(7, max_bytes=1, upper_bound=END)
        await asyncio.sleep(0.001)
        assert loop.time() - began_s >= READ_S

    Stage().run(story)


def test_a_tail_that_was_cut_meanwhile_is_not_served_and_what_took_its_place_is() -> None:
    async def other_tail(log: PartitionLog) -> None:
        await log.truncate_to(5)
        log.append_as_follower(batch(b"X", base_offset=5, epoch=3))
        log.append_as_follower(batch(b"Y", base_offset=6, epoch=3))

    async def story(stage: Stage) -> None:
        log = await stage.filled()
        assert values(await read_during(stage, log, 4, other_tail)) == [VALUES[4], b"X", b"Y"]
        assert log.damage is None

    Stage().run(story)


def test_a_read_beyond_an_end_that_moved_down_is_refused() -> None:
    async def story(stage: Stage) -> None:
        log = await stage.filled()
        with pytest.raises(OffsetOutOfRangeError):
            await read_during(stage, log, 6, lambda log: log.truncate_to(5))
        assert log.damage is None

    Stage().run(story)


def test_a_log_begun_anew_meanwhile_holds_nothing_of_the_old_one() -> None:
    async def story(stage: Stage) -> None:
        log = await stage.filled()
        with pytest.raises(OffsetOutOfRangeError):
            await read_during(stage, log, 1, lambda log: log.restart_at(20))

    Stage().run(story)


def test_records_deleted_meanwhile_are_not_served() -> None:
    async def story(stage: Stage) -> None:
        log = await stage.filled()
        with pytest.raises(OffsetOutOfRangeError) as caught:
            await read_during(stage, log, 1, lambda log: log.delete_records(6))
        assert caught.value.log_start_offset == 6

    Stage().run(story)


def test_a_segment_that_retention_took_meanwhile_is_not_read() -> None:
    async def expire(log: PartitionLog) -> None:
        commit(log)
        assert (await log.apply_retention()).segments == 2

    async def story(stage: Stage) -> None:
        log = await stage.filled()
        with pytest.raises(OffsetOutOfRangeError):
            await read_during(stage, log, 1, expire)

    Stage().run(story)


def test_a_segment_that_was_compacted_meanwhile_is_read_as_it_is_now() -> None:
    async def clean(log: PartitionLog) -> None:
        commit(log)
        assert await LogCleaner(StillClock(NOW_MS), CleanerConfig()).run_once([log]) is not None

    async def story(stage: Stage) -> None:
        log = await stage.open()
        for value in VALUES:
            append(log, value, key=b"k")
        while len(log.segments) < 3:
            append(log, b"last", key=b"k")
        found = values(await read_during(stage, log, 0, clean))
        assert VALUES[0] not in found, "dropped: there are newer values of its key"

    Stage(cleanup_policy="compact", segment_bytes=300).run(story)


def test_a_segment_that_was_rolled_meanwhile_is_read_on() -> None:
    async def roll(log: PartitionLog) -> None:
        while len(log.segments) == 2:
            append(log, b"more")

    async def story(stage: Stage) -> None:
        log = await stage.filled()
        assert values(await read_during(stage, log, 4, roll)) == VALUES[4:]

    Stage().run(story)


def test_a_log_that_was_closed_meanwhile_raises_and_is_not_damaged() -> None:
    async def story(stage: Stage) -> None:
        log = await stage.filled()
        with pytest.raises(StorageError):
            await read_during(stage, log, 1, lambda log: log.close())
        assert log.damage is None

    Stage().run(story)


def test_damage_found_meanwhile_ends_the_read() -> None:
    async def damage(log: PartitionLog) -> None:
        log.note_damage(DamagedLogError("found by another", first_bad_offset=7))

    async def story(stage: Stage) -> None:
        log = await stage.filled()
        with pytest.raises(DamagedLogError):
            await read_during(stage, log, 1, damage)

    Stage().run(story)


# Who else reads


def test_upkeep_of_a_log_on_a_slow_disk_does_not_hold_the_loop() -> None:
    async def story(stage: Stage) -> None:
        log = await stage.filled()
        await log.close()
        log = await stage.open()  # so that nothing of it is known
        await log.flush()
        commit(log)
        stage.slow_down()
        ticker = Ticker()
        while await log.scrub(max_bytes=100):
            pass
        assert log.damage is None
        await log.apply_retention()
        await LogCleaner(stage.clock, CleanerConfig()).run_once([log])
        await log.truncate_to(6)
        await log.checkpoint()
        ticker.stop()

    Stage(cleanup_policy="compact,delete").run(story)


@pytest.mark.parametrize("end", ["clean", "crash", "no indexes"])
def test_a_start_on_a_slow_disk_does_not_hold_the_loop(end: str) -> None:
    async def story(stage: Stage) -> None:
        log = await stage.filled()
        if end == "crash":
            await log.checkpoint()
            stage.disk.crash()
        else:
            await log.close()
        if end == "no indexes":
            for name in stage.disk.names(DIRECTORY):
                if name.endswith("index"):
                    stage.disk.vanish(f"{DIRECTORY}/{name}")
        stage.slow_down()
        ticker = Ticker()
        again = await stage.open()
        ticker.stop()
        assert again.damage is None
        assert again.log_end_offset >= 4

    Stage().run(story)


def test_a_scrub_that_waits_for_the_disk_when_its_log_is_closed_finds_nothing_wrong() -> None:
    async def story(stage: Stage) -> None:
        log = await stage.filled()
        await log.flush()
        stage.slow_down()
        scrub = asyncio.create_task(log.scrub(max_bytes=100))
        await asyncio.sleep(READ_S / 2)
        stage.disk.faults.heal()
        await log.close()
        assert await scrub == 0
        assert log.damage is None

    Stage().run(story)
