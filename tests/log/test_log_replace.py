"""A compacted segment takes the place of others only if these are still as they were."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import pytest
from tests.log.partition_logs import DIRECTORY, OpenLog, append, base_offsets, batch, contents
from tests.log.power_cuts import power_cuts

from tidelog.log.file_names import CLEANED, DELETED, SWAP
from tidelog.log.partition_log import PartitionLog
from tidelog.log.segment import Segment
from tidelog.simulation.engine.disk import SimDisk

SEGMENT_BYTES = 2 * len(batch(b"old", b"old"))
MIB = 1 << 20


async def filled(open_log: OpenLog, *, on: SimDisk) -> PartitionLog:
    """Twelve records, four a segment."""
    log = await open_log(on=on, segment_bytes=SEGMENT_BYTES)
    for _ in range(6):
        append(log, b"old", b"old")
    await log.flush()
    await log.checkpoint()
    return log


def compacted(log: PartitionLog, old: Sequence[Segment]) -> Segment:
    """One segment with what is in `old`."""
    cleaned = log.new_cleaned_segment(old[0].base_offset)
    for segment in old:
        for header, data in segment.batches(max_bytes=MIB):
            cleaned.append([data], [header])
    return cleaned


def leftovers(disk: SimDisk) -> list[str]:
    return [name for name in disk.list(DIRECTORY) if name.endswith((CLEANED, SWAP))]


async def test_a_compacted_segment_takes_the_place_of_those_it_covers(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await filled(open_log, on=disk)
    before, old = contents(log), log.segments[:2]
    assert await log.replace_segments(old, compacted(log, old), first_dirty_offset=6)
    assert contents(log) == before
    assert (log.first_dirty_offset, base_offsets(disk, DIRECTORY)) == (6, [0, 8])
    assert sum(name.endswith(DELETED) for name in disk.list(DIRECTORY)) == 4, "of two: log, times"
    disk.crash()
    again = await open_log()
    assert (contents(again), again.damage, again.first_dirty_offset) == (before, None, 6)


async def test_a_power_cut_leaves_either_the_old_or_the_new(open_log: OpenLog) -> None:
    async def make(disk: SimDisk) -> PartitionLog:
        return await filled(open_log, on=disk)

    async def work(log: PartitionLog) -> None:
        old = log.segments[:2]
        assert await log.replace_segments(old, compacted(log, old), first_dirty_offset=8)

    async for disk, has_ended in power_cuts(make, work):
        log = await open_log(on=disk)
        assert [value for _, _, value in contents(log)] == [b"old"] * 12
        assert base_offsets(disk, DIRECTORY) in ([[0, 8]] if has_ended else [[0, 8], [0, 4, 8]])
        assert log.first_dirty_offset in (0, 8)
        assert log.first_dirty_offset == 0 or base_offsets(disk, DIRECTORY) == [0, 8]
        assert not leftovers(disk)


async def cut(log: PartitionLog) -> None:
    await log.truncate_to(6)


async def cut_and_filled_again(log: PartitionLog) -> None:
    await log.truncate_to(6)
    for _ in range(3):
        append(log, b"new", b"new", epoch=1)


async def deleted(log: PartitionLog) -> None:
    await log.delete_records(5)


async def begun_anew(log: PartitionLog) -> None:
    await log.restart_at(0)


async def compacted_meanwhile(log: PartitionLog) -> None:
    old = log.segments[:1]
    assert await log.replace_segments(old, compacted(log, old), first_dirty_offset=4)


@pytest.mark.parametrize(
    "change", [cut, cut_and_filled_again, deleted, begun_anew, compacted_meanwhile]
)
async def test_what_was_compacted_of_segments_that_changed_is_thrown_away(
    disk: SimDisk, open_log: OpenLog, change: Callable[[PartitionLog], Awaitable[None]]
) -> None:
    log = await filled(open_log, on=disk)
    old = log.segments[:2]
    cleaned = compacted(log, old)
    await change(log)
    before, first_dirty = contents(log), log.first_dirty_offset
    assert not await log.replace_segments(old, cleaned, first_dirty_offset=8)
    assert (contents(log), log.first_dirty_offset) == (before, first_dirty)
    assert not leftovers(disk)


@pytest.mark.parametrize(
    ("old", "copied"),
    [
        ((0, 1), (0,)),
        ((0,), (0, 1)),
        ((1,), (0, 1)),
        ((0, 1, 2), (0, 1, 2)),
        ((2,), (2,)),
        ((1, 0), (0, 1)),
        ((), (0,)),
    ],
)
async def test_only_neighbours_that_are_sealed_and_all_covered_are_replaced(
    disk: SimDisk, open_log: OpenLog, old: tuple[int, ...], copied: tuple[int, ...]
) -> None:
    log = await filled(open_log, on=disk)
    before = contents(log)
    cleaned = compacted(log, [log.segments[place] for place in copied])
    given = [log.segments[place] for place in old]
    assert not await log.replace_segments(given, cleaned, first_dirty_offset=4)
    assert contents(log) == before
    assert not leftovers(disk)


async def test_a_closed_log_replaces_nothing(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log, on=disk)
    old = log.segments[:1]
    cleaned = compacted(log, old)
    await log.close()
    assert not await log.replace_segments(old, cleaned, first_dirty_offset=4)
    assert not leftovers(disk)
    assert (await open_log()).was_clean


async def test_a_damaged_swap_replaces_nothing(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log, on=disk)
    before, cleaned = contents(log), compacted(log, log.segments[:2])
    cleaned.rename(suffix=SWAP)
    cleaned.file.truncate(cleaned.size - 1)
    again = await open_log()
    assert (contents(again), again.damage, leftovers(disk)) == (before, None, [])
