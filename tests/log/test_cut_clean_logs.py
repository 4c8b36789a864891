"""A compacted log that is cut where it was clean, as after an unclean election, amid a transaction.

Its records lie in the clean part then, and its marker in the dirty one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from tests.log.cleaned_logs import StillClock, copied, put, roll, unhurried
from tests.log.partition_logs import DIRECTORY, NOW_MS, OpenLog, segment_path
from tests.log.test_transaction_machine import read_committed
from tests.log.transaction_logs import Writer

from tidelog.log.compaction import TransactionOutcomes
from tidelog.log.file_names import TXN_INDEX
from tidelog.log.partition_log import PartitionLog
from tidelog.log.transactions import CompletedTransaction
from tidelog.records.batch import iter_batches
from tidelog.simulation.engine.disk import SimDisk

GOOD, IN_TRANSACTION, CLEAN, DIRTY = b"good", b"in transaction", b"clean", b"dirty"


def shown(log: PartitionLog) -> set[bytes | None]:
    """Keys that a reader of committed records gets."""
    return set(read_committed(log, log.log_start_offset, log.last_stable_offset).values())


async def cut_amid_a_clean_transaction(
    open_log: OpenLog, clock: StillClock
) -> tuple[PartitionLog, Writer]:
    log = await open_log(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0)
    writer = Writer(7)
    put(log, (GOOD, b""))
    writer.send(log, b"value", key=IN_TRANSACTION)
    cut_at = log.log_end_offset
    writer.end(log, is_commit=True)
    put(log, (CLEAN, b""))
    roll(log)
    await unhurried(clock).run_once([log])
    assert log.first_dirty_offset > cut_at
    await log.truncate_to(cut_at)
    assert (log.first_dirty_offset, log.first_unstable_offset) == (cut_at, cut_at - 1)
    writer.epoch = 0
    return log, writer


async def cleaned(log: PartitionLog, clock: StillClock) -> None:
    roll(log)
    assert await unhurried(clock).run_once([log]) is not None


async def left_as_it_is(log: PartitionLog, _disk: SimDisk, _open: OpenLog) -> PartitionLog:
    return log


async def started_without_index(
    log: PartitionLog, disk: SimDisk, open_log: OpenLog
) -> PartitionLog:
    await log.close()
    disk.remove(segment_path(DIRECTORY, 0, TXN_INDEX))
    return await open_log(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0)


@pytest.mark.parametrize("then", [left_as_it_is, started_without_index])
@pytest.mark.parametrize("has_more", [False, True])
async def test_what_is_aborted_after_the_cut_is_hidden_before_and_after_the_next_cleaning(
    disk: SimDisk,
    open_log: OpenLog,
    then: Callable[[PartitionLog, SimDisk, OpenLog], Awaitable[PartitionLog]],
    has_more: bool,
) -> None:
    clock = StillClock(NOW_MS)
    log, writer = await cut_amid_a_clean_transaction(open_log, clock)
    if has_more:
        writer.sequence = 1
        writer.send(log, b"value", key=DIRTY)
    writer.end(log, is_commit=False)
    put(log, (CLEAN, b""))
    log = await then(log, disk, open_log)
    assert shown(log) == {GOOD, CLEAN}
    await cleaned(log, clock)
    assert shown(log) >= {GOOD, CLEAN}
    assert not shown(log) & {IN_TRANSACTION, DIRTY}
    assert log.aborted_transactions(0, log.log_end_offset) == []
    await cleaned(log, clock)
    assert not shown(log) & {IN_TRANSACTION, DIRTY}


async def test_what_is_committed_after_the_cut_stays(open_log: OpenLog) -> None:
    clock = StillClock(NOW_MS)
    log, writer = await cut_amid_a_clean_transaction(open_log, clock)
    writer.end(log, is_commit=True)
    await cleaned(log, clock)
    assert IN_TRANSACTION in shown(log)


async def test_a_transaction_that_is_known_and_seen_counts_once(open_log: OpenLog) -> None:
    log = await open_log()
    first, second = Writer(7), Writer(8)
    first.send(log, b"a")
    begin = log.log_end_offset
    for writer in (first, second):
        writer.send(log, b"b")
    for writer in (first, second):
        writer.end(log, is_commit=False)
    log.set_high_watermark(log.log_end_offset)
    batches = list(iter_batches(copied(log)))
    outcomes = TransactionOutcomes()
    outcomes.know_aborted([CompletedTransaction(7, 0, 3, 1, is_commit=False)])
    for header, batch in batches:
        if header.base_offset >= begin:
            outcomes.observe(header, batch)
    assert [outcomes.is_aborted(header) for header, _ in batches[:3]] == [True, True, True]
    assert outcomes.decided_below(99) == 99
