"""What a crash takes from a node's disk on the stage: what is un-synced may go, the rest stays."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import StorageError
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.scheduler import Scheduler
from tidelog.simulation.engine.trace import Trace

pytestmark = pytest.mark.sim

SEEDS = 40
PATH = "/data/file"


def run(main: Coroutine[Any, Any, None]) -> None:
    scheduler = Scheduler(trace=Trace())
    scheduler.run(scheduler.new_loop("node"), main)
    scheduler.close()


def new_disk(seed: int) -> SimDisk:
    disk = SimDisk(SeededRandom(seed), sync_latency_s=0.001)
    disk.make_directory("/data")
    return disk


async def write_synced(disk: SimDisk, data: bytes) -> None:
    file = disk.open(PATH, create=True)
    file.write_at(0, data)
    await file.sync()
    await disk.sync_directory("/data")


def content_after_crash(seed: int, *, synced: bytes, unsynced: bytes) -> bytes:
    disk = new_disk(seed)

    async def main() -> None:
        await write_synced(disk, synced)
        disk.open(PATH).write_at(len(synced), unsynced)
        disk.crash()

    run(main())
    file = disk.open(PATH)
    return file.read_at(0, file.size())


def test_unsynced_bytes_are_lost_torn_or_kept_and_synced_ones_always_kept() -> None:
    tail = b"tail" * 1000
    left = [content_after_crash(seed, synced=b"kept", unsynced=tail) for seed in range(SEEDS)]

    assert all(content.startswith(b"kept") and len(content) <= 4004 for content in left)
    assert b"kept" in left
    assert b"kept" + tail in left
    assert any(4 < len(content) < 4004 for content in left)
    assert any(bytes(512) in content for content in left)


def test_a_sync_under_way_at_the_crash_never_ends() -> None:
    disk = new_disk(1)
    ended: list[bool] = []

    async def sync() -> None:
        await disk.open(PATH).sync()
        ended.append(True)

    async def main() -> None:
        await write_synced(disk, b"kept")
        disk.open(PATH).write_at(4, b"tail")
        task = asyncio.create_task(sync())
        await asyncio.sleep(0)
        disk.crash()
        with pytest.raises(StorageError):
            await task

    run(main())
    assert ended == []


def test_handles_of_the_crashed_process_refuse() -> None:
    disk = new_disk(1)

    async def main() -> None:
        await write_synced(disk, b"kept")
        file = disk.open(PATH)
        disk.crash()
        with pytest.raises(StorageError):
            file.write_at(0, b"late")

    run(main())
    assert disk.open(PATH).read_at(0, 10) == b"kept"


def test_unsynced_index_entries_may_be_lost() -> None:
    left = set()
    for seed in range(SEEDS):
        disk = new_disk(seed)

        async def main(disk: SimDisk = disk) -> None:
            index = disk.open_index("/data/index", capacity_bytes=16)
            await index.sync()
            await disk.sync_directory("/data")
            index.view[:4] = b"more"
            disk.crash()

        run(main())
        left.add(disk.open("/data/index").read_at(0, 4))

    assert left == {b"more", bytes(4)}
