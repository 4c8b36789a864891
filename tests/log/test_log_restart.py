"""A log is begun anew, where the leader has nothing older: all that it held is gone for good."""

from __future__ import annotations

import asyncio

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
from tests.log.power_cuts import power_cuts

from tidelog.core.errors import OffsetOutOfRangeError, StorageError
from tidelog.log.checkpoints import decode_topic_id
from tidelog.log.partition_log import PartitionLog
from tidelog.simulation.engine.disk import SimDisk

END = 24
OFFSETS = [0, 3, 8, END, 100]


async def filled(open_log: OpenLog, *, on: SimDisk) -> PartitionLog:
    """Flushed, in several segments and epochs; a part was deleted."""
    log = await open_log(on=on, segment_bytes=300)
    for place in range(END // 2):
        append(log, b"a", b"b", epoch=place // 4)
    log.set_high_watermark(20)
    await log.delete_records(6)
    await log.flush()
    await log.checkpoint()
    return log


def is_empty_at(log: PartitionLog, offset: int) -> bool:
    assert (log.damage, log.size_in_bytes) == (None, 0)
    assert (log.latest_epoch, log.epoch_end_offset(9)) == (-1, (-1, offset))
    ends = (log.log_start_offset, log.high_watermark, log.log_end_offset, log.recovery_point)
    return ends == (offset,) * 4 and log.first_dirty_offset == offset


@pytest.mark.parametrize("offset", OFFSETS)
async def test_a_log_begun_anew_is_empty_there(
    disk: SimDisk, open_log: OpenLog, offset: int
) -> None:
    log = await filled(open_log, on=disk)
    await log.restart_at(offset)
    assert is_empty_at(log, offset)
    assert base_offsets(disk, DIRECTORY) == [offset]
    with pytest.raises(OffsetOutOfRangeError):
        log.read(offset + 1, max_bytes=1, upper_bound=200)
    append(log, b"new", epoch=1)
    assert contents(log) == [(offset, 1, b"new")]
    await log.close()
    again = await open_log()
    assert (again.was_clean, contents(again)) == (True, [(offset, 1, b"new")])


@pytest.mark.parametrize("is_damaged", [True, False])
@pytest.mark.parametrize("offset", OFFSETS)
async def test_a_power_cut_leaves_all_or_nothing_or_damage(
    open_log: OpenLog, offset: int, is_damaged: bool
) -> None:
    async def make(disk: SimDisk) -> PartitionLog:
        log = await filled(open_log, on=disk)
        if is_damaged:
            await log.close()
            disk.remove(log.segments[1].file.path)
            await disk.sync_directory(DIRECTORY)
            log = await open_log(on=disk)
            assert log.damage is not None
        return log

    async def work(log: PartitionLog) -> None:
        await log.restart_at(offset)

    async for disk, has_ended in power_cuts(make, work):
        log = await open_log(on=disk)
        if has_ended or log.log_start_offset == offset:
            assert is_empty_at(log, offset)
        elif log.damage is None:
            assert not is_damaged
            assert [at for at, _, _ in contents(log)] == [*range(6, END)]
        await log.restart_at(offset)
        disk.crash()
        assert is_empty_at(await open_log(on=disk), offset)


async def test_a_power_cut_leaves_no_part_of_a_log_that_no_checkpoint_told_of(
    open_log: OpenLog,
) -> None:
    """A start would take the middle of it for all of it."""

    async def make(disk: SimDisk) -> PartitionLog:
        log = await open_log(on=disk, segment_bytes=300)
        for _ in range(END):
            append(log, b"a")
        await log.flush()
        assert not disk.exists(f"{DIRECTORY}/checkpoint")
        return log

    async def work(log: PartitionLog) -> None:
        await log.restart_at(100)

    async for disk, _ in power_cuts(make, work, fates=9):
        log = await open_log(on=disk)
        if log.damage is None:
            offsets = [at for at, _, _ in contents(log)]
            assert offsets == [*range(END)] or is_empty_at(log, 100)


async def test_nothing_is_served_while_a_damaged_log_is_begun_anew(
    disk: SimDisk, open_log: OpenLog
) -> None:
    await filled(open_log, on=disk)
    disk.remove(segment_path(DIRECTORY, base_offsets(disk, DIRECTORY)[1]))
    log = await open_log()
    beginning = asyncio.create_task(log.restart_at(50))
    while not beginning.done():
        assert not log.is_usable
        await asyncio.sleep(0)
    await beginning
    assert log.is_usable


async def test_a_log_of_nobody_knows_its_owner_and_nothing_else_when_it_was_begun_anew(
    disk: SimDisk, open_log: OpenLog
) -> None:
    await (await filled(open_log, on=disk)).close()
    for name in ("partition.metadata", "checkpoint"):
        disk.remove(f"{DIRECTORY}/{name}")
    log = await open_log()
    assert log.damage is not None
    await log.restart_at(7)
    disk.crash()
    file = disk.open(f"{DIRECTORY}/partition.metadata")
    assert decode_topic_id(file.read_at(0, 100)) == TOPIC_ID
    log = await open_log()
    assert is_empty_at(log, 7)
    assert not log.was_clean


async def test_a_closed_log_is_not_begun_anew(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log, on=disk)
    await log.close()
    with pytest.raises(StorageError):
        await log.restart_at(7)
    assert (await open_log()).log_end_offset == END
