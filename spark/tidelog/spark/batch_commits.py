"""Decisions of the driver on a batch whose tasks wrote in transactions: commit all, or abort. Pure.

Each attempt of a task has a transactional id of its own, `<group>/<task>-<attempt>`; the driver has
`<group>/driver`, which writes the marker. The group of a stream is its query id.

    marker of the query    decision
    none, or a batch before  write this batch's marker, and commit it with all tasks
    this batch               abort: it is there already. Its rows must be as many as then
    a later batch            abort and refuse: the checkpoint is an older copy

See docs/decisions/0066.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.core.errors import invariant
from tidelog.spark.commit_markers import Marker, StreamBatch, check_replay, is_written_already
from tidelog.spark.task_results import TaskResult, TaskTransaction, batch_of

_DRIVER = "driver"


class Commit(NamedTuple):
    """Transactions to commit together, and the marker of a stream's batch to commit with them."""

    transactions: tuple[TaskTransaction, ...]
    marker: Marker | None


def task_id(group: str, *, task: int, attempt: int) -> str:
    """Transactional id of an attempt of a task."""
    return f"{group}/{task}-{attempt}"


def driver_id(group: str) -> str:
    """Transactional id of the group's driver: the one before is fenced."""
    return f"{group}/{_DRIVER}"


def written(results: Sequence[TaskResult | None]) -> Commit:
    """The commit of a `df.write`: the transactions of all of its tasks."""
    done = _all_done(results)
    return Commit(tuple(one.transaction for one in done if one.transaction is not None), None)


def batch_written(
    results: Sequence[TaskResult | None], *, batch_id: int
) -> tuple[StreamBatch, Commit] | None:
    """The batch of a stream and what it commits unless it is recorded; None: it has no rows.

    Raises MarkerError when Spark gives the batch another number here than in its tasks.
    """
    done = _all_done(results)
    batch = batch_of(done, batch_id=batch_id)
    records = sum(one.records for one in done)
    if not records:
        return None
    return batch, written(results)._replace(marker=Marker(batch_id, records))


def is_recorded(batch: StreamBatch, commit: Commit, last: Marker | None) -> bool:
    """True if the batch was committed before. Raises MarkerError where the two contradict."""
    if last is None or not is_written_already(batch, last):
        return False
    assert commit.marker is not None  # a stream's
    check_replay(batch, last, records=commit.marker.records)
    return True


def _all_done(results: Sequence[TaskResult | None]) -> list[TaskResult]:
    done = [result for result in results if result is not None]
    invariant(len(done) == len(results), "a batch is committed with a task that failed", results)
    return done
