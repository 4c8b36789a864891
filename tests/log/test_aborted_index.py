"""The transaction index: Kafka's file, and what becomes of it with its segment and its log."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.log.cleaned_logs import StillClock, unhurried
from tests.log.partition_logs import (
    DIRECTORY,
    NOW_MS,
    OpenLog,
    append,
    base_offsets,
    batches,
    commit,
    copy,
    segment_path,
)
from tests.log.power_cuts import power_cuts
from tests.log.transaction_logs import Writer

from tidelog.core.errors import StorageError
from tidelog.log.aborted_index import ABORTED_ENTRY, AbortedIndex
from tidelog.log.compaction import BYTES_PER_KEY
from tidelog.log.file_names import DELETED, SNAPSHOT, TXN_INDEX, offsets_in
from tidelog.log.partition_log import PartitionLog
from tidelog.log.transactions import CompletedTransaction
from tidelog.records.batch import CONTROL_FLAG
from tidelog.records.records import read_marker
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.mutants.transactions import ALL

KAFKA = Path(__file__).parent.parent / "testdata/kafka"
SEGMENT_BYTES = 250
END = 1 << 60


def index_of(disk: SimDisk, base_offset: int) -> bytes:
    path = segment_path(DIRECTORY, base_offset, TXN_INDEX)
    return disk.open(path).read_at(0, 1 << 20) if disk.exists(path) else b""


def indexes(disk: SimDisk) -> dict[int, bytes]:
    """Those that are not empty."""
    found = {base: index_of(disk, base) for base in base_offsets(disk, DIRECTORY)}
    return {base: data for base, data in found.items() if data}


def filled(log: PartitionLog) -> None:
    """Three producers whose transactions overlap, over many segments; most are aborted."""
    writers = [Writer(7), Writer(8), Writer(9)]
    for turn in range(12):
        for place, writer in enumerate(writers):
            writer.send(log, b"value")
            if (turn + place) % 3 == 0:
                writer.end(log, is_commit=turn % 4 == 3)
    for writer in writers[:2]:
        writer.end(log, is_commit=False)


async def test_the_index_is_kafkas_byte_for_byte(disk: SimDisk, open_log: OpenLog) -> None:
    log = await open_log(segment_ms=2 * NOW_MS)
    first, second = Writer(7), Writer(8)
    first.send(log, b"a", b"b")
    second.send(log, b"c")
    first.end(log, is_commit=False)
    second.end(log, is_commit=False)
    expected = struct.pack(">hqqqq", 0, 7, 0, 3, 2) + struct.pack(">hqqqq", 0, 8, 2, 4, 5)
    assert index_of(disk, 0) == expected


async def test_a_log_of_kafka_leads_to_the_index_kafka_wrote(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await open_log()
    for base in (0, 36):
        log.append_as_follower((KAFKA / f"{base:020d}.log").read_bytes())
    assert index_of(disk, 0) == (KAFKA / f"{36:020d}.txnindex").read_bytes()


async def test_a_reader_is_told_of_the_aborted_transactions_in_its_range(
    open_log: OpenLog,
) -> None:
    log = await open_log(segment_bytes=1)
    first, second = Writer(7), Writer(8)
    append(log, b"plain")  # 0
    first.send(log, b"a")  # 1
    second.send(log, b"b")  # 2
    first.end(log, is_commit=False)  # 3
    append(log, b"plain")  # 4
    second.end(log, is_commit=False)  # 5
    first.send(log, b"c")  # 6
    first.end(log, is_commit=True)  # 7
    commit(log)
    assert log.aborted_transactions(0, 8) == [(7, 1), (8, 2)]
    assert log.aborted_transactions(0, 1) == []
    assert log.aborted_transactions(0, 2) == [(7, 1)]
    assert log.aborted_transactions(3, 4) == [(7, 1), (8, 2)]
    assert log.aborted_transactions(4, 5) == [(8, 2)]
    assert log.aborted_transactions(6, 8) == []


async def test_a_follower_has_the_leaders_index(disk: SimDisk, open_log: OpenLog) -> None:
    log = await open_log(segment_ms=2 * NOW_MS)
    filled(log)
    of_leader = index_of(disk, 0)
    other = "/data/flights-1"
    follower = await open_log(directory=other, segment_ms=2 * NOW_MS)
    copy(log, follower)
    assert disk.open(segment_path(other, 0, TXN_INDEX)).read_at(0, 1 << 20) == of_leader != b""


async def closed(disk: SimDisk, log: PartitionLog) -> None:
    await log.close()


async def killed(disk: SimDisk, log: PartitionLog) -> None:
    await log.flush()
    await log.checkpoint()


async def killed_unflushed(disk: SimDisk, log: PartitionLog) -> None:
    """The files are there, the checkpoint knows nothing of them."""


async def power_cut(disk: SimDisk, log: PartitionLog) -> None:
    await log.flush()
    await log.checkpoint()
    disk.crash()


def nothing(disk: SimDisk, path: str) -> None:
    """The file is as it was."""


def remove(disk: SimDisk, path: str) -> None:
    disk.remove(path)


def empty(disk: SimDisk, path: str) -> None:
    disk.open(path).truncate(0)


def cut(disk: SimDisk, path: str) -> None:
    disk.open(path).truncate(disk.size(path) - 1)


def lose_an_entry(disk: SimDisk, path: str) -> None:
    disk.open(path).truncate(disk.size(path) - 34)


def flip(disk: SimDisk, path: str) -> None:
    disk.flip(path, 17, 1)


def grow(disk: SimDisk, path: str) -> None:
    disk.open(path).write_at(disk.size(path), struct.pack(">hqqqq", 0, 9, 0, 0, 0))


@pytest.mark.parametrize("ending", [closed, killed, killed_unflushed, power_cut])
@pytest.mark.parametrize("spoil", [nothing, remove, empty, cut, lose_an_entry, flip, grow])
@pytest.mark.parametrize("has_snapshots", [True, False])
async def test_a_start_has_the_index_that_the_batches_tell(
    disk: SimDisk,
    open_log: OpenLog,
    ending: Callable[[SimDisk, PartitionLog], object],
    spoil: Callable[[SimDisk, str], None],
    has_snapshots: bool,
) -> None:
    log = await open_log(segment_bytes=SEGMENT_BYTES)
    filled(log)
    before, aborted = indexes(disk), log.aborted_transactions(0, END)
    assert len(before) > 2
    await ending(disk, log)  # type: ignore[misc]  # each is async
    for base in before:
        spoil(disk, segment_path(DIRECTORY, base, TXN_INDEX))
    if not has_snapshots:
        for offset in offsets_in(disk.list(DIRECTORY), SNAPSHOT):
            disk.remove(segment_path(DIRECTORY, offset, SNAPSHOT))
    log = await open_log(segment_bytes=SEGMENT_BYTES)
    assert log.damage is None
    assert indexes(disk) == before
    assert log.aborted_transactions(0, END) == aborted


async def test_an_index_that_appeared_is_not_believed(disk: SimDisk, open_log: OpenLog) -> None:
    log = await open_log(segment_bytes=1)
    for _ in range(3):
        append(log, b"plain")
    await log.close()
    path = segment_path(DIRECTORY, 0, TXN_INDEX)
    disk.open(path, create=True).write_at(0, struct.pack(">hqqqq", 0, 7, 0, 0, 1))
    log = await open_log(segment_bytes=1)
    assert log.aborted_transactions(0, END) == []
    assert indexes(disk) == {}


@pytest.mark.parametrize("end", range(0, 55, 3))
async def test_a_truncated_log_has_the_index_of_its_batches(
    disk: SimDisk, open_log: OpenLog, end: int
) -> None:
    log = await open_log(segment_bytes=SEGMENT_BYTES)
    filled(log)
    await log.truncate_to(end)
    cut_index, told = indexes(disk), log.aborted_transactions(0, END)
    other = await open_log(directory="/data/flights-1", segment_bytes=SEGMENT_BYTES)
    copy(log, other)
    assert told == other.aborted_transactions(0, END)
    kill_without_checkpoint = await open_log(segment_bytes=SEGMENT_BYTES)
    assert indexes(disk) == cut_index
    assert kill_without_checkpoint.aborted_transactions(0, END) == told


async def test_the_mutant_that_keeps_entries_of_cut_markers_is_noticed(
    disk: SimDisk, open_log: OpenLog
) -> None:
    mutant = ALL["aborted_index_not_truncated"]
    with mutant.applied(), pytest.raises(AssertionError):
        await test_a_truncated_log_has_the_index_of_its_batches(disk, open_log, 48)


async def test_the_index_leaves_the_log_with_its_segment(disk: SimDisk, open_log: OpenLog) -> None:
    log = await open_log(segment_bytes=SEGMENT_BYTES)
    filled(log)
    first = min(indexes(disk))
    commit(log)
    await log.delete_records(log.last_stable_offset)
    assert disk.exists(segment_path(DIRECTORY, first, TXN_INDEX) + DELETED)
    assert first not in indexes(disk)
    assert min(log.aborted_transactions(log.log_start_offset, END), default=(9, 0))[1] > first


async def test_a_disk_that_takes_no_entry_takes_no_marker(disk: SimDisk, open_log: OpenLog) -> None:
    log = await open_log(segment_ms=2 * NOW_MS)
    writer = Writer(7)
    writer.send(log, b"a")
    disk.capacity_bytes = disk.used_bytes() + 20
    with pytest.raises(StorageError):
        writer.end(log, is_commit=False)
    disk.capacity_bytes = None
    log = await open_log()
    assert (log.log_end_offset, indexes(disk)) == (1, {})
    assert log.is_in_transaction(7, 0)


async def test_a_marker_that_the_disk_refuses_leaves_no_entry(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await open_log(segment_ms=2 * NOW_MS)
    writer = Writer(7)
    writer.send(log, b"a")
    disk.capacity_bytes = disk.used_bytes() + 40
    with pytest.raises(StorageError):
        writer.end(log, is_commit=False)
    assert indexes(disk) == {}
    disk.capacity_bytes = None
    log = await open_log()
    assert log.is_in_transaction(7, 0)
    assert log.aborted_transactions(0, END) == []


def told(log: PartitionLog) -> tuple[list[tuple[int, int]], int]:
    """Aborted transactions, and the last stable offset, as the batches of a log tell them."""
    begun: dict[int, int] = {}
    aborted, bound = [], log.high_watermark
    for header, data in batches(log):
        if not header.attributes & CONTROL_FLAG:
            begun.setdefault(header.producer_id, header.base_offset)
            continue
        first = begun.pop(header.producer_id, None)
        if first is not None and not read_marker(data).is_commit:
            aborted.append((header.producer_id, first))
        if first is not None and header.last_offset >= log.high_watermark:
            bound = min(bound, first)
    return sorted(aborted, key=lambda one: one[1]), min([bound, *begun.values()])


async def test_a_power_cut_anywhere_leaves_what_the_batches_tell(open_log: OpenLog) -> None:
    async def make(disk: SimDisk) -> PartitionLog:
        return await open_log(on=disk, segment_bytes=SEGMENT_BYTES)

    async def work(log: PartitionLog) -> None:
        first, second = Writer(7), Writer(8)
        for turn in range(3):
            first.send(log, b"a")
            second.send(log, b"b")
            first.end(log, is_commit=False)
            log.set_high_watermark(log.log_end_offset - turn)
            await log.checkpoint()
            second.end(log, is_commit=turn == 1)
        await log.truncate_to(log.log_end_offset - 2)
        await log.flush()
        await log.close()

    async for disk, _ in power_cuts(make, work):
        log = await open_log(on=disk, segment_bytes=SEGMENT_BYTES)
        assert log.damage is None
        aborted, last_stable_offset = told(log)
        assert log.aborted_transactions(0, END) == aborted
        assert log.last_stable_offset == last_stable_offset


@pytest.mark.parametrize("seed", range(8))
async def test_a_power_cut_after_a_roll_takes_no_index_of_flushed_records(
    open_log: OpenLog, seed: int
) -> None:
    """They were flushed, and noted in the checkpoint, in the active segment: not its indexes."""
    disk = SimDisk(random.Random(seed), 0.0)
    log = await open_log(on=disk, segment_bytes=1)
    writer = Writer(7)
    writer.send(log, b"value")
    writer.end(log, is_commit=False)
    await log.flush()
    await log.checkpoint()
    append(log, b"roll")
    disk.crash()
    log = await open_log(on=disk, segment_bytes=1)
    assert log.aborted_transactions(0, END) == [(7, 0)]


async def test_a_compacted_log_of_many_transactions_does_not_grow(
    open_log: OpenLog, clock: StillClock
) -> None:
    """As `__consumer_offsets` does: each transaction replaces what the one before wrote."""
    config = {"segment_bytes": 2000, "cleanup_policy": ("compact",), "delete_retention_ms": 1000}
    log = await open_log(**config, min_cleanable_dirty_ratio=0.0)
    writer, sizes = Writer(7), []
    for _ in range(8):
        for turn in range(60):
            writer.send(log, b"value", key=b"k%d" % (turn % 3))
            writer.end(log, is_commit=turn % 5 > 0)
        commit(log)
        clock.now_ms += 1001
        for _ in range(2):
            await unhurried(clock).run_once([log])
        sizes.append(log.size_in_bytes)
    assert max(sizes[2:]) < 2 * sizes[1]
    kept = [header for header, _ in batches(log) if header.attributes & CONTROL_FLAG]
    assert len(kept) < 100
    told_of = log.aborted_transactions(0, END)
    await log.close()
    log = await open_log(**config, min_cleanable_dirty_ratio=0.0)
    assert log.aborted_transactions(0, END) == told_of
    assert log.producers.entries()[0].producer_epoch == 480


@pytest.mark.parametrize("keys_at_once", [1, 99])
async def test_a_cleaning_takes_entries_of_what_it_removed_and_no_others(
    disk: SimDisk, open_log: OpenLog, clock: StillClock, keys_at_once: int
) -> None:
    """With one key at once it ends between the two aborted transactions of the segment."""
    log = await open_log(
        cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0, segment_ms=2 * NOW_MS
    )
    writer = Writer(7)
    for key, is_commit in ((b"a", True), (b"x", False), (b"b", True), (b"y", False)):
        writer.send(log, b"value", key=key)
        writer.end(log, is_commit=is_commit)
    log.config = replace(log.config, segment_bytes=1)
    append(log, b"roll", key=b"roll")
    commit(log)
    assert log.aborted_transactions(0, END) == [(7, 2), (7, 6)]
    cleaner = unhurried(clock, dedupe_buffer_size=keys_at_once * BYTES_PER_KEY)
    result = await cleaner.run_once([log])
    assert result is not None
    assert result.end_offset == (4 if keys_at_once == 1 else 8)
    left = [(7, 6)] if keys_at_once == 1 else []
    assert log.aborted_transactions(0, END) == left
    assert len(index_of(disk, 0)) == ABORTED_ENTRY.size * len(left)
    await log.close()
    log = await open_log(cleanup_policy=("compact",))
    assert log.aborted_transactions(0, END) == left


def entries_beside_long_ones(random: random.Random, count: int) -> list[CompletedTransaction]:
    """Aborted transactions, some of which are open beside many others."""
    open_since, offset = {0: 0}, 1
    found: list[CompletedTransaction] = []
    while len(found) < count:
        producer_id = random.choice(list(open_since)) if random.random() < 0.5 else offset
        if producer_id in open_since and (producer_id or random.random() < 0.01):
            first = open_since.pop(producer_id)
            stable = min(open_since.values(), default=offset + 1)
            found.append(CompletedTransaction(producer_id, first, offset, stable, is_commit=False))
        else:
            open_since.setdefault(producer_id, offset)
        offset += 1
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_look_up_finds_what_a_walk_over_all_entries_finds(disk: SimDisk, seed: int) -> None:
    chance = random.Random(seed)
    index, entries = AbortedIndex(disk, "/x"), entries_beside_long_ones(chance, 400)
    index.append(entries[:100])
    for _ in range(50):
        length, end = len(index.entries()), entries[-1].last_offset
        index.append(entries[length : length + chance.randrange(80)])
        if chance.random() < 0.2:
            index.truncate_to(chance.randrange(end))
        known = index.entries()
        offset = chance.randrange(end)
        upper = offset + chance.randrange(1, 100)
        found, is_last = index.find(offset, upper)
        assert found == [one for one in known if one.last_offset >= offset and one[1] < upper]
        assert not is_last or all(one.first_offset >= upper for one in entries[len(known) :])


def test_a_look_up_reads_few_entries_though_a_long_transaction_was_open_beside_all(
    disk: SimDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None tells that no later one begins in the range; the long one's own entry is the last."""
    index, count = AbortedIndex(disk, "/x"), 20_000
    index.append(
        CompletedTransaction(n, 2 * n - 1, 2 * n, 0, is_commit=False) for n in range(1, count)
    )
    index.append([CompletedTransaction(0, 0, 2 * count, 2 * count + 1, is_commit=False)])
    read: list[int] = []
    at = AbortedIndex._at

    def counted(self: AbortedIndex, slot: int) -> CompletedTransaction:
        read.append(slot)
        return at(self, slot)

    monkeypatch.setattr(AbortedIndex, "_at", counted)
    found, _ = index.find(1, 200)
    assert len(found) == 101
    assert len(read) < count / 50
