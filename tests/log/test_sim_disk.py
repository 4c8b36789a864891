"""The simulated disk keeps what was synced, may lose the rest, and never makes anything up.

All folders below "/data": folders right below "/" are mounted and need no sync.
"""

from __future__ import annotations

import asyncio
import random

import pytest

from tidelog.core.env import write_atomically
from tidelog.core.errors import StorageError
from tidelog.simulation.engine.disk import SimDisk, SimFile
from tidelog.simulation.engine.disk_faults import PowerCutError
from tidelog.simulation.engine.medium import PAGE_BYTES, SECTOR_BYTES

DIRECTORY = "/data/d"
PATH = f"{DIRECTORY}/f"


def new_disk(seed: int = 1) -> SimDisk:
    disk = SimDisk(random.Random(seed), 0.0)
    disk.make_directory(DIRECTORY)
    return disk


async def stored(disk: SimDisk, data: bytes, *, path: str = PATH) -> SimFile:
    """`data` in `path`, content and all names on stable storage."""
    file = disk.open(path, create=True)
    file.write_at(0, data)
    await file.sync()
    await disk.sync_directory(DIRECTORY)
    await disk.sync_directory("/data")
    return file


def content(disk: SimDisk, path: str = PATH) -> bytes:
    return disk.open(path).read_at(0, 1 << 20)


@pytest.mark.parametrize("seed", range(20))
async def test_what_was_synced_survives(seed: int) -> None:
    disk = new_disk(seed)
    await stored(disk, b"kept")
    disk.crash()
    assert disk.open(PATH).read_at(0, 9) == b"kept"


async def test_unsynced_sectors_are_kept_or_lost_each_on_its_own() -> None:
    found = set()
    for seed in range(200):
        disk = new_disk(seed)
        file = await stored(disk, b"o" * 4 * SECTOR_BYTES)
        file.write_at(SECTOR_BYTES - 2, b"n" * (2 * SECTOR_BYTES))
        disk.crash()
        after = content(disk)
        assert len(after) == 4 * SECTOR_BYTES
        assert after[: SECTOR_BYTES - 2] == b"o" * (SECTOR_BYTES - 2)
        sectors = {after[SECTOR_BYTES - 2 : SECTOR_BYTES], after[SECTOR_BYTES : 2 * SECTOR_BYTES]}
        assert all(len(set(sector)) == 1 for sector in sectors)
        found.add((after[SECTOR_BYTES - 1], after[SECTOR_BYTES], after[2 * SECTOR_BYTES]))
    assert found == {(a, b, c) for a in b"on" for b in b"on" for c in b"on"}


async def test_a_sector_is_as_it_was_after_some_of_its_writes() -> None:
    found = set()
    for seed in range(200):
        disk = new_disk(seed)
        file = await stored(disk, b"....")
        for place in range(4):
            file.write_at(place, b"%d" % place)
        disk.crash()
        found.add(content(disk))
    assert found == {b"....", b"0...", b"01..", b"012.", b"0123"}


async def test_an_unsynced_append_may_leave_any_length_and_zeros() -> None:
    found = set()
    for seed in range(300):
        disk = new_disk(seed)
        file = await stored(disk, b"old")
        file.write_at(3, b"n" * 1000)
        disk.crash()
        after = content(disk)
        assert after[:3] == b"old"
        found.add((len(after), bytes(set(after[3:512])), bytes(set(after[512:]))))
    lengths = {length for length, _, _ in found}
    assert lengths == {3, 512, 1003}
    assert {(1003, b"n", b"n"), (1003, b"\0", b"n"), (1003, b"n", b"\0"), (512, b"n", b"")} <= found


async def test_an_unsynced_cut_may_be_undone_sector_by_sector() -> None:
    found = set()
    for seed in range(200):
        disk = new_disk(seed)
        file = await stored(disk, b"o" * 2 * SECTOR_BYTES)
        file.truncate(10)
        file.write_at(10, b"n" * 10)
        disk.crash()
        after = content(disk)
        assert after[:10] == b"o" * 10
        found.add((len(after), after[10:20]))
    assert {(20, b"n" * 10), (10, b""), (1024, b"o" * 10), (1024, b"n" * 10)} <= found


async def test_unsynced_names_may_be_lost_whatever_was_synced_in_the_file() -> None:
    outcomes = set()
    for seed in range(20):
        disk = new_disk(seed)
        file = disk.open(PATH, create=True)
        file.write_at(0, b"data")
        await file.sync()
        disk.crash()
        outcomes.add(disk.exists(PATH))
    assert outcomes == {True, False}


