"""The write-ahead log with the power cut in each of its operations, and on a full disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from tests.log.power_cuts import ends
from tests.raft.wal_stage import (
    FOLDER,
    PATH,
    RESERVE,
    SECTOR,
    State,
    content_of,
    disk_with,
    new_disk,
    open_wal,
    state_of,
    write_history,
)

from tidelog.core.errors import DiskFullError, StorageError
from tidelog.raft.wal import Wal
from tidelog.simulation.engine.disk import SimDisk

FATES = 40
NEW = State(0, None, True, (0, 0), ())


@dataclass
class Life:
    """A node's work on its log, and what may be on stable storage at any time."""

    disk: SimDisk
    reserve_bytes: int
    durable: State = NEW
    pending: State = NEW
    incarnation: int = 0
    """The greatest anyone may have been told of."""

    async def run(self) -> None:
        """From the first start on; each kind of frame, some of several sectors."""
        wal = await self.opened()
        wal.write_vote(term=1, voted_for=2)
        for index in range(1, 6):
            wal.write_entry(b"\0" + bytes([index]) * 400, index=index, term=1)
        await self.sync(wal)
        wal.write_rejoined()
        await self.sync(wal)
        await wal.prepare_compaction()
        wal.write_truncation(5)
        wal.write_vote(term=3, voted_for=None)
        await self.sync(wal)
        await self.compact(wal, 2)
        wal.write_vote(term=3, voted_for=1)
        wal.write_entry(b"\0" + b"x" * 1700, index=5, term=3)
        await self.sync(wal)
        wal.close()
        wal = await self.opened()
        wal.write_base(index=40, term=3)
        wal.write_entry(b"\0y", index=41, term=3)
        await self.sync(wal)
        await self.compact(wal, 41)
        wal.write_vote(term=4, voted_for=3)
        await self.sync(wal)
        wal.close()

    async def opened(self) -> Wal:
        wal = await open_wal(self.disk, reserve_bytes=self.reserve_bytes)
        assert state_of(wal) == self.durable
        await self.sync(wal)
        self.incarnation = wal.incarnation
        return wal

    async def sync(self, wal: Wal) -> None:
        self.pending = state_of(wal)
        await wal.sync()
        self.durable = self.pending

    async def compact(self, wal: Wal, base_index: int) -> None:
        base_term = wal.term_at(base_index)
        assert base_term is not None
        kept = tuple(entry for entry in wal.entries if entry.log_index > base_index)
        self.pending = state_of(wal)._replace(base=(base_index, base_term), entries=kept)
        await wal.compact(base_index=base_index)
        assert state_of(wal) == self.pending
        self.durable = self.pending


async def lives(reserve_bytes: int) -> AsyncIterator[Life]:
    """Lives that ended in the first operation, in the second, …, each with several fates."""
    step, has_ended = 1, False
    while not has_ended:
        for fate in range(FATES):
            life = Life(new_disk(step * FATES + fate), reserve_bytes)
            life.disk.crash_at(step)
            has_ended = await ends(life.run())
            life.disk.crash()
            yield life
        step += 1
    assert step > 40


@pytest.mark.parametrize("reserve_bytes", [SECTOR, 6 * SECTOR, RESERVE])
async def test_what_was_synced_survives_a_power_cut_in_any_operation(reserve_bytes: int) -> None:
    found_pending = 0
    async for life in lives(reserve_bytes):
        wal = await open_wal(life.disk, reserve_bytes=reserve_bytes)
        state = state_of(wal)
        assert state in (life.durable, life.pending)
        assert wal.incarnation > life.incarnation
        assert life.disk.list(FOLDER) == ["raft.wal"]
        found_pending += state != life.durable
        wal.write_vote(term=9, voted_for=1)
        await wal.sync()
        await wal.compact(base_index=wal.last_index)
        life.disk.crash()
        again = await open_wal(life.disk)
        assert (again.term, again.voted_for, again.last_index) == (9, 1, wal.last_index)
    assert found_pending > 0


