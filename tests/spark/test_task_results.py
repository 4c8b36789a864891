"""What the driver makes of its tasks: a marker when all is written, and what stays when not."""

from __future__ import annotations

import pytest

from tidelog.core.errors import InvariantError
from tidelog.spark.commit_markers import Marker, MarkerError, StreamBatch
from tidelog.spark.task_results import TaskResult, WrittenRange, marker_due, what_stays

BATCH = StreamBatch("q", "run", 7)


def result(records: int, *, skipped: Marker | None = None) -> TaskResult:
    return TaskResult(records, (), BATCH, skipped)


def test_a_written_batch_is_recorded_with_its_rows() -> None:
    assert marker_due([result(2), result(3)], batch_id=7) == (BATCH, Marker(7, 5))


def test_a_batch_without_rows_needs_no_marker() -> None:
    assert marker_due([result(0)], batch_id=7) is None


def test_a_skipped_batch_is_recorded_already() -> None:
    last = Marker(7, 5)
    assert marker_due([result(2, skipped=last), result(3, skipped=last)], batch_id=7) is None


def test_a_skipped_batch_of_other_rows_is_an_error() -> None:
    with pytest.raises(MarkerError, match="written with 6 rows and has 5 now"):
        marker_due([result(5, skipped=Marker(7, 6))], batch_id=7)


def test_a_batch_that_was_written_in_part_is_recorded_as_a_whole() -> None:
    results = [result(2, skipped=Marker(7, 5)), result(3)]
    assert marker_due(results, batch_id=7) == (BATCH, Marker(7, 5))


@pytest.mark.parametrize(
    "results", [[], [TaskResult(1, ())], [result(1), TaskResult(1, (), BATCH._replace(batch_id=8))]]
)
def test_tasks_that_were_told_of_another_batch_are_an_error(results: list[TaskResult]) -> None:
    with pytest.raises(MarkerError, match="tasks of batch 7 were given"):
        marker_due(results, batch_id=7)


def test_a_number_other_than_the_tasks_is_an_error() -> None:
    with pytest.raises(MarkerError, match="tasks of batch 8 were given"):
        marker_due([result(1)], batch_id=8)


def test_a_batch_with_a_task_that_failed_is_not_recorded() -> None:
    with pytest.raises(InvariantError, match="with a task that failed"):
        marker_due([result(1), None], batch_id=7)


def test_what_stays_is_said_by_offsets() -> None:
    written = TaskResult(5, (WrittenRange("t", 0, 10, 12), WrittenRange("t", 1, 0, 1)))
    assert what_stays([None, written]) == (
        "5 records of finished tasks stay in the topics (t-0 10 to 12, t-1 0 to 1), and so do "
        "records that other tasks had sent; written again, they are there twice"
    )


def test_rows_that_were_skipped_do_not_stay_twice() -> None:
    assert what_stays([result(5, skipped=Marker(7, 5))]).startswith("0 records of finished tasks")


def test_no_more_than_twenty_partitions_are_named() -> None:
    ranges = tuple(WrittenRange("t", number, 0, 0) for number in range(25))
    assert "t-19 0 to 0, 5 more)" in what_stays([TaskResult(25, ranges)])
