"""The write-ahead log while a sync runs: what it covers, and what comes of a crash in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.raft.wal_stage import PATH, new_disk, open_wal, state_of

from tidelog.core.errors import StorageError
from tidelog.raft.wal import Wal, WalEntry
from tidelog.simulation.engine.disk import SimDisk


@pytest.fixture
def disk() -> SimDisk:
    return new_disk()


async def synced(disk: SimDisk, entries: int) -> Wal:
    """In term 1, with so many entries of it."""
    wal = await open_wal(disk)
    wal.write_vote(term=1, voted_for=1)
    append(wal, entries, term=1)
    await wal.sync()
    return wal


def append(wal: Wal, count: int, *, term: int) -> None:
    for _ in range(count):
        wal.write_entry(b"\0%d" % term, index=wal.last_index + 1, term=term)


async def during(storing: Awaitable[Any], change: Callable[[], None]) -> None:
    """Do this when it has begun to store and not ended."""
    task = asyncio.ensure_future(storing)
    await asyncio.sleep(0)
    assert not task.done()
    change()
    await task


def terms(wal: Wal) -> list[int]:
    return [entry.term for entry in wal.entries]


async def test_what_is_written_during_a_sync_waits_for_the_next_one(disk: SimDisk) -> None:
    wal = await synced(disk, 2)
    append(wal, 1, term=1)
    await during(wal.sync(), lambda: append(wal, 1, term=1))

    assert (wal.durable_index, wal.last_index, wal.is_dirty) == (3, 4, True)
    assert wal.stored == wal.written - 1
    disk.crash()
    assert terms(await open_wal(disk)) == [1, 1, 1]


async def test_entries_replaced_during_their_sync_are_not_counted_as_durable(
    disk: SimDisk,
) -> None:
    wal = await synced(disk, 2)
    append(wal, 2, term=1)

    def replace() -> None:
        wal.write_truncation(4)
        wal.write_vote(term=2, voted_for=None)
        append(wal, 2, term=2)

    await during(wal.sync(), replace)

    assert (wal.durable_index, wal.last_index) == (3, 5)
    await wal.sync()
    assert wal.durable_index == 5
    disk.crash()
    assert terms(await open_wal(disk)) == [1, 1, 1, 2, 2]


async def test_a_truncation_takes_the_durable_index_back(disk: SimDisk) -> None:
    wal = await synced(disk, 3)
    wal.write_truncation(2)
    assert wal.durable_index == 1
    append(wal, 3, term=1)
    assert wal.durable_index == 1


async def test_a_base_written_during_a_sync_leaves_nothing_durable_behind_the_old_one(
    disk: SimDisk,
) -> None:
    wal = await synced(disk, 3)
    append(wal, 1, term=1)
    await during(wal.sync(), lambda: wal.write_base(index=9, term=1))
    assert (wal.durable_index, wal.base_index) == (0, 9)
    await wal.sync()
    assert wal.durable_index == 9


async def test_a_stamp_is_durable_when_its_own_record_is(disk: SimDisk) -> None:
    wal = await open_wal(disk)
    assert not wal.is_stamp_durable
    await during(wal.sync(), lambda: append(wal, 1, term=0))
    assert wal.is_stamp_durable
    assert wal.is_dirty
    await during(wal.sync(), lambda: wal.write_vote(term=1, voted_for=None))
    assert not wal.is_stamp_durable


async def test_a_compaction_stores_what_was_written_before_and_keeps_what_comes_meanwhile(
    disk: SimDisk,
) -> None:
    wal = await synced(disk, 5)
    await wal.prepare_compaction()
    append(wal, 1, term=1)

    def go_on() -> None:
        wal.write_truncation(6)
        wal.write_vote(term=2, voted_for=3)
        append(wal, 2, term=2)

    await during(wal.compact(base_index=3), go_on)

    assert (wal.base_index, wal.durable_index, wal.is_dirty) == (3, 5, True)
    assert terms(wal) == [1, 1, 2, 2]
    await wal.sync()
    disk.crash()
    state = state_of(await open_wal(disk))
    assert (state.term, state.voted_for) == (2, 3)
    assert state.entries == tuple(
        WalEntry(b"\0%d" % term, index, term) for index, term in ((4, 1), (5, 1), (6, 2), (7, 2))
    )


async def test_a_crash_right_after_a_compaction_loses_only_what_came_meanwhile(
    disk: SimDisk,
) -> None:
    wal = await synced(disk, 5)
    await wal.prepare_compaction()
    append(wal, 1, term=1)
    await during(wal.compact(base_index=3), lambda: append(wal, 2, term=1))
    disk.crash()
    reopened = await open_wal(disk)
    assert (reopened.base_index, reopened.last_index) == (3, 6)


async def test_a_base_that_came_during_a_compaction_stays(disk: SimDisk) -> None:
    wal = await synced(disk, 5)
    await wal.prepare_compaction()
    await during(wal.compact(base_index=3), lambda: wal.write_base(index=8, term=1))
    assert (wal.base_index, wal.entries) == (8, [])
    await wal.sync()
    disk.crash()
    reopened = await open_wal(disk)
    assert (reopened.base_index, reopened.base_term, reopened.entries) == (8, 1, [])


async def test_a_compaction_that_fails_loses_nothing_that_was_to_be_written(
    disk: SimDisk,
) -> None:
    wal = await synced(disk, 5)
    await wal.prepare_compaction()
    append(wal, 2, term=1)
    disk.faults.fail("write", f"{PATH}.next", count=1)
    with pytest.raises(StorageError, match="cannot write"):
        await wal.compact(base_index=3)

    append(wal, 1, term=1)
    assert (wal.durable_index, wal.last_index) == (5, 8)
    await wal.sync()
    disk.crash()
    assert (await open_wal(disk)).last_index == 8
