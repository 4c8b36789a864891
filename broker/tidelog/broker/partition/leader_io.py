"""Leader side of a partition: appends, reads and deletions of its records.

Turns requests into the core's events, carries out the core's answers on the log, and registers
requests that wait for other replicas. Owns nothing: roles, log and waiters are the partition's.
"""

from __future__ import annotations

from typing import NamedTuple

from tidelog.broker.partition.fetch import FetchPosition, FetchResult
from tidelog.broker.partition.isolation import end_offset_of
from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.purgatory import DelayedAnswer, OffsetWaiter
from tidelog.broker.replica.effects import (
    Answer,
    AnswerDivergingEpoch,
    AppendToLog,
    DeleteRecords,
    Refuse,
    ServeRecords,
)
from tidelog.broker.replica.events import (
    Appended,
    DeleteRecordsRequested,
    EpochEnd,
    FetchRequested,
    FollowerIdentity,
    LogStartRaised,
    ProduceRequested,
)
from tidelog.broker.replica.leader import ACKS_ALL
from tidelog.core.errors import InvalidRequestError, LeaderNotAvailableError, error_for
from tidelog.core.memory_reads import Loaded
from tidelog.log.partition_log import AppendResult, PartitionLog, TimestampedOffset
from tidelog.log.segment_walk import ReadResult
from tidelog.log.validation import UNSEEN, Seen
from tidelog.records.batch import Buffer
from tidelog.v1.data_pb2 import (
    READ_COMMITTED,
    ListOffsetsRequest,
    ListOffsetsResponse,
)


class TransactionEnd(NamedTuple):
    """End of a producer's transaction, decided by its coordinator."""

    producer_id: int
    producer_epoch: int
    """The raised one: whatever of the transaction comes later is refused."""
    coordinator_epoch: int
    is_commit: bool


NO_SUCH_RECORD = TimestampedOffset(offset=-1, timestamp_ms=-1, leader_epoch=-1)


def check_may_append(partition: Partition, acks: int) -> int:
    """Epoch to append a producer's batches in; raises `KafkaError` when they are refused."""
    order = partition.handle(ProduceRequested(acks))
    if isinstance(order, Refuse):
        raise error_for(order.code, order.message)
    assert isinstance(order, AppendToLog)  # the core's two answers to this event
    return order.leader_epoch


def append(
    partition: Partition,
    records: Buffer,
    *,
    acks: int,
    answer: OffsetWaiter,
    index: int,
    seen: Seen = UNSEEN,
    transactional: bool = False,
    numbered: bool = True,
) -> AppendResult:
    """Append a producer's batches; a duplicate of an earlier append gets that one's answer.

    `transactional`, `numbered`: see `PartitionLog.append_as_leader`.
    Entry `index` of `answer` waits as `acks` requires. Raises `KafkaError` when refused and the
    errors of `PartitionLog.append_as_leader`, always with nothing appended.
    """
    leader_epoch = check_may_append(partition, acks)
    with partition.at_work() as partition_log:
        done = partition_log.append_as_leader(
            records,
            leader_epoch=leader_epoch,
            seen=seen,
            transactional=transactional,
            numbered=numbered,
        )
    if done.is_duplicate:
        partition.stats.duplicate_batches += 1
    else:
        partition.stats.bytes_in += len(records)
    _await_replicas(partition, partition_log, done, acks=acks, answer=answer, index=index)
    return done


def append_marker(
    partition: Partition, end: TransactionEnd, *, answer: OffsetWaiter
) -> AppendResult:
    """Append the marker that ends a transaction; one that is there already is not again.

    Entry 0 of `answer` waits for the in-sync replicas in both cases. Raises `KafkaError` when
    refused and the errors of `PartitionLog.append_marker`, always with nothing appended.
    """
    leader_epoch = check_may_append(partition, ACKS_ALL)
    with partition.at_work() as partition_log:
        done = partition_log.append_marker(
            producer_id=end.producer_id,
            producer_epoch=end.producer_epoch,
            coordinator_epoch=end.coordinator_epoch,
            is_commit=end.is_commit,
            leader_epoch=leader_epoch,
        )
    _await_replicas(partition, partition_log, done, acks=ACKS_ALL, answer=answer, index=0)
    return done