async def test_a_power_cut_in_any_operation_of_a_recovery_leaves_what_was_there() -> None:
    left = await write_history(new_disk(), tail=5)
    (start, before), (end, _) = left.frames[-2:]
    torn = left.content[: start + SECTOR] + bytes(SECTOR) + left.content[start + 2 * SECTOR :]
    cuts = 0
    for step in range(1, 10):
        for fate in range(FATES):
            disk = await disk_with(torn, seed=step * FATES + fate)
            disk.crash_at(step)
            has_ended = await ends(open_wal(disk))
            disk.crash()
            cuts += not has_ended
            wal = await open_wal(disk)
            assert state_of(wal) == before
            wal.close()
            assert not any(content_of(disk)[start:end])
    assert cuts >= 2 * FATES


async def test_what_an_unfinished_frame_left_never_mixes_with_the_next_one() -> None:
    left = await write_history(new_disk(), tail=5)
    (start, before), _ = left.frames[-2:]
    torn = left.content[: start + SECTOR] + bytes(SECTOR) + left.content[start + 2 * SECTOR :]
    found = set()
    for seed in range(300):
        disk = await disk_with(torn, seed=seed)
        wal = await open_wal(disk)
        wal.write_entry(b"\0" + b"n" * (4 * SECTOR), index=6, term=4)
        after = state_of(wal)
        operations = disk.operations
        disk.crash_at(2)
        assert not await ends(wal.sync())
        assert disk.operations == operations + 2
        disk.crash()
        state = state_of(await open_wal(disk))
        assert state in (before, after)
        found.add(state)
    assert found == {before, after}


async def test_a_full_disk_does_not_stop_the_log_within_its_reserve() -> None:
    disk = new_disk()
    wal = await open_wal(disk)
    await wal.sync()
    disk.capacity_bytes = 0

    while wal.size_bytes < RESERVE:
        wal.write_entry(b"\0" * 900, index=wal.last_index + 1, term=1)
        await wal.sync()
    state = state_of(wal)
    wal.write_vote(term=2, voted_for=1)
    with pytest.raises(DiskFullError):
        await wal.sync()
    with pytest.raises(StorageError, match="restart this node"):
        await wal.sync()

    disk.crash()
    assert state_of(await open_wal(disk)) == state


async def test_a_compaction_without_room_leaves_the_log_as_it_was() -> None:
    disk = new_disk()
    wal = await open_wal(disk)
    for index in range(1, 9):
        wal.write_entry(b"\0" + bytes(1000), index=index, term=1)
    await wal.sync()
    before, content = state_of(wal), content_of(disk)
    for missing_bytes in (RESERVE, SECTOR, 1):
        disk.capacity_bytes = disk.used_bytes() + RESERVE - missing_bytes
        for work in (wal.prepare_compaction(), wal.compact(base_index=5)):
            with pytest.raises(DiskFullError):
                await work
            assert disk.list(FOLDER) == ["raft.wal"]
            assert (state_of(wal), content_of(disk)) == (before, content)

    disk.capacity_bytes = disk.used_bytes() + RESERVE
    await wal.compact(base_index=5)
    wal.write_vote(term=2, voted_for=1)
    await wal.sync()
    disk.crash()
    assert state_of(await open_wal(disk)) == state_of(wal)


async def test_a_compaction_that_outgrows_the_disk_leaves_the_log_as_it_was() -> None:
    disk = new_disk()
    wal = await open_wal(disk, reserve_bytes=4 * SECTOR)
    for index in range(1, 9):
        wal.write_entry(b"\0" + bytes(1000), index=index, term=1)
    await wal.sync()
    before = state_of(wal)
    await wal.prepare_compaction()
    disk.capacity_bytes = disk.used_bytes() + SECTOR

    with pytest.raises(DiskFullError):
        await wal.compact(base_index=0)

    assert (disk.list(FOLDER), state_of(wal)) == (["raft.wal"], before)
    disk.capacity_bytes = None
    wal.write_vote(term=2, voted_for=1)
    await wal.sync()
    disk.crash()
    assert state_of(await open_wal(disk)) == state_of(wal)


async def test_a_new_log_without_room_leaves_nothing_behind() -> None:
    disk = new_disk()
    disk.capacity_bytes = RESERVE - 1
    with pytest.raises(DiskFullError):
        await open_wal(disk)
    assert disk.list(FOLDER) == []
    disk.capacity_bytes = RESERVE
    assert state_of(await open_wal(disk)) == NEW
    assert disk.size(PATH) == RESERVE
