"""Transactions in a log: who may append, who is fenced, and what readers of committed data see."""

from __future__ import annotations

import pytest
from tests.log.cleaned_logs import StillClock
from tests.log.partition_logs import NOW_MS, OpenLog, Producer, append, batches, commit
from tests.log.transaction_logs import Writer, transactional

from tidelog.core.errors import (
    InvalidProducerEpochError,
    InvalidRecordError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from tidelog.log.partition_log import PartitionLog
from tidelog.log.producers import EPOCH_MAX
from tidelog.records.batch import CONTROL_FLAG, LOG_APPEND_TIME_FLAG, TRANSACTIONAL_FLAG
from tidelog.records.records import ControlMarker, read_marker
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.mutants.transactions import ALL


def mark(
    log: PartitionLog, *, epoch: int, coordinator_epoch: int = 0, is_commit: bool = True
) -> tuple[int, bool]:
    """A marker of producer 7; its offset, and whether it was there before."""
    result = log.append_marker(
        producer_id=7,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        is_commit=is_commit,
        leader_epoch=3,
    )
    return result.last_offset, result.is_duplicate


# Markers


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("time_type", ["CreateTime", "LogAppendTime"])
async def test_a_marker_is_one_control_record_of_the_raised_epoch(
    open_log: OpenLog, is_commit: bool, time_type: str
) -> None:
    log = await open_log(message_timestamp_type=time_type)
    writer = Writer(7)
    writer.send(log, b"a", b"b")
    assert log.is_in_transaction(7, 0)
    assert not log.is_in_transaction(7, 1)
    result = writer.end(log, is_commit=is_commit, coordinator_epoch=5)
    assert (result.base_offset, result.last_offset, result.log_end_offset) == (2, 2, 3)
    (_, _), (header, data) = batches(log)
    assert read_marker(data) == ControlMarker(is_commit, 5)
    is_append_time = time_type == "LogAppendTime"
    flags = TRANSACTIONAL_FLAG | CONTROL_FLAG | (LOG_APPEND_TIME_FLAG if is_append_time else 0)
    assert header.attributes == flags
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, -1)
    assert header.max_timestamp == NOW_MS
    assert not log.is_in_transaction(7, 0)
    assert not log.is_in_transaction(7, 1)


async def test_a_marker_that_comes_again_is_not_appended_again(open_log: OpenLog) -> None:
    log = await open_log()
    Writer(7).send(log, b"a")
    assert mark(log, epoch=1) == (1, False)
    append(log, b"plain", epoch=3)
    assert mark(log, epoch=1) == (1, True)
    assert mark(log, epoch=1, coordinator_epoch=9) == (1, True)
    assert log.log_end_offset == 3


async def test_who_sends_a_known_marker_after_a_start_waits_for_all_that_is_in_the_log(
    open_log: OpenLog,
) -> None:
    log = await open_log()
    Writer(7).send(log, b"a")
    mark(log, epoch=1)
    append(log, b"plain", epoch=3)
    await log.close()
    log = await open_log()
    assert mark(log, epoch=1) == (2, True)


async def test_a_marker_fences_what_is_late_also_where_nothing_was_written(
    open_log: OpenLog,
) -> None:
    log = await open_log()
    assert mark(log, epoch=1) == (0, False)
    assert mark(log, epoch=2) == (1, False)
    with pytest.raises(InvalidProducerEpochError):
        Writer(7, epoch=1).send(log, b"late")
    with pytest.raises(InvalidProducerEpochError):
        mark(log, epoch=1)
    assert log.log_end_offset == 2


async def test_a_late_marker_does_not_end_the_next_transaction(open_log: OpenLog) -> None:
    log = await open_log()
    writer = Writer(7)
    writer.send(log, b"a")
    writer.end(log, is_commit=True)
    writer.send(log, b"b")
    with pytest.raises(InvalidProducerEpochError, match="open transaction"):
        mark(log, epoch=1)
    assert log.is_in_transaction(7, 1)


async def test_an_older_coordinator_ends_nothing(open_log: OpenLog) -> None:
    log = await open_log()
    writer = Writer(7)
    writer.send(log, b"a")
    writer.end(log, is_commit=True, coordinator_epoch=4)
    writer.send(log, b"b")
    for epoch in (1, 2):
        with pytest.raises(TransactionCoordinatorFencedError):
            mark(log, epoch=epoch, coordinator_epoch=3)
    assert log.is_in_transaction(7, 1)
    assert mark(log, epoch=2, coordinator_epoch=4) == (3, False)


async def test_the_mutant_that_compares_no_coordinators_is_noticed(open_log: OpenLog) -> None:
    mutant = ALL["coordinator_epochs_not_compared"]
    with mutant.applied(), pytest.raises(pytest.fail.Exception):
        await test_an_older_coordinator_ends_nothing(open_log)


@pytest.mark.parametrize(("epoch", "coordinator_epoch"), [(-1, 0), (EPOCH_MAX + 1, 0), (0, -1)])
async def test_a_marker_without_epochs_is_refused(
    open_log: OpenLog, epoch: int, coordinator_epoch: int
) -> None:
    log = await open_log()
    with pytest.raises(InvalidRecordError):
        mark(log, epoch=epoch, coordinator_epoch=coordinator_epoch)
    assert log.log_end_offset == 0


