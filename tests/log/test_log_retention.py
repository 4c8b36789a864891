"""The start of a log moves up, by time, by size, by request; and segments end so that it can."""

from __future__ import annotations

from typing import Any

import pytest
from tests.log.cleaned_logs import StillClock
from tests.log.partition_logs import (
    DIRECTORY,
    END,
    NOW_MS,
    OpenLog,
    append,
    base_offsets,
    batch,
    commit,
    served,
)
from tests.log.power_cuts import power_cuts

from tidelog.core.errors import OffsetOutOfRangeError, StorageError
from tidelog.log.config import LogConfig
from tidelog.log.file_names import DELETED, LOG, TIME_INDEX
from tidelog.log.partition_log import PartitionLog, RetentionResult
from tidelog.log.retention import SegmentFacts, expired_segments
from tidelog.simulation.engine.disk import SimDisk

RETENTION_MS = 1000
DELAY_MS = 60_000
OLD, NEW = 0, 900
BOTH: dict[str, Any] = {"retention_ms": 500, "retention_bytes": 250}
COMPACT: dict[str, Any] = {"cleanup_policy": ("compact",)}


def expired(
    *newest_times: int, log_start_offset: int = 0, last_stable_offset: int = END, **config: Any
) -> int:
    """How many segments at time 1000, each of 10 records, 100 bytes and that newest time.

    -1: it is empty.
    """
    facts = []
    for place, newest in enumerate(newest_times):
        is_empty = newest < 0
        facts.append(SegmentFacts(10 * place + 10 * (not is_empty), 100 * (not is_empty), newest))
    return expired_segments(
        facts,
        config=LogConfig(**config),
        log_start_offset=log_start_offset,
        last_stable_offset=last_stable_offset,
        now_ms=1000,
    )


def test_segments_go_when_their_newest_record_had_its_time() -> None:
    assert expired(100, 499, 500, 900, retention_ms=500) == 2
    assert expired(100, 499, 500, 900, retention_ms=-1) == 0
    assert expired(100, 499, 500, 900) == 0


def test_no_segment_goes_before_an_older_one() -> None:
    assert expired(OLD, NEW, OLD, OLD, retention_ms=500) == 1


def test_segments_go_while_what_is_left_is_large_enough_without_them() -> None:
    sizes = {
        limit: expired(NEW, NEW, NEW, NEW, retention_bytes=limit) for limit in range(0, 500, 50)
    }
    assert sizes == {0: 4, 50: 3, 100: 3, 150: 2, 200: 2, 250: 1, 300: 1, 350: 0, 400: 0, 450: 0}


def test_either_limit_is_enough() -> None:
    assert expired(OLD, NEW, NEW, NEW, **BOTH) == 1
    assert expired(OLD, OLD, OLD, NEW, **BOTH) == 3
    assert expired(NEW, OLD, OLD, OLD, **BOTH) == 4


def test_all_may_go_and_an_empty_active_segment_stays() -> None:
    assert expired(OLD, OLD, retention_ms=500) == 2
    assert expired(OLD, OLD, -1, retention_ms=500) == 2
    assert expired(-1, **BOTH) == 0


def test_a_log_that_is_only_compacted_lets_nothing_go_but_what_was_deleted() -> None:
    assert expired(OLD, OLD, OLD, **COMPACT, **BOTH) == 0
    assert expired(OLD, OLD, OLD, **COMPACT, **BOTH, log_start_offset=20) == 2
    assert expired(OLD, OLD, NEW, cleanup_policy=("compact", "delete"), **BOTH) == 2


def test_what_lies_below_the_log_start_goes_by_whole_segments() -> None:
    for start, count in ((9, 0), (10, 1), (19, 1), (30, 3)):
        assert expired(NEW, NEW, NEW, log_start_offset=start) == count


@pytest.mark.parametrize("config", [{"retention_ms": 1}, {"retention_bytes": 0}])
def test_nothing_goes_that_is_not_committed(config: dict[str, Any]) -> None:
    for last_stable_offset, count in ((9, 0), (10, 1), (29, 2), (30, 3)):
        assert expired(OLD, OLD, OLD, **config, last_stable_offset=last_stable_offset) == count
        assert expired(NEW, NEW, log_start_offset=20, last_stable_offset=last_stable_offset) == min(
            count, 2
        )


