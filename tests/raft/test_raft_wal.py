"""The write-ahead log: what it says, what it keeps through a restart, how it is compacted."""

from __future__ import annotations

import pytest
from tests.raft.wal_stage import FOLDER, PATH, RESERVE, SECTOR, State, new_disk, open_wal, state_of

from tidelog.core.errors import InvariantError, StorageError
from tidelog.raft.wal import Wal, WalEntry
from tidelog.simulation.engine.disk import SimDisk

NEXT = f"{PATH}.next"


@pytest.fixture
def disk() -> SimDisk:
    return new_disk()


async def filled(disk: SimDisk, *, entries: int = 10) -> Wal:
    """In term 2, with so many entries of it."""
    wal = await open_wal(disk)
    wal.write_vote(term=2, voted_for=1)
    for index in range(1, entries + 1):
        wal.write_entry(b"\0%d" % index, index=index, term=2)
    await wal.sync()
    return wal


async def compact_for_ever(wal: Wal) -> None:
    while True:
        await wal.prepare_compaction()
        await wal.compact(base_index=0)


async def test_a_new_log_is_empty_and_what_was_synced_is_read_again(disk: SimDisk) -> None:
    wal = await open_wal(disk)
    assert state_of(wal) == State(0, None, True, (0, 0), ())
    wal.write_entry(b"\1", index=1, term=0)
    wal.write_vote(term=1, voted_for=2)
    wal.write_entry(b"\0first", index=2, term=1)
    await wal.sync()
    wal.write_truncation(2)
    wal.write_vote(term=4, voted_for=None)
    wal.write_entry(b"\0other", index=2, term=4)
    wal.write_rejoined()
    await wal.sync()
    disk.crash()

    entries = WalEntry(b"\1", 1, 0), WalEntry(b"\0other", 2, 4)
    reopened = await open_wal(disk)
    assert state_of(reopened) == State(4, None, False, (0, 0), entries)
    assert (reopened.last_index, reopened.last_term) == (2, 4)


async def test_a_log_knows_the_terms_of_its_entries_and_of_the_one_before(disk: SimDisk) -> None:
    wal = await filled(disk)
    assert [wal.term_at(index) for index in (-1, 0, 1, 10, 11)] == [None, 0, 2, 2, None]

    await wal.compact(base_index=4)

    assert [wal.term_at(index) for index in (0, 3, 4, 5, 10, 11)] == [None, None, 2, 2, 2, None]


async def test_entries_are_read_up_to_a_count_and_a_size_but_at_least_one(disk: SimDisk) -> None:
    wal = await filled(disk)
    await wal.compact(base_index=4)

    def indexes(index: int, *, max_entries: int = 99, max_bytes: int = 99) -> list[int]:
        found = wal.entries_from(index, max_entries=max_entries, max_bytes=max_bytes)
        return [entry.log_index for entry in found]

    assert indexes(5) == [5, 6, 7, 8, 9, 10]
    assert indexes(6, max_entries=2) == [6, 7]
    assert indexes(6, max_bytes=4) == [6, 7]
    assert indexes(6, max_bytes=3) == [6]
    assert indexes(6, max_bytes=1) == [6]
    assert indexes(11) == []
    with pytest.raises(InvariantError):
        indexes(4)


async def test_a_vote_is_never_changed_in_its_term_not_even_after_a_restart(disk: SimDisk) -> None:
    wal = await open_wal(disk)
    wal.write_vote(term=3, voted_for=2)
    await wal.sync()
    disk.crash()
    wal = await open_wal(disk)
    await wal.sync()
    await wal.compact(base_index=0)
    wal = await open_wal(disk)

    assert (wal.term, wal.voted_for) == (3, 2)
    for voted_for in (1, None):
        with pytest.raises(InvariantError, match="one vote in a term"):
            wal.write_vote(term=3, voted_for=voted_for)
    with pytest.raises(InvariantError, match="terms never fall"):
        wal.write_vote(term=2, voted_for=1)


async def test_entries_follow_each_other_in_terms_that_never_fall(disk: SimDisk) -> None:
    wal = await filled(disk)
    await wal.compact(base_index=4)

    for index, term in ((10, 2), (12, 2), (11, 1)):
        with pytest.raises(InvariantError):
            wal.write_entry(b"\0", index=index, term=term)
    for first_index in (4, 11):
        with pytest.raises(InvariantError):
            wal.write_truncation(first_index)
    for index, term in ((3, 2), (4, 1)):
        with pytest.raises(InvariantError):
            wal.write_base(index=index, term=term)
    assert not wal.is_dirty


async def test_what_was_not_synced_is_not_there_after_a_crash(disk: SimDisk) -> None:
    wal = await open_wal(disk)
    await wal.sync()
    wal.write_vote(term=3, voted_for=2)
    assert wal.is_dirty
    disk.crash()

    assert state_of(await open_wal(disk)) == State(0, None, True, (0, 0), ())


async def test_a_sync_without_anything_new_leaves_the_disk_alone(disk: SimDisk) -> None:
    wal = await filled(disk)
    operations = disk.operations

    await wal.sync()

    assert disk.operations == operations


async def test_the_incarnation_grows_with_every_start_even_if_the_clock_falls(
    disk: SimDisk,
) -> None:
    incarnations = []
    for wall_ms in (5000, 1000, 9000):
        wal = await open_wal(disk, wall_ms=wall_ms)
        await wal.sync()
        await wal.compact(base_index=0)
        incarnations.append(wal.incarnation)

    assert incarnations == [5000, 5001, 9000]


