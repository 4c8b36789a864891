"""Power cuts that the machine found to lose or invent something, each told once more.

The fate of what was not synced is another with each seed; the stage compares log and model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.log.log_stage import LogStage
from tests.log.partition_logs import DIRECTORY, END, NOW_MS

from tidelog.core.errors import StorageError
from tidelog.log.config import LogConfig

SEEDS = range(24)
SEGMENT_BYTES = 200
NewStage = Callable[..., LogStage]


@pytest.fixture(params=SEEDS)
def new_stage(request: pytest.FixtureRequest) -> Iterator[NewStage]:
    stages: list[LogStage] = []

    def new(**config: Any) -> LogStage:  # fields of LogConfig
        fields = {"segment_bytes": SEGMENT_BYTES, "index_interval_bytes": 100, **config}
        stages.append(LogStage(config=LogConfig(**fields), seed=request.param))
        return stages[-1]

    yield new
    for stage in stages:
        stage.close()


def append(stage: LogStage, *batches: list[bytes]) -> None:
    """A batch of records with these keys each."""
    for keys in batches:
        stage.append_as_leader(stage.encode([(key, b"value") for key in keys]))


def test_what_was_flushed_in_a_new_log_is_there(new_stage: NewStage) -> None:
    stage = new_stage()
    append(stage, [b"a"])
    stage.run(stage.flush())
    stage.restart_after_power_cut()
    assert stage.log.log_end_offset == 1


def test_what_a_killed_process_rolled_and_the_next_one_flushed_is_there(
    new_stage: NewStage,
) -> None:
    stage = new_stage()
    append(stage, *[[b"a"]] * 6)
    stage.restart_after_kill()
    stage.run(stage.flush())
    stage.restart_after_power_cut()
    assert stage.log.log_end_offset == 6


def test_a_log_that_was_never_flushed_begins_where_it_began(new_stage: NewStage) -> None:
    stage = new_stage()
    append(stage, *[[b"a"]] * 12)
    stage.restart_after_power_cut()
    assert stage.log.log_start_offset == 0


def test_records_deleted_before_they_were_flushed_are_no_damage(new_stage: NewStage) -> None:
    stage = new_stage()
    append(stage, *[[b"a", b"b"]] * 9)
    stage.commit_all()
    stage.model.start_at_most = stage.model.start_at_least = 7
    stage.run(stage.log.delete_records(7))
    stage.restart_after_power_cut()
    assert stage.log.log_start_offset == 7


def test_a_cut_within_a_batch_claims_no_more_than_it_left(new_stage: NewStage) -> None:
    stage = new_stage()
    append(stage, [b"a"] * 4, [b"a"] * 3)
    stage.run(stage.log.close())
    stage.log = stage.run(stage.open())
    stage.run(stage.log.truncate_to(5))
    stage.model.cut(4)
    stage.restart_after_power_cut()
    assert stage.log.log_end_offset == stage.log.recovery_point == 4


def test_compaction_drops_nothing_whose_newer_record_is_not_flushed(new_stage: NewStage) -> None:
    stage = new_stage(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0)
    append(stage, [b"a"])
    stage.run(stage.flush())
    append(stage, *[[b"b"]] * 6, [b"a"], *[[b"b"]] * 3)
    stage.commit_all()
    assert stage.run(stage.compact())
    stage.restart_after_power_cut()


def test_an_older_time_index_is_not_vouched_for_by_a_clean_shutdown(new_stage: NewStage) -> None:
    stage = new_stage()
    append(stage, [b"a"] * 3, [b"a"])
    stage.run(stage.log.close())
    stage.log = stage.run(stage.open())
    stage.run(stage.log.truncate_to(0))
    stage.model.cut(0)
    append(stage, [b"a"], [b"a"] * 2, [b"a"] * 4, [b"a"])
    stage.restart_after_kill()
    stage.run(stage.flush())
    stage.run(stage.log.close())
    stage.restart_after_power_cut()
    first = stage.log.offset_for_time(NOW_MS, upper_bound=END)
    assert first == stage.log.offset_of_max_timestamp(upper_bound=END)
    assert first is not None
    assert first.offset == 0


def test_what_a_producer_sent_is_not_taken_again_once_it_was_deleted(new_stage: NewStage) -> None:
    stage = new_stage()
    sent = stage.encode([(b"a", b"value")], producer=(7, 0, 0))
    stage.append_as_leader(sent)
    append(stage, *[[b"b"]] * 4)
    stage.commit_all()
    stage.model.start_at_most = stage.model.start_at_least = stage.log.segments[1].base_offset
    stage.run(stage.log.delete_records(stage.model.start_at_least))
    stage.restart_after_power_cut()
    assert stage.log.append_as_leader(sent, leader_epoch=0).is_duplicate


def test_a_producer_that_was_forgotten_stays_so(new_stage: NewStage) -> None:
    """Its old batches would be told of again, in the place of its new ones."""
    stage = new_stage()
    sent = stage.encode([(b"a", b"value")], producer=(7, 0, 0))
    stage.append_as_leader(sent)
    append(stage, *[[b"b"]] * 4)
    stage.commit_all()
    end = stage.model.start_at_most = stage.model.start_at_least = stage.model.end
    stage.run(stage.log.delete_records(end))
    stage.restart_after_power_cut()
    result = stage.log.append_as_leader(sent, leader_epoch=0)
    stage.run(stage.log.flush())
    stage.run(stage.log.checkpoint())
    stage.log = stage.run(stage.open())
    again = stage.log.append_as_leader(sent, leader_epoch=0)
    assert (again.is_duplicate, again.base_offset) == (True, result.base_offset)


def test_what_a_full_disk_took_is_not_behind_what_was_flushed(new_stage: NewStage) -> None:
    """It was cut off; the next segment followed, and the cut was undone."""
    stage = new_stage(segment_bytes=250)
    append(stage, [b"a"], [b"a"])
    stage.run(stage.flush())
    stage.run(stage.checkpoint())
    stage.disk.capacity_bytes = stage.disk.used_bytes() + 1
    with pytest.raises(StorageError):
        append(stage, [b"a"])
    stage.disk.capacity_bytes = None
    stage.restart_after_kill()
    append(stage, [b"b"] * 9)
    assert len(stage.log.segments) == 2
    stage.run(stage.flush())
    stage.restart_after_power_cut()
    assert stage.log.log_end_offset == 11


def test_a_segment_that_a_start_removed_does_not_come_back(new_stage: NewStage) -> None:
    """New batches may end where it began."""
    stage = new_stage()
    append(stage, *[[b"a"]] * 6)
    first, second = stage.log.segments[:2]
    stage.disk.open(first.file.path).truncate(first.size - 1)
    for segment in stage.log.segments:
        stage.run(segment.file.sync())
    stage.run(stage.disk.sync_directory(DIRECTORY))
    stage.log = stage.run(stage.open())
    assert stage.log.log_end_offset == second.base_offset - 1
    stage.log.append_as_leader(stage.encode([(b"b", b"value")]), leader_epoch=0)
    stage.run(stage.log.segments[0].file.sync())
    stage.disk.crash()
    assert stage.run(stage.open()).log_end_offset <= second.base_offset