def _await_replicas(
    partition: Partition,
    partition_log: PartitionLog,
    done: AppendResult,
    *,
    acks: int,
    answer: OffsetWaiter,
    index: int,
) -> None:
    counted = partition.ackable_offset()
    partition.handle(Appended(done.log_end_offset, counted))
    partition.followers.wake()
    if partition_log.is_flush_due:
        partition.flush_soon()
    end_offset = done.last_offset + 1
    if acks == ACKS_ALL and partition_log.high_watermark < end_offset:
        partition.acks_all.add(end_offset, answer, index)
    elif acks == 1 and counted < end_offset:
        partition.acks_leader.add(end_offset, answer, index)


def read(
    partition: Partition,
    asked: FetchPosition,
    result: FetchResult,
    *,
    follower: FollowerIdentity | None,
    isolation_level: int,
    max_bytes: int,
    has_read: bool,
    loaded: Loaded,
) -> int:
    """Fill `result` and return its number of record bytes.

    A consumer gets records up to the end of its isolation level, a follower all. At most
    `max_bytes`; unless `has_read`, a single larger batch is allowed. Instead of records there may
    be an error or a diverging epoch.

    Raises the log's errors, and `NotInMemoryError` when the records are neither in memory nor in
    `loaded`: `result` contains everything else then. Once they are loaded, call this again: the
    core's answer is valid only at the moment it is given.
    """
    partition_log = partition.log
    answer = ask(partition, asked, follower=follower, loaded=loaded)
    result.high_watermark = partition_log.high_watermark
    result.last_stable_offset = partition_log.last_stable_offset
    result.log_start_offset = partition_log.log_start_offset
    match answer:
        case Refuse():
            result.error, result.error_message = answer.code, answer.message
        case AnswerDivergingEpoch():
            result.diverging_epoch = EpochEnd(answer.leader_epoch, answer.end_offset)
        case ServeRecords():
            upper_bound = answer.upper_bound
            if follower is not None:
                result.log_end_offset = partition_log.log_end_offset
            else:
                upper_bound = min(upper_bound, end_offset_of(partition_log, isolation_level))
            found = _records(
                partition,
                asked,
                max_bytes=max_bytes,
                has_read=has_read,
                upper_bound=upper_bound,
                loaded=loaded,
            )
            result.records = found.records
            if follower is None and isolation_level == READ_COMMITTED and found.records:
                result.aborted_transactions = partition_log.aborted_transactions(
                    asked.fetch_offset, found.next_offset
                )
            return len(found.records)
    return 0


def ask(
    partition: Partition,
    asked: FetchPosition,
    *,
    follower: FollowerIdentity | None,
    loaded: Loaded,
) -> Answer | None:
    """Get the core's current answer, regardless of an earlier one before records were `loaded`."""
    del loaded
    return partition.handle(_fetch_requested(partition, asked, follower))


def list_offset(
    partition: Partition,
    asked: ListOffsetsRequest.Partition,
    result: ListOffsetsResponse.Partition,
    *,
    isolation_level: int,
) -> None:
    """Fill `result` with the offset that `asked` specifies, among committed records (KIP-79, 734).

    With READ_COMMITTED among those below the last stable offset (KIP-98).

    Raises `KafkaError` when refused, `StorageError`. LEADER_NOT_AVAILABLE, retriable: a new leader
    does not know yet where the committed records end. Call it within `PartitionLog.reading`, which
    repeats it, leadership check included, after each wait for the disk.
    """
    partition.check_leadership(
        asked.current_leader_epoch if asked.HasField("current_leader_epoch") else None
    )
    with partition.at_work() as partition_log:
        upper_bound = end_offset_of(partition_log, isolation_level)
        found = _offset(partition, partition_log, asked, upper_bound=upper_bound)
        result.log_end_offset = partition_log.log_end_offset
        result.size_bytes = partition_log.size_in_bytes
    result.offset, result.leader_epoch = found.offset, found.leader_epoch
    if found.timestamp_ms >= 0:
        result.timestamp_ms = found.timestamp_ms


