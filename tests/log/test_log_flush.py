"""When records are on stable storage, and what it takes to end well."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.log.cleaned_logs import StillClock
from tests.log.partition_logs import DIRECTORY, NOW_MS, OpenLog, append, segment_path, values
from tests.log.power_cuts import power_cuts
from tests.log.transaction_logs import Writer

from tidelog.core.errors import StorageError
from tidelog.log.file_names import INDEX, TIME_INDEX, TXN_INDEX, file_name
from tidelog.log.partition_log import PartitionLog
from tidelog.simulation.engine.disk import SimDisk

STEPS_MAX = 200


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_flush_ms_says_when_a_flush_is_overdue(open_log: OpenLog, clock: StillClock) -> None:
    log = await open_log(flush_ms=100)
    clock.now_ms += 500
    assert not log.is_flush_overdue
    append(log, b"a")
    clock.now_ms += 60
    append(log, b"b")
    clock.now_ms += 39
    assert not log.is_flush_overdue
    clock.now_ms += 1
    assert log.is_flush_overdue
    await log.flush()
    assert not log.is_flush_overdue


async def test_nothing_is_overdue_by_default(open_log: OpenLog, clock: StillClock) -> None:
    log = await open_log()
    append(log, b"a")
    clock.now_ms += 10**10
    assert not log.is_flush_overdue


async def test_what_came_while_it_was_flushed_is_overdue_in_its_turn(
    open_log: OpenLog, clock: StillClock
) -> None:
    log = await open_log(flush_ms=100)
    append(log, b"a")
    flushing = asyncio.create_task(log.flush())
    await turns(1)
    append(log, b"b")
    await flushing
    assert log.recovery_point == 1
    clock.now_ms += 99
    assert not log.is_flush_overdue
    clock.now_ms += 1
    assert log.is_flush_overdue


async def test_a_checkpoint_leaves_the_last_segment_overdue(
    open_log: OpenLog, clock: StillClock
) -> None:
    log = await open_log(flush_ms=100, segment_bytes=1)
    append(log, b"a")
    append(log, b"b")
    clock.now_ms += 50
    await log.checkpoint()
    assert log.recovery_point == 1
    clock.now_ms += 100
    assert log.is_flush_overdue


async def test_an_append_while_the_log_closes_is_refused(disk: SimDisk, open_log: OpenLog) -> None:
    log = await open_log()
    append(log, b"a")
    closing = asyncio.create_task(log.close())
    while not closing.done():
        await asyncio.sleep(0)
        with pytest.raises(StorageError, match="reopen it"):
            append(log, b"b")
    await closing
    again = await open_log()
    assert (again.was_clean, values(again)) == (True, [b"a"])


async def test_close_waits_for_a_flush_under_way(open_log: OpenLog) -> None:
    log = await open_log(segment_bytes=1)
    for _ in range(4):
        append(log, b"a")
    await asyncio.gather(log.flush(), log.close(), return_exceptions=True)
    assert (await open_log(segment_bytes=1)).was_clean


async def test_a_log_closed_twice_is_closed(open_log: OpenLog) -> None:
    log = await open_log()
    append(log, b"a")
    await log.close()
    await log.close()
    assert (await open_log()).was_clean


async def test_a_power_cut_while_it_closes_loses_nothing_that_was_flushed(
    open_log: OpenLog,
) -> None:
    async def make(disk: SimDisk) -> PartitionLog:
        log = await open_log(on=disk, segment_bytes=200)
        for place in range(7):
            append(log, b"%d" % place, epoch=place // 3)
            if place == 3:
                await log.flush()
        log.set_high_watermark(2)
        return log

    async for disk, has_ended in power_cuts(make, PartitionLog.close):
        log = await open_log(on=disk, segment_bytes=200)
        found = values(log)
        assert log.damage is None
        assert found == [b"%d" % place for place in range(len(found))]
        assert len(found) == 7 if has_ended else len(found) >= 4
        assert log.was_clean or not has_ended
        assert not log.was_clean or len(found) == 7


def not_stored(disk: SimDisk, log: PartitionLog) -> list[str]:
    """Names of the files that are not on stable storage as they are, and changed names.

    The active segment's indexes are synced once it is sealed.
    """
    base = log.segments[-1].base_offset
    active = {file_name(base, kind) for kind in (INDEX, TIME_INDEX, TXN_INDEX)}
    folder = disk._folder(DIRECTORY)
    names = set(folder.entries) - active
    contents = {name: disk._content(f"{DIRECTORY}/{name}") for name in names}
    changed = [name for name, one in contents.items() if one.written != one.stored]
    return sorted({*changed, *(names - set(folder.stored))})


def grow(log: PartitionLog, writer: Writer) -> None:
    """Abort a transaction in the active segment, then one in each of two new ones."""
    config = log.config
    for segment_bytes in (config.segment_bytes, 1, 1):
        log.config = replace(config, segment_bytes=segment_bytes)
        writer.send(log, b"value")
        writer.end(log, is_commit=False)
    log.config = config


Begin = Callable[[OpenLog, SimDisk, Writer], Awaitable[PartitionLog]]


async def begun(open_log: OpenLog, disk: SimDisk, writer: Writer) -> PartitionLog:
    log = await open_log(on=disk)
    grow(log, writer)
    return log


async def killed(open_log: OpenLog, disk: SimDisk, writer: Writer) -> PartitionLog:
    """A log that a process left unflushed, as the next one finds it."""
    log = await begun(open_log, disk, writer)
    await log.checkpoint()
    grow(log, writer)
    return await open_log(on=disk)


async def rebuilt(open_log: OpenLog, disk: SimDisk, writer: Writer) -> PartitionLog:
    """A log whose indexes a start had to make anew, those of the active segment, too."""
    log = await open_log(on=disk, segment_ms=2 * NOW_MS)
    writer.send(log, b"value")
    writer.end(log, is_commit=False)
    disk.remove(segment_path(DIRECTORY, 0, TXN_INDEX))
    return await open_log(on=disk, segment_ms=2 * NOW_MS)


@pytest.mark.parametrize(("has_more", "is_cancelled"), [(True, False), (True, True), (False, True)])
@pytest.mark.parametrize("begin", [begun, killed, rebuilt])
async def test_what_comes_at_any_step_of_a_flush_is_stored_by_the_next(
    open_log: OpenLog, has_more: bool, is_cancelled: bool, begin: Begin
) -> None:
    for step in range(STEPS_MAX):
        disk, writer = SimDisk(random.Random(step), 0.01), Writer(7)
        log = await begin(open_log, disk, writer)
        append(log, b"in the active segment")
        flushing = asyncio.create_task(log.flush())
        for _ in range(step):
            await asyncio.sleep(0.005)
        has_ended = flushing.done()
        if has_more:
            grow(log, writer)
        if is_cancelled:
            flushing.cancel()
        await asyncio.wait([flushing])
        await log.flush()
        assert not_stored(disk, log) == [], step
        if has_ended:
            return
    raise AssertionError("the flush has no end")