async def test_the_last_epoch_has_its_marker(open_log: OpenLog) -> None:
    log = await open_log()
    writer = Writer(7, epoch=EPOCH_MAX - 1)
    writer.send(log, b"a")
    writer.end(log, is_commit=True)
    assert log.producers.entries()[0].producer_epoch == EPOCH_MAX


# Batches


async def test_a_transactional_batch_needs_the_coordinators_word(open_log: OpenLog) -> None:
    log = await open_log()
    sent = transactional(b"a", producer=Producer(7, 0, 0))
    with pytest.raises(InvalidRecordError, match="transactional id"):
        log.append_as_leader(sent, leader_epoch=0)
    assert log.log_end_offset == 0
    assert not log.is_in_transaction(7, 0)


async def test_a_transactional_batch_needs_a_producer_id(open_log: OpenLog) -> None:
    log = await open_log()
    sent = transactional(b"a", producer=Producer(-1, -1, -1))
    with pytest.raises(InvalidRecordError, match="producer id"):
        log.append_as_leader(sent, leader_epoch=0, transactional=True)


async def test_control_batches_of_clients_stay_refused(open_log: OpenLog) -> None:
    log = await open_log()
    Writer(7).send(log, b"a")
    mark(log, epoch=1)
    (_, _), (_, marker) = batches(log)
    with pytest.raises(InvalidRecordError, match="control batches"):
        log.append_as_leader(marker, leader_epoch=3, transactional=True)


async def test_the_first_batch_of_a_transaction_has_sequence_0(open_log: OpenLog) -> None:
    log = await open_log()
    with pytest.raises(OutOfOrderSequenceError):
        Writer(7, sequence=1).send(log, b"the second")
    writer = Writer(7)
    writer.send(log, b"a", b"b")
    assert writer.send(log, b"c").base_offset == 2
    writer.end(log, is_commit=True)
    with pytest.raises(OutOfOrderSequenceError):
        Writer(7, epoch=1, sequence=3).send(log, b"d")


async def test_a_batch_sent_again_is_no_second_one(open_log: OpenLog) -> None:
    log = await open_log()
    Writer(7).send(log, b"a")
    result = Writer(7).send(log, b"a")
    assert (result.is_duplicate, result.base_offset, log.log_end_offset) == (True, 0, 1)


async def test_a_plain_batch_does_not_come_between(open_log: OpenLog) -> None:
    log = await open_log()
    append(log, b"plain", producer=Producer(7, 0, 0))
    assert not log.is_in_transaction(7, 0)
    Writer(7, sequence=1).send(log, b"a")
    assert log.is_in_transaction(7, 0)
    with pytest.raises(InvalidRecordError, match="not part of its open transaction"):
        append(log, b"plain", producer=Producer(7, 0, 2))


async def test_a_transaction_without_its_marker_takes_no_batch_of_the_next(
    open_log: OpenLog,
) -> None:
    log = await open_log()
    Writer(7).send(log, b"lost its marker")
    with pytest.raises(InvalidRecordError, match="no marker here"):
        Writer(7, epoch=1).send(log, b"a")
    assert mark(log, epoch=2, is_commit=False) == (1, False)


# The last stable offset


async def test_the_last_stable_offset_waits_for_a_marker_below_the_high_watermark(
    open_log: OpenLog,
) -> None:
    log = await open_log()
    first, second = Writer(7), Writer(8)
    append(log, b"plain")
    first.send(log, b"a")
    second.send(log, b"b")
    seen = []
    for step in (
        lambda: commit(log),
        lambda: first.end(log, is_commit=False),
        lambda: log.set_high_watermark(3),
        lambda: log.set_high_watermark(4),
        lambda: second.end(log, is_commit=True),
        lambda: append(log, b"plain"),
        lambda: log.set_high_watermark(5),
        lambda: log.set_high_watermark(6),
    ):
        step()
        seen.append((log.high_watermark, log.last_stable_offset))
    assert seen == [(3, 1), (3, 1), (3, 1), (4, 2), (4, 2), (4, 2), (5, 5), (6, 6)]


async def closed(log: PartitionLog, open_log: OpenLog) -> PartitionLog:
    await log.close()
    return await open_log()


async def killed(log: PartitionLog, open_log: OpenLog) -> PartitionLog:
    await log.checkpoint()
    return await open_log()


@pytest.mark.parametrize("again", [closed, killed])
async def test_a_start_still_knows_what_is_not_decided(open_log: OpenLog, again: object) -> None:
    """Kafka forgets a transaction with its marker above the saved high watermark."""
    log = await open_log()
    writer = Writer(7)
    append(log, b"plain")
    writer.send(log, b"a")
    append(log, b"plain")
    writer.end(log, is_commit=False)
    log.set_high_watermark(3)
    log = await again(log, open_log)  # type: ignore[operator]  # one of two
    assert (log.high_watermark, log.last_stable_offset) == (3, 1)
    log.set_high_watermark(4)
    assert log.last_stable_offset == 4