@pytest.mark.parametrize("seed", range(30))
async def test_an_atomic_write_leaves_the_old_or_the_new_wherever_it_is_cut(seed: int) -> None:
    disk = new_disk(seed)
    await stored(disk, b"old")
    for number in range(1, 100):
        disk.crash_at(number)
        try:
            await write_atomically(disk, PATH, b"newer")
        except PowerCutError:
            disk.crash()
        else:
            break
        assert content(disk) in (b"old", b"newer")
    assert number > 4
    disk.crash()
    assert content(disk) == b"newer"


async def test_an_index_buffer_loses_unsynced_pages() -> None:
    found = set()
    for seed in range(200):
        disk = new_disk(seed)
        buffer = disk.open_index(PATH, capacity_bytes=3 * PAGE_BYTES)
        buffer.view[0:4] = b"sync"
        await buffer.sync()
        await disk.sync_directory(DIRECTORY)
        await disk.sync_directory("/data")
        for at in (PAGE_BYTES, PAGE_BYTES + SECTOR_BYTES, 2 * PAGE_BYTES):
            buffer.view[at : at + 4] = b"lost"
        disk.crash()
        data = content(disk)
        assert (len(data), data[:4]) == (3 * PAGE_BYTES, b"sync")
        first, second, third = (
            data[at : at + 4] == b"lost"
            for at in (PAGE_BYTES, PAGE_BYTES + SECTOR_BYTES, 2 * PAGE_BYTES)
        )
        assert first == second
        found.add((first, third))
    assert found == {(a, b) for a in (True, False) for b in (True, False)}


async def test_a_sync_stores_what_was_there_when_it_began_and_no_more() -> None:
    """Of files, mapped files and folders, also while another sync is under way."""
    found = set()
    for seed in range(200):
        disk = new_disk(seed)
        file = await stored(disk, b"old old!")
        buffer = disk.open_index(f"{DIRECTORY}/index", capacity_bytes=8)
        await asyncio.gather(buffer.sync(), disk.sync_directory(DIRECTORY))

        def change(text: bytes, file: SimFile = file, view: memoryview = buffer.view) -> None:
            file.write_at(0, text)
            view[0:4] = text

        change(b"kept")
        disk.open(f"{DIRECTORY}/kept", create=True)
        syncs = asyncio.gather(file.sync(), buffer.sync(), disk.sync_directory(DIRECTORY))
        await asyncio.sleep(0)
        change(b"late")
        disk.open(f"{DIRECTORY}/late", create=True)
        await syncs
        disk.crash()
        assert disk.exists(f"{DIRECTORY}/kept")
        found.add(
            (
                content(disk)[:4],
                content(disk, f"{DIRECTORY}/index")[:4],
                disk.exists(f"{DIRECTORY}/late"),
            )
        )
    texts = (b"kept", b"late")
    assert found == {(a, b, c) for a in texts for b in texts for c in (True, False)}


async def test_a_handle_of_before_the_crash_raises() -> None:
    disk = new_disk()
    file = await stored(disk, b"x")
    disk.crash()
    for use in (file.size, lambda: file.read_at(0, 1), lambda: file.write_at(0, b"y")):
        with pytest.raises(StorageError):
            use()
    with pytest.raises(StorageError):
        await file.sync()
    file.close()


async def test_a_missing_file_or_folder_is_an_error_and_a_missing_removal_is_not() -> None:
    disk = new_disk()
    with pytest.raises(StorageError):
        disk.open(PATH)
    with pytest.raises(StorageError):
        disk.open("/elsewhere/f", create=True)
    disk.remove(PATH)
    disk.remove_tree("/elsewhere")
    assert disk.list(DIRECTORY) == []
    assert disk.list("/elsewhere") == []


async def test_a_renamed_folder_is_after_a_crash_where_it_was_or_where_it_went() -> None:
    found = set()
    for seed in range(20):
        disk = new_disk(seed)
        await stored(disk, b"kept")
        disk.rename(DIRECTORY, "/data/e")
        assert disk.list("/data") == ["e"]
        assert disk.list("/data/e") == ["f"]
        disk.crash()
        kept = [path for path in (PATH, "/data/e/f") if disk.exists(path)]
        assert [content(disk, path) for path in kept] == [b"kept"]
        found.add(kept[0])
    assert found == {PATH, "/data/e/f"}


async def test_a_renamed_folder_stays_where_it_went_once_its_parent_is_synced() -> None:
    for seed in range(20):
        disk = new_disk(seed)
        await stored(disk, b"kept")
        disk.rename(DIRECTORY, "/data/e")
        await disk.sync_directory("/data")
        disk.crash()
        assert (disk.exists(PATH), disk.exists("/data/e/f")) == (False, True)


