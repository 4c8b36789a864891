"""The results of a write's tasks, and the marker or message that the driver makes of them. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

from tidelog.core.errors import invariant
from tidelog.spark.commit_markers import Marker, MarkerError, StreamBatch, check_replay

_NAMED_MAX = 20
"""The number of partitions that a message names."""


@dataclass(frozen=True, slots=True)
class WrittenRange:
    """The first and last offset of a task's rows in a partition; other rows may lie between."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class TaskTransaction:
    """The open transaction of a task's attempt: its id, and the producer that wrote in it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class TaskResult(WriterCommitMessage):
    """The result of a task whose rows are all acknowledged.

    `batch` is None in a batch write. `skipped`: the marker that made the task write nothing.
    `group` and `transaction` are set where rows are written exactly once: the group that the
    driver ends together, and the transaction, which a task without rows has not.
    """

    records: int
    ranges: tuple[WrittenRange, ...]
    batch: StreamBatch | None = None
    skipped: Marker | None = None
    group: str | None = None
    transaction: TaskTransaction | None = None


def marker_due(
    results: Sequence[TaskResult | None], *, batch_id: int
) -> tuple[StreamBatch, Marker] | None:
    """The marker to store when all tasks of a batch are done; None if none is needed.

    Raises MarkerError when the skipped rows are not those written before, or when Spark gives the
    batch another number here than in its tasks.
    """
    done = [result for result in results if result is not None]
    invariant(len(done) == len(results), "a batch is committed with a task that failed", results)
    records = sum(result.records for result in done)
    batch = batch_of(done, batch_id=batch_id)
    skipped = [result.skipped for result in done if result.skipped is not None]
    if len(skipped) < len(done):
        return (batch, Marker(batch_id, records)) if records else None
    for marker in skipped:
        check_replay(batch, marker, records=records)
    return None


def batch_of(results: Sequence[TaskResult], *, batch_id: int) -> StreamBatch:
    """The batch that Spark gave to all tasks. Raises MarkerError unless it is this one."""
    batches = {result.batch for result in results}
    if len(batches) == 1:
        (batch,) = batches
        if batch is not None and batch.batch_id == batch_id:
            return batch
    raise MarkerError(f"tasks of batch {batch_id} were given {batches or 'none'}")


def what_stays(results: Iterable[TaskResult | None]) -> str:
    """Describe the records that an aborted write leaves in the topics: they cannot be removed."""
    done = [result for result in results if result is not None]
    records = sum(result.records for result in done if result.skipped is None)
    ranges = [
        f"{r.topic}-{r.partition} {r.first_offset} to {r.last_offset}"
        for result in done
        for r in result.ranges
    ]
    if len(ranges) > _NAMED_MAX:
        ranges[_NAMED_MAX:] = [f"{len(ranges) - _NAMED_MAX} more"]
    where = f" ({', '.join(ranges)})" if ranges else ""
    return (
        f"{records} records of finished tasks stay in the topics{where}, and so do records that "
        "other tasks had sent; written again, they are there twice"
    )
