"""What a log knows of producers is what its batches tell, whatever happened to it and its files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from tests.log.cleaned_logs import StillClock, but, marker, transactional
from tests.log.partition_logs import (
    DIRECTORY,
    OpenLog,
    Producer,
    append,
    base_offsets,
    batch,
    batches,
    commit,
    copy,
)
from tests.log.power_cuts import power_cuts

from tidelog.core.errors import InvalidProducerEpochError, OutOfOrderSequenceError
from tidelog.log.file_names import SNAPSHOT, file_name, offsets_in
from tidelog.log.partition_log import PartitionLog
from tidelog.log.producer_replay import update_producers
from tidelog.log.producers import EXPIRATION_MS, ProducerEntry, ProducerStates
from tidelog.simulation.engine.disk import SimDisk

SEGMENT_BYTES = 3 * len(batch(b"a", b"b"))
COUNT = 10


def send(log: PartitionLog, sequence: int, *, of: int = 7, epoch: int = 0) -> tuple[int, bool]:
    """A batch of two records; where it is, and whether it was there before."""
    result = append(log, b"a", b"b", producer=Producer(of, epoch, sequence))
    return result.base_offset, result.is_duplicate


async def filled(open_log: OpenLog, *, on: SimDisk) -> PartitionLog:
    """Batches of three producers in turn, one of which came to a second epoch; four segments."""
    log = await open_log(on=on, segment_bytes=SEGMENT_BYTES)
    for place in range(COUNT):
        send(log, 2 * place)
        if place % 4 == 0:
            send(log, 2 * (place // 4 % 2), of=8, epoch=place // 8)
    send(log, 0, of=9)
    await log.flush()
    await log.checkpoint()
    return log


def recovered_entries(log: PartitionLog) -> tuple[ProducerEntry, ...]:
    """What the batches of a log tell of producers."""
    states = ProducerStates()
    for header, data in batches(log):
        update_producers(states, header, data, 0)
    return states.entries()


def snapshots(disk: SimDisk) -> list[int]:
    return offsets_in(disk.list(DIRECTORY), SNAPSHOT)


Ending = Callable[[SimDisk, PartitionLog], Awaitable[object]]


async def clean(disk: SimDisk, log: PartitionLog) -> None:
    await log.close()


async def killed(disk: SimDisk, log: PartitionLog) -> None:
    """Nothing is lost that was written."""


async def power_cut(disk: SimDisk, log: PartitionLog) -> None:
    await log.flush()
    disk.crash()


def drop(disk: SimDisk, offset: int) -> None:
    disk.remove(f"{DIRECTORY}/{file_name(offset, SNAPSHOT)}")


def damage(disk: SimDisk, offset: int) -> None:
    disk.flip(f"{DIRECTORY}/{file_name(offset, SNAPSHOT)}", 20, 1)


def empty(disk: SimDisk, offset: int) -> None:
    disk.open(f"{DIRECTORY}/{file_name(offset, SNAPSHOT)}").truncate(0)


@pytest.mark.parametrize("ending", [clean, killed, power_cut])
@pytest.mark.parametrize("spoil", [None, drop, damage, empty])
@pytest.mark.parametrize("spoiled", ["newest", "all"])
async def test_a_duplicate_is_known_after_a_start_whatever_became_of_the_snapshots(
    disk: SimDisk,
    open_log: OpenLog,
    ending: Ending,
    spoil: Callable[[SimDisk, int], None] | None,
    spoiled: str,
) -> None:
    log = await filled(open_log, on=disk)
    known = log.producers.entries()
    assert known == recovered_entries(log)
    await ending(disk, log)
    there = snapshots(disk)
    assert len(there) >= 4
    for offset in there if spoiled == "all" else there[-1:]:
        if spoil:
            spoil(disk, offset)
    again = await open_log(segment_bytes=SEGMENT_BYTES)
    assert again.was_clean == (ending is clean)
    assert again.producers.entries() == known
    of_7 = [header.base_offset for header, _ in batches(again) if header.producer_id == 7]
    for place in range(COUNT - 5, COUNT):
        assert send(again, 2 * place) == (of_7[place], True)
    with pytest.raises(OutOfOrderSequenceError):
        send(again, 2 * (COUNT - 6))
    with pytest.raises(InvalidProducerEpochError):
        send(again, 2, of=8, epoch=0)
    end = again.log_end_offset
    assert send(again, 2 * COUNT) == (end, False)


@pytest.mark.parametrize("end", range(29))
async def test_a_batch_that_was_cut_may_come_again_and_one_that_was_kept_is_a_duplicate(
    disk: SimDisk, open_log: OpenLog, end: int
) -> None:
    log = await filled(open_log, on=disk)
    before = [header for header, _ in batches(log)]
    await log.truncate_to(end)
    assert log.producers.entries() == recovered_entries(log)
    kept = [header for header in before if header.next_offset <= end]
    of_7 = [header.base_sequence for header in kept if header.producer_id == 7]
    for sequence in of_7[-5:]:
        assert send(log, sequence)[1]
    next_offset = log.log_end_offset
    assert send(log, of_7[-1] + 2 if of_7 else 0) == (next_offset, False)


async def test_a_snapshot_of_batches_that_were_cut_tells_nothing_of_those_in_their_place(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await open_log()
    for sequence in (0, 2, 4):
        send(log, sequence)
    await log.close()
    log = await open_log()
    await log.truncate_to(2)
    for place in range(4):
        send(log, 2 * place, of=8)
    await log.truncate_to(8)
    assert log.producers.entries() == recovered_entries(log)
    assert send(log, 2) == (8, False)


async def test_a_follower_knows_what_the_leader_knows(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log, on=disk)
    follower = await open_log(directory="/data/flights-1", segment_bytes=1)
    copy(log, follower)
    assert follower.producers.entries() == log.producers.entries()
    assert send(follower, 2 * COUNT - 2)[1]


@pytest.mark.parametrize("ending", [clean, killed, power_cut])
async def test_a_producer_is_known_when_retention_took_its_batches(
    disk: SimDisk, open_log: OpenLog, ending: Ending
) -> None:
    log = await filled(open_log, on=disk)
    known = log.producers.entries()
    commit(log)
    await log.delete_records(log.log_end_offset - 1)
    assert snapshots(disk) == base_offsets(disk, DIRECTORY) != [0]
    await ending(disk, log)
    again = await open_log(segment_bytes=SEGMENT_BYTES)
    assert again.producers.entries() == known
    assert send(again, 2 * COUNT - 2)[1]


async def test_a_silent_producer_is_forgotten_after_its_time(
    open_log: OpenLog, clock: StillClock
) -> None:
    log = await open_log()
    send(log, 0)
    clock.now_ms += 1
    send(log, 0, of=8)
    clock.now_ms += EXPIRATION_MS - 2
    await log.apply_retention()
    assert (send(log, 0), send(log, 0, of=8)) == ((0, True), (2, True))
    clock.now_ms += 1
    await log.apply_retention()
    assert (send(log, 0), send(log, 0, of=8)) == ((4, False), (2, True))


async def test_silence_is_counted_from_a_start_on(open_log: OpenLog, clock: StillClock) -> None:
    log = await open_log()
    send(log, 0)
    await log.close()
    clock.now_ms += EXPIRATION_MS
    log = await open_log()
    await log.apply_retention()
    assert send(log, 0) == (0, True)


async def test_a_log_begun_anew_knows_nobody(disk: SimDisk, open_log: OpenLog) -> None:
    log = await filled(open_log, on=disk)
    await log.restart_at(3)
    assert (log.producers.entries(), snapshots(disk)) == ((), [])
    assert send(log, 2 * COUNT - 2) == (3, False)


async def test_a_power_cut_anywhere_leaves_the_producers_of_the_batches_that_are_left(
    open_log: OpenLog,
) -> None:
    async def make(disk: SimDisk) -> PartitionLog:
        return await open_log(on=disk, segment_bytes=SEGMENT_BYTES)

    async def work(log: PartitionLog) -> None:
        for place in range(8):
            send(log, 2 * place)
            if place % 2:
                await log.checkpoint()
        await log.truncate_to(8)
        send(log, 8)
        send(log, 0, of=8)
        await log.close()

    async for disk, _ in power_cuts(make, work):
        log = await open_log(on=disk, segment_bytes=SEGMENT_BYTES)
        assert log.damage is None
        assert log.producers.entries() == recovered_entries(log)


# Transactions, which a follower of a broker of theirs would have


def with_transactions(log: PartitionLog) -> None:
    """Producer 7 aborts one and leaves one open, in which 8 commits one."""
    for sent in (
        transactional((b"k", b"v"), at=0, producer_id=7),
        marker(at=1, is_commit=False, producer_id=7),
        transactional((b"k", b"v"), at=2, producer_id=8),
        but(transactional((b"k", b"v"), at=3, producer_id=7), base_sequence=1),
        marker(at=4, is_commit=True, producer_id=8),
    ):
        log.append_as_follower(sent)


async def test_a_marker_ends_a_transaction(open_log: OpenLog) -> None:
    log = await open_log()
    found = []
    for sent in (
        transactional((b"k", b"v"), at=0, producer_id=7),
        transactional((b"k", b"v"), at=1, producer_id=8),
        marker(at=2, is_commit=False, producer_id=7),
        marker(at=3, is_commit=True, producer_id=8),
    ):
        log.append_as_follower(sent)
        found.append(log.first_unstable_offset)
    assert found == [0, 0, 1, None]


@pytest.mark.parametrize("ending", [clean, killed, power_cut])
async def test_an_open_transaction_is_open_after_a_start(
    disk: SimDisk, open_log: OpenLog, ending: Ending
) -> None:
    log = await open_log(segment_bytes=100)
    with_transactions(log)
    await ending(disk, log)
    again = await open_log(segment_bytes=100)
    assert again.first_unstable_offset == 3
    again.append_as_follower(marker(at=5, is_commit=True, producer_id=7))
    assert again.first_unstable_offset is None


@pytest.mark.parametrize(
    ("end", "unstable"), [(5, 3), (4, 2), (3, 2), (2, None), (1, 0), (0, None)]
)
async def test_a_transaction_whose_end_was_cut_is_open_again(
    open_log: OpenLog, end: int, unstable: int | None
) -> None:
    log = await open_log(segment_bytes=100)
    with_transactions(log)
    await log.truncate_to(end)
    assert log.first_unstable_offset == unstable
    assert log.producers.entries() == recovered_entries(log)


async def test_a_producer_with_an_undecided_transaction_is_never_forgotten(
    open_log: OpenLog, clock: StillClock
) -> None:
    log = await open_log()
    with_transactions(log)
    clock.now_ms += 10 * EXPIRATION_MS
    await log.apply_retention()
    assert [entry.producer_id for entry in log.producers.entries()] == [7, 8]
    commit(log)
    await log.apply_retention()
    assert [entry.producer_id for entry in log.producers.entries()] == [7]
