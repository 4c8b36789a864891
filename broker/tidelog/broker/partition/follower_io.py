"""Follower side of a partition: its fetch requests, and the handling of answers.

Turns answers into the core's events and carries out the core's orders on the log. Owns nothing:
roles, log and the exclusion of role changes during log work are the partition's.
"""

from __future__ import annotations

import asyncio

from tidelog.broker.partition.partition import Partition
from tidelog.broker.replica.effects import AppendFetched, BackOff
from tidelog.broker.replica.events import EpochEnd, FetchAnswered, FetchedAppended
from tidelog.core.errors import (
    CorruptMessageError,
    DamagedLogError,
    EpochContradictionError,
    StorageError,
)
from tidelog.core.logs import get_logger
from tidelog.records.batch import parse_header
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import FetchPartition, PartitionFetchResult

CONTRADICTIONS_MAX = 20
"""Consecutive answers in contradiction to this log after which it is considered damaged."""

log = get_logger(__name__)


def next_fetch(partition: Partition, *, max_bytes: int) -> FetchPartition | None:
    """Build the next fetch; None when this replica follows no leader."""
    follower = partition.replica.follower
    if follower is None:
        return None
    partition_log = partition.log
    asked = FetchPartition(
        topic=partition.topic,
        topic_id=partition.topic_id,
        partition=partition.partition,
        fetch_offset=partition_log.log_end_offset,
        current_leader_epoch=follower.leader_epoch,
        log_start_offset=partition_log.log_start_offset,
        partition_max_bytes=max_bytes,
    )
    latest_epoch = partition_log.latest_epoch
    if latest_epoch >= 0:
        asked.last_fetched_epoch = latest_epoch
    return asked


def apply_fetched(
    partition: Partition,
    asked: FetchPartition,
    result: PartitionFetchResult,
    records: bytes,
    *,
    retry_at_ms: int,
) -> asyncio.Task[None] | None:
    """Apply the leader's answer to `asked`; `records` are those of the result.

    Returns work to await before the next fetch, if there is any. After an error the partition is
    not fetched before `retry_at_ms`.
    """
    try:
        order = partition.handle(_fetch_answered(partition, asked, result, records))
        if isinstance(order, AppendFetched):
            if order.restart_offset is not None:
                return partition.at_rest_after(
                    _restart_at(partition, order.restart_offset, records, retry_at_ms)
                )
            _append(partition, records)
            if partition.log.is_flush_due:
                return partition.at_rest_after(_flush(partition, asked, result))
            order = partition.handle(_fetched_appended(partition, asked, result))
    except StorageError:
        return None
    except CorruptMessageError as error:
        _back_off(partition, retry_at_ms, error.message)
        return None
    if isinstance(order, BackOff) and result.error.code == common_pb2.LEADER_NOT_AVAILABLE:
        partition.retry_fetch_at_ms = retry_at_ms  # the leader opens its log: no refusal
    elif isinstance(order, BackOff):
        partition.note_refused_fetch(result.error)
        _back_off(partition, retry_at_ms, result.error.message)
    work = partition.prepare_work(order)
    return None if work is None else partition.at_rest_after(work)


def _fetch_answered(
    partition: Partition,
    asked: FetchPartition,
    result: PartitionFetchResult,
    records: bytes,
) -> FetchAnswered:
    partition_log, diverging = partition.log, None
    if result.HasField("diverging_epoch"):
        end = result.diverging_epoch
        diverging = EpochEnd(end.leader_epoch, end.end_offset)
    return FetchAnswered(
        leader_epoch=asked.current_leader_epoch,
        fetch_offset=asked.fetch_offset,
        log_end_offset=partition_log.log_end_offset,
        own_high_watermark=partition_log.high_watermark,
        own_log_start_offset=partition_log.log_start_offset,
        error=result.error.code,
        first_offset=parse_header(records).base_offset if records else None,
        high_watermark=result.high_watermark,
        log_start_offset=result.log_start_offset,
        diverging_epoch=diverging,
        own_epoch_end=None if diverging is None else partition.epoch_end(diverging.leader_epoch),
    )


def _append(partition: Partition, records: bytes) -> None:
    with partition.at_work() as partition_log:
        try:
            partition_log.append_as_follower(records)
        except EpochContradictionError as error:
            partition.contradictions += 1
            if partition.contradictions < CONTRADICTIONS_MAX:
                raise
            partition.contradictions = 0
            damage = DamagedLogError(
                f"the leader's records contradict this log: {error.message}",
                first_bad_offset=max(error.first_bad_offset, partition_log.log_start_offset),
            )
            partition_log.note_damage(damage)
            raise damage from error
    partition.contradictions = 0
    partition.stats.bytes_replicated_in += len(records)


async def _restart_at(partition: Partition, offset: int, records: bytes, retry_at_ms: int) -> None:
    """Restart the log empty; the next answer brings the high watermark and an inner log start."""
    await partition.log.restart_at(offset)
    try:
        _append(partition, records)
    except CorruptMessageError as error:
        _back_off(partition, retry_at_ms, error.message)
    if partition.log.is_flush_due:
        await partition.log.flush()


def _back_off(partition: Partition, retry_at_ms: int, why: str) -> None:
    partition.retry_fetch_at_ms = retry_at_ms
    log.info("fetch backs off", partition=partition.name, why=why)


async def _flush(partition: Partition, asked: FetchPartition, result: PartitionFetchResult) -> None:
    await partition.log.flush()
    work = partition.prepare_work(partition.handle(_fetched_appended(partition, asked, result)))
    if work is not None:
        await work


def _fetched_appended(
    partition: Partition, asked: FetchPartition, result: PartitionFetchResult
) -> FetchedAppended:
    partition_log = partition.log
    return FetchedAppended(
        leader_epoch=asked.current_leader_epoch,
        log_end_offset=partition_log.log_end_offset,
        own_high_watermark=partition_log.high_watermark,
        own_log_start_offset=partition_log.log_start_offset,
        high_watermark=result.high_watermark,
        log_start_offset=result.log_start_offset,
    )
