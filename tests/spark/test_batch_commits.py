"""What the driver commits of a batch: all of its tasks with its marker, or nothing."""

from __future__ import annotations

import pytest

from tidelog.core.errors import InvariantError
from tidelog.spark.batch_commits import (
    Commit,
    batch_written,
    driver_id,
    is_recorded,
    task_id,
    written,
)
from tidelog.spark.commit_markers import Marker, MarkerError, StreamBatch
from tidelog.spark.task_results import TaskResult, TaskTransaction

BATCH = StreamBatch("q", "run", 7)


def of_task(number: int, records: int) -> TaskResult:
    opened = TaskTransaction(task_id("q", task=number, attempt=0), 40 + number, 3)
    return TaskResult(records, (), BATCH, group="q", transaction=opened if records else None)


def test_ids_of_a_group_have_its_prefix_and_differ_by_attempt() -> None:
    ids = {task_id("q", task=t, attempt=a) for t in (1, 11) for a in (0, 1, 11)}
    assert len({*ids, driver_id("q")}) == 7
    assert all(one.startswith("q/") for one in (*ids, driver_id("q")))


def test_a_batch_commits_the_transactions_of_all_tasks_with_rows() -> None:
    results = [of_task(0, 2), of_task(1, 0), of_task(2, 3)]
    found = batch_written(results, batch_id=7)
    assert found is not None
    batch, commit = found
    assert batch == BATCH
    assert [one.producer_id for one in commit.transactions] == [40, 42]
    assert commit.marker == Marker(7, 5)


def test_a_batch_without_rows_commits_nothing() -> None:
    assert batch_written([of_task(0, 0)], batch_id=7) is None


def test_a_write_has_no_marker() -> None:
    found = written([of_task(0, 2), of_task(1, 1)])
    assert found.marker is None
    assert len(found.transactions) == 2


@pytest.mark.parametrize("decide", [written, lambda results: batch_written(results, batch_id=7)])
def test_a_task_that_failed_leaves_nothing_to_commit(decide: object) -> None:
    with pytest.raises(InvariantError, match="with a task that failed"):
        decide([of_task(0, 1), None])  # type: ignore[operator]


def test_a_number_other_than_the_tasks_is_an_error() -> None:
    with pytest.raises(MarkerError, match="tasks of batch 8 were given"):
        batch_written([of_task(0, 1)], batch_id=8)


@pytest.mark.parametrize(
    ("last", "expected"), [(None, False), (Marker(6, 9), False), (Marker(7, 5), True)]
)
def test_only_the_batch_of_the_marker_is_recorded(last: Marker | None, expected: bool) -> None:
    assert is_recorded(BATCH, Commit((), Marker(7, 5)), last) is expected


@pytest.mark.parametrize(
    ("last", "message"),
    [(Marker(8, 5), "comes after its batch 8"), (Marker(7, 4), "with 4 rows and has 5 now")],
)
def test_a_marker_that_contradicts_the_batch_is_an_error(last: Marker, message: str) -> None:
    with pytest.raises(MarkerError, match=message):
        is_recorded(BATCH, Commit((), Marker(7, 5)), last)
