"""When records are on stable storage, and what it takes to end well."""

from __future__ import annotations

import asyncio

import pytest
from tests.log.cleaned_logs import StillClock
from tests.log.partition_logs import OpenLog, append, values
from tests.log.power_cuts import power_cuts

from tidelog.core.errors import StorageError
from tidelog.log.partition_log import PartitionLog
from tidelog.simulation.engine.disk import SimDisk


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