async def test_a_transaction_is_open_again_when_its_marker_is_cut(open_log: OpenLog) -> None:
    log = await open_log()
    writer = Writer(7)
    append(log, b"plain")
    writer.send(log, b"a")
    writer.end(log, is_commit=True)
    await log.close()
    log = await open_log()
    await log.truncate_to(2)
    commit(log)
    assert log.last_stable_offset == 1
    assert log.is_in_transaction(7, 0)


async def test_what_is_undecided_above_a_cut_is_not_decided_by_an_old_high_watermark(
    open_log: OpenLog,
) -> None:
    log = await open_log()
    for _ in range(9):
        append(log, b"plain")
    commit(log)
    await log.truncate_to(1)
    writer = Writer(7)
    writer.send(log, b"a")
    writer.end(log, is_commit=True)
    log.set_high_watermark(2)
    assert log.last_stable_offset == 1


async def test_a_cut_above_a_marker_leaves_its_transaction_undecided(open_log: OpenLog) -> None:
    log = await open_log(segment_bytes=1)
    writer = Writer(7)
    append(log, b"plain")
    writer.send(log, b"a")
    writer.end(log, is_commit=True)
    append(log, b"plain")
    append(log, b"plain")
    log.set_high_watermark(2)
    await log.truncate_to(4)
    assert log.last_stable_offset == 1
    log.set_high_watermark(3)
    assert log.last_stable_offset == 3


async def test_the_high_watermark_of_lost_batches_decides_nothing(
    disk: SimDisk, open_log: OpenLog
) -> None:
    log = await open_log()
    for _ in range(9):
        append(log, b"plain")
    commit(log)
    await log.checkpoint()
    disk.crash()
    log = await open_log()
    end = log.log_end_offset
    assert end < 7, "the disk kept what was not flushed: the test needs another seed"
    writer = Writer(7)
    writer.send(log, b"a")
    writer.end(log, is_commit=True)
    log.set_high_watermark(end + 1)
    assert log.last_stable_offset == end


async def test_a_log_begun_anew_has_no_transactions(open_log: OpenLog) -> None:
    log = await open_log()
    for _ in range(9):
        append(log, b"plain")
    Writer(7).send(log, b"a")
    commit(log)
    await log.restart_at(3)
    assert log.last_stable_offset == 3
    writer = Writer(7)
    writer.send(log, b"a")
    writer.end(log, is_commit=True)
    log.set_high_watermark(4)
    assert log.last_stable_offset == 3


# The start moves up


async def test_retention_keeps_what_an_open_transaction_may_still_commit(
    open_log: OpenLog, clock: StillClock
) -> None:
    log = await open_log(segment_bytes=1, retention_ms=1000)
    writer = Writer(7)
    append(log, b"old")
    writer.send(log, b"a")
    append(log, b"old")
    commit(log)
    await log.apply_retention()
    assert log.log_start_offset == 1
    writer.end(log, is_commit=True)
    commit(log)
    clock.now_ms += 1001
    await log.apply_retention()
    assert log.log_start_offset == 4


async def test_who_deletes_records_of_an_open_transaction_moves_readers_to_the_start(
    open_log: OpenLog,
) -> None:
    log = await open_log(segment_bytes=1)
    writer = Writer(7)
    writer.send(log, b"a")
    append(log, b"plain")
    append(log, b"plain")
    commit(log)
    await log.delete_records(2)
    assert (log.last_stable_offset, log.high_watermark) == (2, 3)
    await log.close()
    log = await open_log(segment_bytes=1)
    assert log.last_stable_offset == 2
    writer.end(log, is_commit=True)
    commit(log)
    assert log.last_stable_offset == 4


# A coordinator that writes for a producer


def write_for(log: PartitionLog, value: bytes, *, epoch: int) -> int:
    sent = transactional(value, producer=Producer(7, epoch, 0))
    result = log.append_as_leader(
        sent, leader_epoch=max(0, log.latest_epoch), transactional=True, numbered=False
    )
    assert not result.is_duplicate
    return result.base_offset


async def test_a_coordinator_numbers_nothing_and_none_of_its_batches_is_a_duplicate(
    open_log: OpenLog,
) -> None:
    log = await open_log()
    assert [write_for(log, b"same", epoch=0) for _ in range(7)] == list(range(7))
    assert log.is_in_transaction(7, 0)
    mark(log, epoch=1)
    assert write_for(log, b"next", epoch=1) == 8


async def test_the_epoch_of_a_producer_is_checked_when_a_coordinator_writes_for_it(
    open_log: OpenLog,
) -> None:
    log = await open_log()
    write_for(log, b"a", epoch=0)
    mark(log, epoch=1)
    with pytest.raises(InvalidProducerEpochError):
        write_for(log, b"late", epoch=0)
    write_for(log, b"b", epoch=1)
    with pytest.raises(InvalidRecordError):
        write_for(log, b"its marker is lost", epoch=2)
    assert log.log_end_offset == 3
