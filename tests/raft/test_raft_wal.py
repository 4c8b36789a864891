"""The write-ahead log: what survives a crash, what is cut, and when a node must not start."""

from __future__ import annotations

import pytest

from tidelog.chaos.sim_stage.clock import SimRandom
from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.log.errors import InvariantError, StorageError
from tidelog.raft.wal import FILE_NAME, Wal, WalEntry

PATH = f"/data/meta/{FILE_NAME}"
State = tuple[int, int | None, list[WalEntry]]


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(SimRandom(1), sync_latency_s=0)


async def open_wal(disk: SimDisk, *, node_id: int = 1) -> Wal:
    return await Wal.open(disk=disk, directory="/data/meta", node_id=node_id, wall_ms=1000)


def state_of(wal: Wal) -> State:
    return wal.term, wal.voted_for, list(wal.entries)


async def write_history(disk: SimDisk) -> list[tuple[int, State]]:
    """Where each frame ends, and the state up to there."""
    wal = await open_wal(disk)
    file = disk.open(PATH)
    frames = [(file.size(), state_of(wal))]
    await wal.sync()
    frames.append((file.size(), state_of(wal)))
    wal.write_entry(b"\1", index=1, term=0)
    wal.write_vote(term=1, voted_for=2)
    wal.write_entry(b"\0first", index=2, term=1)
    wal.write_entry(b"\0second", index=3, term=1)
    await wal.sync()
    frames.append((file.size(), state_of(wal)))
    wal.write_vote(term=4, voted_for=None)
    wal.write_truncation(3)
    wal.write_entry(b"\0other", index=3, term=4)
    await wal.sync()
    frames.append((file.size(), state_of(wal)))
    wal.close()
    return frames


async def test_a_new_log_is_empty_and_what_was_synced_is_read_again(disk: SimDisk) -> None:
    wal = await open_wal(disk)
    assert state_of(wal) == (0, None, [])

    frames = await write_history(SimDisk(SimRandom(1), sync_latency_s=0))
    assert frames[-1][1] == (
        4,
        None,
        [WalEntry(b"\1", 1, 0), WalEntry(b"\0first", 2, 1), WalEntry(b"\0other", 3, 4)],
    )


async def test_a_file_cut_at_any_byte_holds_what_was_synced_before(disk: SimDisk) -> None:
    frames = await write_history(disk)
    content = disk.open(PATH).read_at(0, frames[-1][0])

    for size in range(frames[0][0], len(content) + 1):
        file = disk.open(PATH)
        file.truncate(size)
        file.write_at(0, content[:size])
        wal = await open_wal(disk)
        assert state_of(wal) == [state for end, state in frames if end <= size][-1]
        wal.write_vote(term=wal.term + 1, voted_for=3)
        await wal.sync()
        wal.close()
        assert (await open_wal(disk)).voted_for == 3


async def test_a_file_cut_in_its_first_frame_is_not_taken_for_a_new_one(disk: SimDisk) -> None:
    frames = await write_history(disk)

    for size in range(frames[0][0]):
        disk.open(PATH).truncate(size)
        with pytest.raises(StorageError, match="is damaged at byte 0"):
            await open_wal(disk)


async def test_a_changed_byte_anywhere_refuses_to_start_and_says_what_to_do(disk: SimDisk) -> None:
    frames = await write_history(disk)
    file = disk.open(PATH)
    content = file.read_at(0, frames[-1][0])

    for position, byte in enumerate(content):
        file.write_at(position, bytes([byte ^ 0x10]))
        with pytest.raises(StorageError, match="Restore the file from a copy"):
            await open_wal(disk)
        file.write_at(position, bytes([byte]))
    assert file.read_at(0, file.size()) == content


async def test_sectors_a_power_cut_never_wrote_are_cut(disk: SimDisk) -> None:
    wal = await open_wal(disk)
    wal.write_vote(term=1, voted_for=1)
    await wal.sync()
    end = disk.open(PATH).size()
    wal.write_entry(b"x" * 5000, index=1, term=1)
    await wal.sync()
    disk.open(PATH).write_at(1024, bytes(1024))

    reopened = await open_wal(disk)

    assert state_of(reopened) == (1, 1, [])
    assert disk.open(PATH).size() == end


async def test_zeros_over_synced_frames_refuse_to_start(disk: SimDisk) -> None:
    wal = await open_wal(disk)
    wal.write_entry(b"x" * 5000, index=1, term=1)
    await wal.sync()
    wal.write_vote(term=2, voted_for=1)
    await wal.sync()
    disk.open(PATH).write_at(1024, bytes(1024))

    with pytest.raises(StorageError, match="was on stable storage"):
        await open_wal(disk)


async def test_a_vote_is_never_changed_in_its_term_not_even_after_a_restart(disk: SimDisk) -> None:
    wal = await open_wal(disk)
    wal.write_vote(term=3, voted_for=2)
    await wal.sync()
    disk.crash()
    wal = await open_wal(disk)

    assert (wal.term, wal.voted_for) == (3, 2)
    for voted_for in (1, None):
        with pytest.raises(InvariantError, match="one vote in a term"):
            wal.write_vote(term=3, voted_for=voted_for)
    with pytest.raises(InvariantError, match="terms never fall"):
        wal.write_vote(term=2, voted_for=1)


async def test_what_was_not_synced_is_not_there_after_a_crash(disk: SimDisk) -> None:
    wal = await open_wal(disk)
    await wal.sync()
    wal.write_vote(term=3, voted_for=2)
    assert wal.is_dirty
    disk.crash()

    assert state_of(await open_wal(disk)) == (0, None, [])


async def test_the_incarnation_grows_with_every_start_even_if_the_clock_falls(
    disk: SimDisk,
) -> None:
    incarnations = []
    for wall_ms in (5000, 1000, 9000):
        wal = await Wal.open(disk=disk, directory="/data/meta", node_id=1, wall_ms=wall_ms)
        await wal.sync()
        incarnations.append(wal.incarnation)

    assert incarnations == [5000, 5001, 9000]


async def test_another_nodes_file_is_refused(disk: SimDisk) -> None:
    await open_wal(disk, node_id=1)

    with pytest.raises(StorageError, match="give every node its own data directory"):
        await open_wal(disk, node_id=2)