async def test_a_folder_is_made_and_removed_for_good_only_by_a_sync_of_its_parent() -> None:
    found = set()
    for seed in range(40):
        disk = new_disk(seed)
        file = disk.open(PATH, create=True)
        await file.sync()
        await disk.sync_directory(DIRECTORY)
        disk.crash()
        was_made = disk.exists(PATH)
        await stored(new := new_disk(seed), b"x")
        new.remove_tree(DIRECTORY)
        new.crash()
        found.add((was_made, new.exists(DIRECTORY)))
        await stored(new := new_disk(seed), b"x")
        new.remove_tree(DIRECTORY)
        await new.sync_directory("/data")
        new.crash()
        assert not new.exists(DIRECTORY)
    assert {was_made for was_made, _ in found} == {is_there for _, is_there in found} == {0, 1}


async def test_unsynced_names_are_lost_in_any_order_but_not_what_another_builds_on() -> None:
    found = set()
    for seed in range(100):
        disk = new_disk(seed)
        await stored(disk, b"1")
        await stored(disk, b"2", path=f"{DIRECTORY}/z")
        disk.rename(PATH, f"{DIRECTORY}/g")
        disk.remove(f"{DIRECTORY}/z")
        disk.rename(f"{DIRECTORY}/g", f"{DIRECTORY}/h")
        disk.crash()
        found.add("".join(disk.list(DIRECTORY)))
    assert found == {"f", "g", "h", "fz", "gz", "hz"}


async def test_power_is_cut_in_the_operation_asked_for_and_in_all_after_it() -> None:
    disk = new_disk()
    file = await stored(disk, b"old")
    disk.crash_at(2)
    before = disk.operations
    file.write_at(0, b"new")
    with pytest.raises(PowerCutError):
        await file.sync()
    assert disk.operations == before + 2
    for use in (file.size, lambda: file.read_at(0, 1), lambda: disk.open(PATH)):
        with pytest.raises(PowerCutError):
            use()
    disk.crash()
    assert content(disk) in (b"old", b"new")


async def test_a_failed_sync_leaves_unknown_what_the_next_one_calls_stored() -> None:
    found = set()
    for seed in range(60):
        disk = new_disk(seed)
        file = await stored(disk, b"o" * 2 * SECTOR_BYTES)
        file.write_at(0, b"n" * 2 * SECTOR_BYTES)
        disk.faults.fail("sync", PATH, count=1)
        with pytest.raises(StorageError, match=f"cannot sync {PATH}: Input/output error"):
            await file.sync()
        await file.sync()
        assert content(disk) == b"n" * 2 * SECTOR_BYTES
        disk.crash()
        after = content(disk)
        found.add((after[:SECTOR_BYTES], after[SECTOR_BYTES:]))
    assert len(found) == 4


async def test_reads_and_writes_fail_from_the_operation_asked_for_until_healed() -> None:
    disk = new_disk()
    file = await stored(disk, b"x")
    disk.faults.fail("read", PATH, spared=1)
    disk.faults.fail("write", PATH)
    assert file.read_at(0, 1) == b"x"
    for _ in range(3):
        with pytest.raises(StorageError, match=f"cannot read {PATH}: Input/output error"):
            file.read_at(0, 1)
        with pytest.raises(StorageError, match=f"cannot write {PATH}: Input/output error"):
            file.write_at(0, b"y")
    disk.faults.heal()
    assert file.read_at(0, 1) == b"x"


async def test_a_full_disk_takes_what_fits_and_says_so() -> None:
    disk = new_disk()
    file = await stored(disk, b"1234")
    disk.capacity_bytes = 6
    file.write_at(0, b"abcd")
    with pytest.raises(StorageError, match=f"cannot write {PATH}: No space left on device"):
        file.write_at(4, b"efgh")
    assert content(disk) == b"abcdef"
    with pytest.raises(StorageError, match="cannot map /data/d/index: No space left on device"):
        disk.open_index(f"{DIRECTORY}/index", capacity_bytes=8)
    disk.remove(PATH)
    disk.open_index(f"{DIRECTORY}/index", capacity_bytes=6).close()


async def test_a_flipped_bit_is_flipped_for_good() -> None:
    disk = new_disk()
    await stored(disk, b"abc")
    disk.flip(PATH, 1, 0)
    assert content(disk) == b"acc"
    disk.crash()
    assert content(disk) == b"acc"


async def test_the_same_seed_crashes_the_same_way() -> None:
    async def run() -> list[tuple[str, bytes]]:
        disk = new_disk(5)
        await disk.sync_directory("/data")
        for place in range(20):
            disk.open(f"{DIRECTORY}/{place}", create=True).write_at(0, bytes([place]) * 50)
            if place % 3 == 0:
                await disk.sync_directory(DIRECTORY)
        disk.crash()
        return [(name, content(disk, f"{DIRECTORY}/{name}")) for name in disk.list(DIRECTORY)]

    assert await run() == await run()
    assert len(await run()) >= 19