async def test_another_nodes_file_is_refused(disk: SimDisk) -> None:
    await open_wal(disk, node_id=1)

    with pytest.raises(StorageError, match="give every node its own data directory"):
        await open_wal(disk, node_id=2)


async def test_a_log_is_rejoining_until_it_is_told_otherwise_and_through_restarts(
    disk: SimDisk,
) -> None:
    wal = await open_wal(disk)
    await wal.sync()
    await wal.compact(base_index=0)
    wal = await open_wal(disk)
    assert wal.is_rejoining

    wal.write_rejoined()
    await wal.sync()
    await wal.compact(base_index=0)
    assert not (await open_wal(disk)).is_rejoining

    disk.remove(PATH)
    assert (await open_wal(disk)).is_rejoining


async def test_a_base_replaces_all_entries(disk: SimDisk) -> None:
    wal = await filled(disk)
    wal.write_base(index=100, term=7)
    assert (wal.last_index, wal.last_term, wal.entries) == (100, 7, [])
    wal.write_entry(b"\0next", index=101, term=7)
    await wal.sync()

    expected = State(2, 1, True, (100, 7), (WalEntry(b"\0next", 101, 7),))
    assert state_of(await open_wal(disk)) == expected


async def test_a_compacted_log_goes_on_with_what_it_kept(disk: SimDisk) -> None:
    wal = await filled(disk, entries=200)
    before = state_of(wal)

    await wal.prepare_compaction()
    await wal.compact(base_index=197)

    assert state_of(wal) == before._replace(base=(197, 2), entries=before.entries[197:])
    assert wal.size_bytes == 2 * SECTOR
    assert (disk.list(FOLDER), disk.size(PATH)) == (["raft.wal"], RESERVE)
    wal.write_entry(b"\0next", index=201, term=3)
    await wal.sync()
    assert wal.size_bytes == 3 * SECTOR
    reopened = await open_wal(disk)
    assert state_of(reopened) == state_of(wal)
    assert reopened.size_bytes == 3 * SECTOR


async def test_a_compaction_keeps_more_than_its_reserve_and_than_a_frame(disk: SimDisk) -> None:
    wal = await open_wal(disk)
    for index in range(1, 9):
        wal.write_entry(bytes(100_000), index=index, term=1)
    await wal.sync()

    await wal.compact(base_index=1)
    wal.write_entry(b"\0next", index=9, term=1)
    await wal.sync()

    assert disk.size(PATH) == wal.size_bytes > 700_000
    assert state_of(await open_wal(disk)) == state_of(wal)


async def test_the_log_is_written_while_its_compaction_is_prepared(disk: SimDisk) -> None:
    wal = await filled(disk)
    await wal.prepare_compaction()
    wal.write_entry(b"\0late", index=11, term=2)
    await wal.sync()

    await wal.compact(base_index=10)

    assert state_of(await open_wal(disk)).entries == (WalEntry(b"\0late", 11, 2),)


async def test_a_log_is_compacted_only_within_it(disk: SimDisk) -> None:
    wal = await filled(disk)
    for base_index in (-1, 11):
        with pytest.raises(InvariantError):
            await wal.compact(base_index=base_index)
    await wal.compact(base_index=5)
    with pytest.raises(InvariantError):
        await wal.compact(base_index=4)


async def test_what_a_killed_node_prepared_is_removed_at_the_next_start(disk: SimDisk) -> None:
    wal = await filled(disk)
    await wal.prepare_compaction()
    assert disk.exists(NEXT)

    await open_wal(disk)

    assert not disk.exists(NEXT)


@pytest.mark.parametrize("action", ["write", "sync"])
async def test_an_error_of_a_sync_is_final(disk: SimDisk, action: str) -> None:
    wal = await filled(disk)
    disk.faults.fail(action, PATH, count=1)
    wal.write_vote(term=3, voted_for=1)
    with pytest.raises(StorageError, match="Input/output error"):
        await wal.sync()

    wal.write_vote(term=4, voted_for=1)
    for again in (wal.sync(), wal.compact(base_index=0)):
        with pytest.raises(StorageError, match="restart this node"):
            await again


@pytest.mark.parametrize(
    ("action", "path"), [("rename " + NEXT + " to", PATH), ("sync", FOLDER), ("open", PATH)]
)
async def test_an_error_when_the_new_file_gets_its_name_is_final(
    disk: SimDisk, action: str, path: str
) -> None:
    wal = await filled(disk)
    await wal.prepare_compaction()
    disk.faults.fail(action, path, count=1)
    with pytest.raises(StorageError, match="Input/output error"):
        await wal.compact(base_index=5)

    wal.write_vote(term=4, voted_for=1)
    with pytest.raises(StorageError, match="restart this node"):
        await wal.sync()


@pytest.mark.parametrize("action", ["open", "write", "sync"])
async def test_an_error_before_that_leaves_the_log_as_it_was(disk: SimDisk, action: str) -> None:
    wal = await filled(disk)
    for spared in (0, 1, 2):
        disk.faults.fail(action, NEXT, spared=spared, count=1)
        with pytest.raises(StorageError, match="Input/output error"):
            await compact_for_ever(wal)
        disk.faults.heal()
        assert disk.list(FOLDER) == ["raft.wal"]
    wal.write_vote(term=4, voted_for=1)
    await wal.sync()
    await wal.compact(base_index=5)
    assert state_of(await open_wal(disk)) == state_of(wal)
