"""Snapshots: written, received, read again; what a crash, a full disk and a changed byte do."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.power_cuts import ends
from tests.raft.wal_stage import FOLDER, SECTOR, content_of, disk_with, new_disk
from tests.virtual_loop import run_virtual

from tidelog.core.errors import DiskFullError, InvariantError, StorageError
from tidelog.raft import snapshots
from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.snapshot_file import (
    encode_snapshot,
    file_name,
    parse_name,
    read_snapshot,
)
from tidelog.raft.snapshots import SnapshotStore, SnapshotTooLargeError
from tidelog.raft.wal_frames import SLICE_BYTES, Record, encode_frame, encode_record
from tidelog.simulation.engine.disk import SimDisk

OLD, NEW = SnapshotId(10, 2), SnapshotId(25, 3)
OLD_RECORDS = [b"old", b""]
NEW_RECORDS = [bytes([number]) * 300 for number in range(5)]
NEW_FILE = b"".join(encode_snapshot(NEW, NEW_RECORDS))
HEADER = (17, 25, 3, b"\2\0\0\0")
HEADER_CRC = zlib.crc32(encode_record(Record(*HEADER)))
NEXT_FORMAT = (17, 25, 3, b"\3\0\0\0")
NEXT_FORMAT_CRC = zlib.crc32(encode_record(Record(*NEXT_FORMAT)))
Work = Callable[[SnapshotStore], Awaitable[None]]


def path_of(snapshot: SnapshotId) -> str:
    return f"{FOLDER}/{file_name(snapshot)}"


async def opened(disk: SimDisk) -> SnapshotStore:
    return await SnapshotStore.open(disk=disk, directory=FOLDER)


async def with_old(seed: int = 1) -> tuple[SimDisk, SnapshotStore]:
    disk = new_disk(seed)
    store = await opened(disk)
    await store.write(OLD, iter(OLD_RECORDS))
    return disk, store


def receive(
    store: SnapshotStore, data: bytes = NEW_FILE, *, piece_bytes: int = 700, at: SnapshotId = NEW
) -> int:
    """Send all of it as a leader does; where that ended."""
    wanted = 0
    for offset in range(0, len(data), piece_bytes):
        piece = data[offset : offset + piece_bytes]
        wanted = store.receive(at, total_bytes=len(data), offset=offset, data=piece)
        if wanted != offset + len(piece):
            break
    return wanted


async def write_new(store: SnapshotStore) -> None:
    await store.write(NEW, iter(NEW_RECORDS))


async def install_new(store: SnapshotStore) -> None:
    assert receive(store) == len(NEW_FILE)
    await store.install()


WAYS = pytest.mark.parametrize("work", [write_new, install_new])


# Written, read, received


async def test_there_is_nothing_at_first() -> None:
    store = await opened(new_disk())
    assert (store.latest, store.size_bytes, store.records()) == (None, 0, [])
    assert not store.has_received


@WAYS
async def test_the_newest_snapshot_replaces_the_older_for_good(work: Work) -> None:
    disk, store = await with_old()
    assert (store.latest, store.records()) == (OLD, OLD_RECORDS)

    await work(store)

    assert disk.list(FOLDER) == [file_name(NEW)] == ["00000000000000000025-0000000003.checkpoint"]
    disk.crash()
    store = await opened(disk)
    assert disk.list(FOLDER) == [file_name(NEW)]
    assert content_of(disk, path_of(NEW)) == NEW_FILE
    assert (store.latest, store.size_bytes, store.records()) == (NEW, len(NEW_FILE), NEW_RECORDS)
    assert not store.has_received


async def test_any_piece_of_the_newest_is_read_as_it_is_on_disk() -> None:
    _, store = await with_old()
    await write_new(store)
    for offset in range(0, len(NEW_FILE), 97):
        for max_bytes in (1, 511, 512, 513, 10_000):
            assert store.read_chunk(offset, max_bytes) == NEW_FILE[offset : offset + max_bytes]
    for offset in (-1, len(NEW_FILE)):
        with pytest.raises(InvariantError):
            store.read_chunk(offset, 1)


@settings(max_examples=40)
@given(st.lists(st.binary(max_size=700), max_size=6), st.integers(1, 4000))
def test_what_one_voter_wrote_another_receives(records: list[bytes], piece_bytes: int) -> None:
    async def run() -> None:
        ours, theirs = await opened(new_disk()), await opened(new_disk())
        await ours.write(NEW, records)
        data = ours.read_chunk(0, ours.size_bytes)
        assert receive(theirs, data, piece_bytes=piece_bytes) == len(data)
        await theirs.install()
        assert (theirs.latest, theirs.records()) == (NEW, records)

    run_virtual(run())


async def test_a_large_snapshot_is_written_in_slices_between_which_the_loop_goes_on() -> None:
    disk = new_disk()
    store = await opened(disk)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        for _ in count():
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count_turns())
    await store.write(NEW, (bytes(1000) for _ in range(4000)))
    counting.cancel()

    assert turns >= 4_000_000 // SLICE_BYTES
    frames = read_snapshot(disk.open(path_of(NEW)).read_at, store.size_bytes)
    assert max(len(frame.payload) for frame, _ in frames) < SLICE_BYTES + 1100


async def test_an_own_snapshot_that_ends_after_a_newer_came_is_dropped() -> None:
    disk, store = await with_old()
    between = SnapshotId(20, 2)

    def records() -> Iterator[bytes]:
        for _ in range(4):
            yield bytes(SLICE_BYTES)

    writing = asyncio.create_task(store.write(between, records()))
    await asyncio.sleep(0)
    assert disk.exists(path_of(between) + ".tmp")
    await install_new(store)
    await writing

    assert (store.latest, store.records()) == (NEW, NEW_RECORDS)
    assert disk.list(FOLDER) == [file_name(NEW)]


def test_only_names_of_snapshots_are_taken_for_some() -> None:
    assert parse_name(file_name(NEW)) == NEW
    for name in (
        "raft.wal",
        "checkpoint",
        file_name(NEW) + ".tmp",
        "1-1.checkpoint",
        ".checkpoint",
    ):
        assert parse_name(name) is None


# Received in disorder


async def test_pieces_may_come_twice_or_too_early_or_of_another_snapshot() -> None:
    store = await opened(new_disk())
    total = len(NEW_FILE)

    def piece(start: int, end: int, snapshot: SnapshotId = NEW, total_bytes: int = total) -> int:
        data = NEW_FILE[start:end]
        return store.receive(snapshot, total_bytes=total_bytes, offset=start, data=data)

    assert piece(600, 900) == 0
    assert piece(0, 600) == 600
    assert piece(0, 600) == 600
    assert piece(0, 300) == 600
    assert piece(900, total) == 600
    assert piece(600, 900, SnapshotId(26, 3)) == 0
    assert piece(600, 900, total_bytes=total + SECTOR) == 0
    assert piece(600, 900) == 900
    assert not store.has_received
    assert piece(900, total) == total
    assert store.has_received
    assert piece(900, total) == total
    assert store.has_received


async def test_a_new_transfer_replaces_the_one_before() -> None:
    store = await opened(new_disk())
    other = SnapshotId(30, 4)
    data = b"".join(encode_snapshot(other, [b"other"]))
    store.receive(NEW, total_bytes=len(NEW_FILE), offset=0, data=NEW_FILE[:600])

    assert receive(store, data, at=other) == len(data)
    await store.install()

    assert (store.latest, store.records()) == (other, [b"other"])


async def test_only_a_newer_snapshot_of_a_bearable_size_is_received(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, store = await with_old()
    for snapshot in (OLD, SnapshotId(9, 2)):
        data = b"".join(encode_snapshot(snapshot, []))
        assert receive(store, data, at=snapshot) == 0
    monkeypatch.setattr(snapshots, "SNAPSHOT_BYTES_MAX", len(NEW_FILE) - 1)
    assert receive(store) == 0
    assert store.receive(NEW, total_bytes=-1, offset=0, data=b"") == 0
    assert not store.has_received
    with pytest.raises(SnapshotTooLargeError, match="delete topics"):
        await store.write(NEW, iter(NEW_RECORDS))
    assert (store.latest, store.records()) == (OLD, OLD_RECORDS)
    monkeypatch.setattr(snapshots, "SNAPSHOT_BYTES_MAX", len(NEW_FILE))
    assert receive(store) == len(NEW_FILE)
    await store.write(NEW, iter(NEW_RECORDS))
    assert store.latest == NEW


async def test_more_than_was_announced_is_not_collected() -> None:
    store = await opened(new_disk())
    assert store.receive(NEW, total_bytes=SECTOR, offset=0, data=NEW_FILE) == 0
    assert not store.has_received


async def test_a_received_snapshot_with_any_byte_changed_is_asked_for_again() -> None:
    store = await opened(new_disk())
    for position in range(len(NEW_FILE)):
        changed = bytearray(NEW_FILE)
        changed[position] ^= 1 << position % 8
        assert receive(store, bytes(changed)) == 0
        assert not store.has_received
    assert receive(store) == len(NEW_FILE)


async def test_a_received_snapshot_is_the_announced_one_and_whole() -> None:
    store = await opened(new_disk())
    assert receive(store, at=SnapshotId(25, 4)) == 0
    for size in range(SECTOR, len(NEW_FILE), SECTOR):
        assert receive(store, NEW_FILE[:size]) == 0
    assert receive(store, NEW_FILE + bytes(SECTOR)) == 0
    assert not store.has_received


# Damage


async def refusal(content: bytes) -> str:
    """Why a start with this file is refused, which leaves it as it is; "" if it is not."""
    disk = await disk_with(content, path_of(NEW))
    try:
        await opened(disk)
    except StorageError as error:
        return str(error) if content_of(disk, path_of(NEW)) == content else "changed"
    return ""


async def test_a_changed_byte_anywhere_refuses_to_start_and_says_what_to_do() -> None:
    assert await refusal(NEW_FILE) == ""
    for position, byte in enumerate(NEW_FILE):
        for value in {byte ^ 1 << position % 8, byte ^ 0xFF, 0} - {byte}:
            changed = bytearray(NEW_FILE)
            changed[position] = value
            refused = await refusal(bytes(changed))
            assert f"{path_of(NEW)} is damaged at byte " in refused
            assert "remove the folder once" in refused


async def test_a_file_cut_or_extended_anywhere_refuses_to_start() -> None:
    for size in range(len(NEW_FILE)):
        assert await refusal(NEW_FILE[:size])
    for more in (b"\0", bytes(SECTOR), NEW_FILE):
        assert await refusal(NEW_FILE + more)


async def test_a_file_under_another_name_refuses_to_start() -> None:
    assert "not SnapshotId(index=25" in await refusal(b"".join(encode_snapshot(OLD, [])))


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([[(18, 0, 0, b"x")], [(19, 1, 0, b"")]], id="no header"),
        pytest.param([[NEXT_FORMAT], [(19, 0, NEXT_FORMAT_CRC, b"")]], id="another format"),
        pytest.param([[HEADER] * 2, [(19, 0, 0, b"")]], id="two headers"),
        pytest.param([[HEADER], [(19, 0, 0, b"")]], id="a wrong CRC"),
        pytest.param([[HEADER], [(19, 1, HEADER_CRC, b"")]], id="a wrong count"),
        pytest.param([[HEADER], [(19, 0, HEADER_CRC, b"")] * 2], id="two ends in a frame"),
        pytest.param([[HEADER], *[[(19, 0, HEADER_CRC, b"")]] * 2], id="two ends"),
        pytest.param([[HEADER, (19, 0, 0, b"")]], id="an end that is not alone"),
        pytest.param(
            [[HEADER], [(19, 0, HEADER_CRC, b"")], [(18, 0, 0, b"x")]], id="a record behind the end"
        ),
        pytest.param([[HEADER], [(99, 0, 0, b"")]], id="an unknown record"),
    ],
)
async def test_frames_in_another_order_refuse_to_start(
    frames: list[list[tuple[int, int, int, bytes]]],
) -> None:
    content = b"".join(
        encode_frame(number, b"".join(encode_record(Record(*record)) for record in records))
        for number, records in enumerate(frames)
    )
    assert "is damaged at byte" in await refusal(content)


async def test_a_snapshot_without_one_of_its_frames_refuses_to_start() -> None:
    frames = list(encode_snapshot(NEW, [bytes(SLICE_BYTES)] * 3))
    assert len(frames) == 5
    for gone in range(len(frames)):
        left = [frame for number, frame in enumerate(frames) if number != gone]
        assert await refusal(b"".join(left))


async def test_what_changes_under_a_running_node_is_neither_restored_nor_sent() -> None:
    disk, store = await with_old()
    await write_new(store)
    for position in range(0, len(NEW_FILE), 31):
        disk.flip(path_of(NEW), position, 3)
        with pytest.raises(StorageError, match="is damaged at byte"):
            store.records()
        with pytest.raises(StorageError, match="is damaged at byte"):
            store.read_chunk(position - position % 100, 100)
        disk.flip(path_of(NEW), position, 3)
    assert store.records() == NEW_RECORDS


# Crashes and full disks


async def cuts(work: Work) -> AsyncIterator[tuple[SimDisk, bool]]:
    """Disks with the older snapshot after a power cut in each operation of `work`; if it ended."""
    has_ended, step = False, 1
    while not has_ended:
        for fate in range(40):
            disk, store = await with_old(step * 40 + fate)
            disk.crash_at(step)
            has_ended = await ends(work(store))
            disk.crash()
            yield disk, has_ended
        step += 1
    assert step > 5


@WAYS
async def test_a_power_cut_in_any_operation_leaves_one_whole_snapshot(work: Work) -> None:
    found = set()
    async for disk, has_ended in cuts(work):
        store = await opened(disk)
        assert store.latest == NEW or not has_ended
        expected = {OLD: OLD_RECORDS, NEW: NEW_RECORDS}
        assert store.latest is not None
        assert store.records() == expected[store.latest]
        assert disk.list(FOLDER) == [file_name(store.latest)]
        found.add((store.latest, has_ended))
        await store.write(SnapshotId(99, 9), [b"on"])
        assert (await opened(disk)).records() == [b"on"]
    assert found == {(OLD, False), (NEW, False), (NEW, True)}


async def test_a_power_cut_in_the_first_snapshot_leaves_none_or_it() -> None:
    for step in range(1, 8):
        for fate in range(20):
            disk = new_disk(step * 20 + fate)
            store = await opened(disk)
            disk.crash_at(step)
            has_ended = await ends(write_new(store))
            disk.crash()
            store = await opened(disk)
            assert store.latest == NEW or (store.latest is None and not has_ended)


async def test_an_own_snapshot_without_room_leaves_all_as_it_was() -> None:
    disk, store = await with_old()
    for room in (0, 1, SECTOR, len(NEW_FILE) - 1):
        disk.capacity_bytes = disk.used_bytes() + room
        with pytest.raises(DiskFullError):
            await write_new(store)
        assert (store.latest, store.records()) == (OLD, OLD_RECORDS)
        assert disk.list(FOLDER) == [file_name(OLD)]

    disk.capacity_bytes = disk.used_bytes() + len(NEW_FILE)
    await write_new(store)
    assert (store.latest, store.records()) == (NEW, NEW_RECORDS)


async def test_a_piece_without_room_is_asked_for_again_and_nobody_counts_on_it() -> None:
    disk, store = await with_old()
    total, half = len(NEW_FILE), len(NEW_FILE) // 2
    disk.capacity_bytes = disk.used_bytes() + half
    assert store.receive(NEW, total_bytes=total, offset=0, data=NEW_FILE[:half]) == half
    for _ in range(2):
        assert store.receive(NEW, total_bytes=total, offset=half, data=NEW_FILE[half:]) == half
        assert not store.has_received
    assert (store.latest, store.records()) == (OLD, OLD_RECORDS)

    disk.capacity_bytes = disk.used_bytes() + half
    assert store.receive(NEW, total_bytes=total, offset=half, data=NEW_FILE[half:]) == total
    await store.install()
    assert (store.latest, store.records()) == (NEW, NEW_RECORDS)


async def test_a_whole_snapshot_stays_until_it_is_installed() -> None:
    store = await opened(new_disk())
    receive(store)
    later = SnapshotId(NEW.index + 1, NEW.term)
    assert store.receive(later, total_bytes=10_000, offset=0, data=b"x") == 0
    assert store.has_received
    await store.install()
    assert store.latest == NEW


@WAYS
@pytest.mark.parametrize("action", ["open", "write", "sync"])
async def test_a_failing_disk_leaves_the_older_snapshot(work: Work, action: str) -> None:
    for suffix in (".tmp", ".part"):
        disk, store = await with_old()
        disk.faults.fail(action, path_of(NEW) + suffix)
        disk.faults.fail("sync", FOLDER)
        with pytest.raises(StorageError, match="Input/output error"):
            await work(store)
        assert (store.latest, store.records()) == (OLD, OLD_RECORDS)
        disk.crash()
        assert (await opened(disk)).latest in (OLD, NEW)


@WAYS
async def test_a_snapshot_found_at_a_start_is_there_for_good(work: Work) -> None:
    for seed in range(20):
        disk, store = await with_old(seed)
        killed = asyncio.ensure_future(work(store))
        while not disk.exists(path_of(NEW)):  # noqa: ASYNC110  # a turn of the loop is a step of it
            await asyncio.sleep(0)
        killed.cancel()
        assert (await opened(disk)).latest == NEW
        disk.crash()
        assert (await opened(disk)).latest == NEW