async def delete_records(
    partition: Partition, offset: int, *, answer: DelayedAnswer, index: int
) -> None:
    """Move the log start up to `offset` (-1: the high watermark), durably.

    Entry `index` of `answer` waits until every in-sync replica has done so, too. Raises
    `KafkaError` when refused, `StorageError`.
    """
    order = partition.handle(
        DeleteRecordsRequested(offset, is_allowed=partition.log.config.is_deleted)
    )
    if isinstance(order, Refuse):
        raise error_for(order.code, order.message)
    assert isinstance(order, DeleteRecords)  # the core's two answers to this event
    with partition.at_work() as partition_log:
        await partition_log.delete_records(order.offset)
    partition.handle(LogStartRaised(partition_log.log_start_offset))
    partition.followers.wake()
    if low_watermark(partition) < order.offset:
        partition.deletions.add(order.offset, answer, index)


def low_watermark(partition: Partition) -> int:
    """Smallest log start offset of the ISR; raises `KafkaError` when this replica does not lead."""
    partition.check_leadership(None)
    leader = partition.replica.leader
    assert leader is not None  # just checked
    return leader.low_watermark


def _offset(
    partition: Partition,
    partition_log: PartitionLog,
    asked: ListOffsetsRequest.Partition,
    *,
    upper_bound: int,
) -> TimestampedOffset:
    leader_epoch = partition.replica.leader_epoch
    match asked.spec:
        case ListOffsetsRequest.LATEST:
            _check_knows_end(partition)
            return TimestampedOffset(upper_bound, -1, leader_epoch)
        case ListOffsetsRequest.EARLIEST:
            return TimestampedOffset(partition_log.log_start_offset, -1, leader_epoch)
        case ListOffsetsRequest.MAX_TIMESTAMP:
            found = partition_log.offset_of_max_timestamp(upper_bound=upper_bound)
        case ListOffsetsRequest.TIMESTAMP:
            found = partition_log.offset_for_time(asked.timestamp_ms, upper_bound=upper_bound)
        case unknown:
            raise InvalidRequestError(f"there is no offset spec {unknown}")
    if found is None:
        _check_knows_end(partition)
    return found or NO_SUCH_RECORD


def _check_knows_end(partition: Partition) -> None:
    """Raise unless the end is known: clients must not see an end below an earlier one (KIP-207)."""
    leader = partition.replica.leader
    if leader is not None and not leader.knows_high_watermark():
        raise LeaderNotAvailableError(
            f"{partition.name} has a new leader, which does not know its committed end yet: "
            "try again",
        )


def _fetch_requested(
    partition: Partition, asked: FetchPosition, follower: FollowerIdentity | None
) -> FetchRequested:
    last_epoch = asked.last_fetched_epoch
    return FetchRequested(
        fetch_offset=asked.fetch_offset,
        current_leader_epoch=asked.current_leader_epoch,
        last_fetched_epoch=last_epoch,
        epoch_end=None if last_epoch is None else partition.epoch_end(last_epoch),
        follower=follower,
        follower_log_start_offset=asked.log_start_offset,
    )


def _records(
    partition: Partition,
    asked: FetchPosition,
    *,
    max_bytes: int,
    has_read: bool,
    upper_bound: int,
    loaded: Loaded,
) -> ReadResult:
    nothing = ReadResult(b"", asked.fetch_offset)
    if asked.fetch_offset >= upper_bound or (has_read and max_bytes <= 0):
        return nothing
    with partition.at_work() as partition_log, partition_log.from_memory(loaded):
        found = partition_log.read(asked.fetch_offset, max_bytes=max_bytes, upper_bound=upper_bound)
    return nothing if has_read and len(found.records) > max_bytes else found
