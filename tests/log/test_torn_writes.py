"""What is missing above the recovery point, where no power was lost, is damage (decision 0009)."""

from __future__ import annotations

import pytest
from tests.log.partition_logs import DIRECTORY, OpenLog, append, contents, segment_path

from tidelog.core.errors import DamagedLogError
from tidelog.log import torn_write
from tidelog.log.log_folder import Life
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import parse_header
from tidelog.simulation.engine.disk import SimDisk

BATCHES = 6


async def unsynced(open_log: OpenLog, *, segment_bytes: int = 1 << 20) -> PartitionLog:
    """Six batches of one record, none of them flushed."""
    log = await open_log(segment_bytes=segment_bytes)
    for number in range(BATCHES):
        append(log, b"value %d" % number, epoch=1)
    return log


def place_of(disk: SimDisk, offset: int) -> int:
    """The byte where the batch of this offset begins, in the first segment."""
    at, data = 0, bytes(disk.open(segment_path(DIRECTORY, 0)).read_at(0, 1 << 20))
    while parse_header(data, at).base_offset != offset:
        at += parse_header(data, at).size_in_bytes
    return at


@pytest.mark.parametrize("byte", [0, 7, 8, 9, 10, 11, 13, 16, 17, 23, 43, 57, 61, 70])
@pytest.mark.parametrize("offset", [0, 2, 5])
async def test_a_changed_bit_is_damage_unless_power_was_lost(
    disk: SimDisk, open_log: OpenLog, offset: int, byte: int
) -> None:
    await unsynced(open_log)
    disk.flip(segment_path(DIRECTORY, 0), place_of(disk, offset) + byte, 3)
    log = await open_log(life=Life(page_cache_survived=True))
    if log.damage is None:
        # With nothing behind it a wrong length is like a torn write; no CRC covers the epoch.
        assert (offset, byte in (8, 9, 10, 11, 13)) == (BATCHES - 1, True)
        return
    # A wrong epoch shows by the next batch's.
    assert log.damage.first_bad_offset == offset + (byte == 13)
    with pytest.raises(DamagedLogError):
        append(log, b"new", epoch=1)
    await log.truncate_to(offset)
    assert len(contents(log)) == offset

    again = await open_log()
    assert again.damage is None


@pytest.mark.parametrize("kept_bytes", [1, 11, 12, 40, 61, 65])
async def test_a_last_write_that_a_kill_cut_short_is_cut_off(
    disk: SimDisk, open_log: OpenLog, kept_bytes: int
) -> None:
    await unsynced(open_log)
    disk.open(segment_path(DIRECTORY, 0)).truncate(place_of(disk, 5) + kept_bytes)
    log = await open_log(life=Life(page_cache_survived=True))
    assert log.damage is None
    assert len(contents(log)) == 5
    append(log, b"new", epoch=1)
    assert len(contents(log)) == 6


async def test_a_missing_segment_is_damage_unless_power_was_lost(
    disk: SimDisk, open_log: OpenLog
) -> None:
    await unsynced(open_log, segment_bytes=100)
    disk.remove(segment_path(DIRECTORY, 3))
    assert (await open_log(life=Life(page_cache_survived=True))).damage is not None
    log = await open_log()
    assert (log.damage, log.log_end_offset) == (None, 3)


async def test_a_log_that_was_never_opened_is_empty(open_log: OpenLog) -> None:
    log = await open_log(life=Life(page_cache_survived=True))
    assert (log.damage, log.log_end_offset) == (None, 0)


async def test_nothing_follows_a_batch_longer_than_any_write(
    disk: SimDisk, open_log: OpenLog
) -> None:
    """Its length is not believed, and what is left is not read as a whole."""
    await unsynced(open_log)
    end = place_of(disk, 5)
    disk.flip(segment_path(DIRECTORY, 0), end + 8, 6)
    disk.open(segment_path(DIRECTORY, 0)).truncate((100 << 20) + end + 1)
    log = await open_log(life=Life(page_cache_survived=True))
    assert log.damage is not None
    assert log.damage.first_bad_offset == 5


@pytest.mark.parametrize("slice_bytes", [1, 13, 16, 17, 64, 69, 1000])
async def test_a_whole_batch_is_found_wherever_the_slices_of_the_search_end(
    disk: SimDisk, open_log: OpenLog, monkeypatch: pytest.MonkeyPatch, slice_bytes: int
) -> None:
    """A length that changed looks like a write cut short, but for the batch behind it."""
    await unsynced(open_log)
    monkeypatch.setattr(torn_write, "_SLICE_BYTES", slice_bytes)
    disk.flip(segment_path(DIRECTORY, 0), place_of(disk, 4) + 8, 3)
    log = await open_log(life=Life(page_cache_survived=True))
    assert log.damage is not None
    assert log.damage.first_bad_offset == 4
