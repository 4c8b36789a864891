"""Log and snapshots as one: which reaches the disk first, and what a start makes of a half."""

from __future__ import annotations

import pytest
from tests.raft.one_voter import snapshot_content

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import StorageError
from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.snapshot_file import file_name
from tidelog.raft.storage import Storage
from tidelog.simulation.engine.disk import SimDisk

DIRECTORY = "/data/meta"
SNAPSHOT = SnapshotId(5, 2)


async def open_storage(disk: SimDisk) -> Storage:
    return await Storage.open(
        disk=disk, directory=DIRECTORY, node_id=1, wall_ms=0, reserve_bytes=16_384
    )


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(SeededRandom(1), sync_latency_s=0)


async def receive(storage: Storage) -> None:
    """A leader's snapshot is whole; the log is told to begin after it."""
    content = await snapshot_content((5, 2), b"state")
    storage.snapshots.receive(SNAPSHOT, total_bytes=len(content), offset=0, data=content)
    storage.wal.write_base(index=5, term=2)


async def write_entries(storage: Storage, *terms: int) -> None:
    for index, term in enumerate(terms, start=1):
        storage.wal.write_entry(b"\0x", index=index, term=term)
    await storage.sync()


async def test_the_snapshot_is_on_disk_before_the_log_relies_on_it(disk: SimDisk) -> None:
    storage = await open_storage(disk)
    await write_entries(storage, 1, 1)
    await receive(storage)
    disk.faults.fail("sync", f"{DIRECTORY}/raft.wal")

    with pytest.raises(StorageError):
        await storage.sync()
    disk.crash()

    storage = await open_storage(disk)
    assert storage.snapshots.latest == SNAPSHOT
    assert (storage.wal.base_index, storage.wal.base_term) == (5, 2)


async def test_a_start_after_only_the_snapshot_reached_the_disk_forgets_the_log(
    disk: SimDisk,
) -> None:
    storage = await open_storage(disk)
    await write_entries(storage, 1, 1, 1, 1, 1, 1)
    await storage.snapshots.write(SNAPSHOT, iter([b"state"]))
    disk.crash()

    storage = await open_storage(disk)

    assert (storage.wal.base_index, storage.wal.base_term, storage.wal.last_index) == (5, 2, 5)
    await storage.sync()
    disk.crash()
    assert (await open_storage(disk)).wal.last_index == 5


async def test_a_log_that_holds_the_snapshots_last_entry_keeps_what_follows(disk: SimDisk) -> None:
    storage = await open_storage(disk)
    await write_entries(storage, 1, 1, 1, 1, 2, 2)
    await storage.snapshots.write(SNAPSHOT, iter([b"state"]))
    disk.crash()

    storage = await open_storage(disk)

    assert (storage.wal.base_index, storage.wal.last_index) == (0, 6)


async def test_a_log_without_the_snapshot_it_begins_after_is_refused_with_the_remedy(
    disk: SimDisk,
) -> None:
    storage = await open_storage(disk)
    await receive(storage)
    await storage.sync()
    disk.remove(f"{DIRECTORY}/{file_name(SNAPSHOT)}")

    with pytest.raises(
        StorageError, match=r"begins after entry 5.*there is none.*remove the whole"
    ):
        await open_storage(disk)


async def test_a_received_snapshot_alone_is_something_to_sync(disk: SimDisk) -> None:
    storage = await open_storage(disk)
    await storage.sync()
    assert not storage.is_dirty

    content = await snapshot_content((5, 2), b"state")
    storage.snapshots.receive(SNAPSHOT, total_bytes=len(content), offset=0, data=content)
    assert storage.is_dirty

    await storage.sync()
    assert not storage.is_dirty
    assert storage.snapshots.records() == [b"state"]
