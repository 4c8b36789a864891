"""The simulated disk keeps what was synced, may lose the rest, and never makes anything up."""

from __future__ import annotations

import random

import pytest

from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.log.env import write_atomically
from tidelog.log.errors import StorageError

PATH = "/d/f"


def new_disk(seed: int = 1) -> SimDisk:
    disk = SimDisk(random.Random(seed), 0.0)
    disk.make_directory("/d")
    return disk


async def stored(disk: SimDisk, data: bytes) -> None:
    """PATH with `data`, content and name on stable storage."""
    file = disk.open(PATH, create=True)
    file.write_at(0, data)
    await file.sync()
    await disk.sync_directory("/d")


@pytest.mark.parametrize("seed", range(20))
async def test_what_was_synced_survives(seed: int) -> None:
    disk = new_disk(seed)
    await stored(disk, b"kept")
    disk.crash()
    assert disk.open(PATH).read_at(0, 9) == b"kept"


async def test_unsynced_writes_are_kept_torn_or_lost() -> None:
    found = set()
    for seed in range(60):
        disk = new_disk(seed)
        await stored(disk, b"old!")
        disk.open(PATH).write_at(0, b"NEW?")
        disk.crash()
        found.add(disk.open(PATH).read_at(0, 9))
    assert found >= {b"old!", b"NEW?", b"NEd!"}
    assert found <= {b"NEW?"[:size] + b"old!"[size:] for size in range(5)}


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
async def test_an_atomic_write_leaves_the_old_or_the_new(seed: int) -> None:
    disk = new_disk(seed)
    await stored(disk, b"old")
    writing = write_atomically(disk, PATH, b"newer")
    disk.crash()
    writing.close()
    assert disk.open(PATH).read_at(0, 9) == b"old"
    await write_atomically(disk, PATH, b"newer")
    disk.crash()
    assert disk.open(PATH).read_at(0, 9) == b"newer"


async def test_an_index_buffer_loses_unsynced_bytes() -> None:
    found = set()
    for seed in range(20):
        disk = new_disk(seed)
        buffer = disk.open_index(PATH, capacity_bytes=8192)
        buffer.view[0:4] = b"sync"
        await buffer.sync()
        await disk.sync_directory("/d")
        buffer.view[4096:4100] = b"lost"
        disk.crash()
        data = disk.open(PATH).read_at(0, 9000)
        assert (len(data), data[:4]) == (8192, b"sync")
        found.add(data[4096:4100])
    assert found == {b"lost", bytes(4)}


async def test_a_handle_of_before_the_crash_raises() -> None:
    disk = new_disk()
    await stored(disk, b"x")
    file = disk.open(PATH)
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
    assert disk.list("/d") == []
    assert disk.list("/elsewhere") == []


async def test_a_renamed_folder_is_after_a_crash_where_it_was_or_where_it_went() -> None:
    found = set()
    for seed in range(20):
        disk = new_disk(seed)
        await stored(disk, b"kept")
        disk.rename("/d", "/e")
        assert disk.list("/") == ["e"]
        assert disk.list("/e") == ["f"]
        disk.crash()
        kept = [path for path in ("/d/f", "/e/f") if disk.exists(path)]
        assert len(kept) == 1
        assert disk.open(kept[0]).read_at(0, 9) == b"kept"
        found.add(kept[0])
    assert found == {"/d/f", "/e/f"}


async def test_a_renamed_folder_stays_where_it_went_once_its_parent_is_synced() -> None:
    for seed in range(20):
        disk = new_disk(seed)
        await stored(disk, b"kept")
        disk.rename("/d", "/e")
        await disk.sync_directory("/")
        disk.crash()
        assert (disk.exists("/d/f"), disk.exists("/e/f")) == (False, True)


async def test_the_same_seed_crashes_the_same_way() -> None:
    async def run() -> list[tuple[str, bytes]]:
        disk = new_disk(5)
        for place in range(20):
            disk.open(f"/d/{place}", create=True).write_at(0, bytes([place]) * 50)
            if place % 3 == 0:
                await disk.sync_directory("/d")
        disk.crash()
        return [(name, disk.open(f"/d/{name}").read_at(0, 99)) for name in disk.list("/d")]

    assert await run() == await run()