async def aged(open_log: OpenLog, *, on: SimDisk) -> PartitionLog:
    """Flushed, two batches of two records to a segment; a segment has its time every 100 ms."""
    size = 2 * len(batch(b"a", b"b"))
    log = await open_log(on=on, segment_bytes=size, retention_ms=RETENTION_MS)
    for place in range(6):
        time_ms = NOW_MS + 100 * (place // 2)
        append(log, b"a", b"b", times=[time_ms, time_ms])
    commit(log)
    await log.flush()
    await log.checkpoint()
    return log


def deleted(disk: SimDisk) -> set[str]:
    return {name for name in disk.list(DIRECTORY) if name.endswith(DELETED)}


async def test_segments_that_had_their_time_leave_the_log(
    disk: SimDisk, open_log: OpenLog, clock: StillClock
) -> None:
    log = await aged(open_log, on=disk)
    size = log.segments[0].size
    clock.now_ms += RETENTION_MS + 1
    assert await log.apply_retention() == RetentionResult(segments=1, bytes=size)
    assert await log.apply_retention() == RetentionResult(0, 0)
    assert [record.offset for record in served(log)] == [*range(4, 12)]
    assert log.log_start_offset == 4
    with pytest.raises(OffsetOutOfRangeError) as caught:
        log.read(3, max_bytes=1, upper_bound=END)
    assert (caught.value.log_start_offset, caught.value.log_end_offset) == (4, 12)


async def test_a_log_whose_records_all_had_their_time_goes_on_with_an_empty_segment(
    disk: SimDisk, open_log: OpenLog, clock: StillClock
) -> None:
    log = await aged(open_log, on=disk)
    clock.now_ms += 10 * RETENTION_MS
    log.set_high_watermark(11)
    assert (await log.apply_retention()).segments == 2
    commit(log)
    assert (await log.apply_retention()).segments == 1
    assert (log.log_start_offset, log.log_end_offset, log.size_in_bytes) == (12, 12, 0)
    assert base_offsets(disk, DIRECTORY) == [12]
    append(log, b"next", epoch=1, times=[clock.now_ms])
    disk.crash()
    again = await open_log()
    assert (again.damage, again.log_start_offset) == (None, 12)


async def test_files_that_left_the_log_stay_for_their_delay(
    disk: SimDisk, open_log: OpenLog, clock: StillClock
) -> None:
    log = await aged(open_log, on=disk)
    clock.now_ms += RETENTION_MS + 1
    await log.apply_retention()
    gone = {f"{0:020d}{kind}{DELETED}" for kind in (LOG, TIME_INDEX)}
    assert deleted(disk) == gone
    clock.now_ms += DELAY_MS
    assert await log.remove_deleted() == 0
    await log.delete_records(8)
    clock.now_ms += 1
    assert await log.remove_deleted() == len(gone)
    assert len(deleted(disk)) == len(gone)
    clock.now_ms += DELAY_MS
    assert await log.remove_deleted() == len(gone)
    assert not deleted(disk)


async def test_a_start_removes_files_that_left_the_log(
    disk: SimDisk, open_log: OpenLog, clock: StillClock
) -> None:
    log = await aged(open_log, on=disk)
    clock.now_ms += RETENTION_MS + 1
    await log.apply_retention()
    log = await open_log()
    assert not deleted(disk)
    assert log.log_start_offset == 4


async def test_epochs_whose_records_left_the_log_are_forgotten(open_log: OpenLog) -> None:
    log = await open_log(segment_bytes=1)
    for epoch in (1, 1, 3, 5):
        append(log, b"a", epoch=epoch)
    commit(log)
    await log.delete_records(2)
    assert log.epoch_end_offset(2) == (2, 2)
    assert log.epoch_end_offset(3) == (3, 3)
    assert log.latest_epoch == 5


async def test_a_start_after_a_kill_forgets_epochs_of_segments_that_had_left(
    open_log: OpenLog,
) -> None:
    """The log start is saved first, and then segments leave: a kill comes before the next save."""
    log = await open_log(segment_bytes=1)
    for epoch in (1, 1, 3, 5):
        append(log, b"a", epoch=epoch)
    commit(log)
    await log.delete_records(2)
    again = await open_log()
    assert again.epoch_end_offset(2) == log.epoch_end_offset(2) == (2, 2)


async def test_deleted_records_are_never_served_again(disk: SimDisk, open_log: OpenLog) -> None:
    log = await aged(open_log, on=disk)
    for offset, bases in ((1, [0, 4, 8]), (4, [4, 8]), (7, [4, 8]), (9, [8]), (12, [8])):
        assert await log.delete_records(offset) == offset
        assert [record.offset for record in served(log)] == [*range(offset, 12)]
        assert base_offsets(disk, DIRECTORY) == bases
        with pytest.raises(OffsetOutOfRangeError):
            log.read(offset - 1, max_bytes=1, upper_bound=END)
        disk.crash()
        log = await open_log()
        assert log.damage is None
        assert [record.offset for record in served(log)] == [*range(offset, 12)]


async def test_the_log_start_never_moves_down_nor_above_the_end(open_log: OpenLog) -> None:
    log = await open_log()
    append(log, b"a", b"b", b"c")
    assert await log.delete_records(2) == 2
    assert await log.delete_records(1) == 2
    assert await log.delete_records(9) == 3
    assert (log.high_watermark, log.recovery_point, log.first_dirty_offset) == (3, 3, 3)
    append(log, b"d")
    assert [record.value for record in served(log)] == [b"d"]


@pytest.mark.parametrize("is_by_request", [True, False])
async def test_a_power_cut_while_the_start_moves_up_loses_nothing_else(
    open_log: OpenLog, clock: StillClock, is_by_request: bool
) -> None:
    async def make(disk: SimDisk) -> PartitionLog:
        clock.now_ms = NOW_MS
        log = await aged(open_log, on=disk)
        append(log, b"12", times=[NOW_MS + 200])
        clock.now_ms = NOW_MS + RETENTION_MS + 101
        return log

    async def work(log: PartitionLog) -> None:
        await (log.delete_records(9) if is_by_request else log.apply_retention())

    end = 9 if is_by_request else 8
    async for disk, has_ended in power_cuts(make, work):
        log = await open_log(on=disk)
        assert log.damage is None
        assert log.log_start_offset == end if has_ended else log.log_start_offset in (0, end)
        found = [record.offset for record in served(log)]
        assert found == [*range(log.log_start_offset, log.log_end_offset)]
        assert log.log_end_offset >= 12


async def test_the_start_is_persisted_before_any_file_goes(
    disk: SimDisk, open_log: OpenLog, clock: StillClock
) -> None:
    log = await aged(open_log, on=disk)
    clock.now_ms += RETENTION_MS + 1
    disk.faults.fail("sync", DIRECTORY)
    with pytest.raises(StorageError):
        await log.apply_retention()
    assert base_offsets(disk, DIRECTORY) == [0, 4, 8]


@pytest.mark.parametrize(
    "config",
    [
        {"segment_ms": 100},
        {"max_compaction_lag_ms": 100, "cleanup_policy": ("compact",)},
    ],
)
async def test_a_segment_ends_when_the_next_record_is_too_much_newer_than_its_first(
    disk: SimDisk, open_log: OpenLog, clock: StillClock, config: dict[str, Any]
) -> None:
    log = await open_log(**config)
    for time_ms in (1000, 1100, 500, 1101, 1102, 1201, 1202):
        clock.now_ms += 1000
        append(log, b"a", key=b"k", times=[time_ms])
    assert base_offsets(disk, DIRECTORY) == [0, 3, 6]


async def test_a_bound_on_the_compaction_lag_means_nothing_to_a_log_that_is_not_compacted(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await open_log(max_compaction_lag_ms=100)
    for time_ms in (1000, 5000):
        append(log, b"a", times=[time_ms])
    assert base_offsets(disk, DIRECTORY) == [0]


async def test_the_first_time_of_a_segment_is_known_after_a_start(
    disk: SimDisk, open_log: OpenLog
) -> None:
    for time_ms in (1000, 1050, 1101):
        log = await open_log(segment_ms=100)
        append(log, b"a", times=[time_ms])
        await log.close()
    assert base_offsets(disk, DIRECTORY) == [0, 2]


async def test_a_segment_cut_to_nothing_has_a_first_time_anew(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await open_log(segment_ms=100)
    append(log, b"a", times=[1000])
    await log.truncate_to(0)
    for time_ms in (5000, 5050):
        append(log, b"a", times=[time_ms])
    assert base_offsets(disk, DIRECTORY) == [0]


async def test_records_without_timestamps_have_their_time_from_the_first_look_on(
    open_log: OpenLog, clock: StillClock
) -> None:
    log = await open_log(retention_ms=RETENTION_MS, segment_ms=10)
    append(log, b"a", times=[-1])
    commit(log)
    await log.apply_retention()
    clock.now_ms += RETENTION_MS
    await log.apply_retention()
    append(log, b"b", times=[-1])
    commit(log)
    clock.now_ms += 1
    await log.apply_retention()
    assert log.log_start_offset == 0, "the newer one keeps the older one"
    clock.now_ms += RETENTION_MS + 1
    await log.apply_retention()
    assert log.log_start_offset == 2


async def test_a_segment_without_timestamps_does_not_end_for_its_age(
    open_log: OpenLog, disk: SimDisk
) -> None:
    log = await open_log(segment_ms=10)
    for time_ms in (-1, -1, NOW_MS, -1, NOW_MS):
        append(log, b"a", times=[time_ms])
    assert base_offsets(disk, DIRECTORY) == [0]
