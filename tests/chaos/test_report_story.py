"""What a record is read as: roles, falls, a watermark that stands still, where to look."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.chaos.chaos_records import (
    CUT_S,
    ELECTED_S,
    KILLED_S,
    RETURNED_S,
    TRUNCATED_S,
    empty,
    storm,
    truncation,
    violated,
)

from tidelog.chaos.report.record import Anomaly, Band, PartitionPoint, ReplicaPoint, RunRecord
from tidelog.chaos.report.story import Role, Story

NEVER_QUIET = replace(truncation(), bands=[Band("latency", "all links", (), 1.0, 39.0)])


def points(*ends: tuple[float, int], is_up: bool = True, epoch: int = 3) -> list[ReplicaPoint]:
    """Of leader 4, whose high watermark stays at 10."""
    return [ReplicaPoint(at_s, 4, is_up, "leader", epoch, 10, end) for at_s, end in ends]


def story(*replicas: ReplicaPoint, **more: object) -> Story:
    return Story(empty(replicas=list(replicas), **more))


def test_the_truncated_tail_is_a_fall_though_nobody_saw_it_happen() -> None:
    (fall,) = Story(truncation()).falls
    assert fall.node_id == 4
    assert TRUNCATED_S <= fall.at_s <= TRUNCATED_S + 0.3
    assert fall.before - fall.after > 1000


def test_a_fall_is_found_over_a_time_in_which_the_node_was_down() -> None:
    down = points((2.0, 0), is_up=False)
    (fall,) = story(*points((1.0, 50)), *down, *points((3.0, 20))).falls
    assert (fall.at_s, fall.before, fall.after) == (3.0, 50, 20)


def test_a_node_that_is_down_has_no_fall() -> None:
    assert story(*points((1.0, 50)), *points((2.0, 0), is_up=False)).falls == []


def test_the_watermark_stands_still_from_the_cut_to_the_election() -> None:
    (still,) = Story(truncation()).standstills
    assert still.began_s == pytest.approx(CUT_S, abs=0.3)
    assert still.ended_s == pytest.approx(ELECTED_S, abs=0.6)


def test_a_watermark_without_load_does_not_stand_still() -> None:
    quiet = [
        ReplicaPoint(at_s, 4, True, "leader", 3, end, end)
        for at_s, end in ((1.0, 10), (9.0, 11), (9.1, 12))
    ]
    assert story(*quiet).standstills == []


def test_a_log_that_is_not_open_has_no_offsets() -> None:
    closed = replace(points((2.0, -1))[0], role="none", high_watermark=-1)
    drawn = story(*points((1.0, 50)), closed, *points((2.5, 50)))
    assert drawn.falls == []
    assert [[point.at_s for point in run] for run in drawn.stretches(4)] == [[1.0], [2.5]]


def test_a_replica_that_starts_again_has_not_forgotten_what_was_committed() -> None:
    ends = ((1.0, 90, 90), (2.0, 0, 90), (3.0, 0, 40), (4.0, 50, 60))
    drawn = story(*(ReplicaPoint(at_s, 4, True, "none", 3, mark, end) for at_s, mark, end in ends))
    marks = [point.high_watermark for run in drawn.stretches(4) for point in run]
    assert marks == [90, 90, 40, 50]


def test_a_leader_of_an_epoch_that_is_over_is_deposed() -> None:
    elected = [PartitionPoint(0.0, 4, 3, (), (), 1, 1), PartitionPoint(2.0, 5, 4, (), (), 1, 1)]
    drawn = story(*points((1.0, 10), (2.5, 10), (3.0, 10)), partitions=elected)
    states = [(spell.began_s, spell.state) for spell in drawn.roles(4)]
    assert states == [
        (1.0, Role("leader", 3, is_deposed=False)),
        (2.5, Role("leader", 3, is_deposed=True)),
    ]


def test_a_leader_ahead_of_the_metadata_is_not_deposed() -> None:
    elected = [PartitionPoint(0.0, 4, 3, (), (), 1, 1)]
    drawn = story(*points((1.0, 10), epoch=4), partitions=elected)
    assert [spell.state.is_deposed for spell in drawn.roles(4)] == [False]


def test_a_replica_is_not_drawn_while_it_is_down_or_silent() -> None:
    down = points((2.0, 0), is_up=False)
    drawn = story(*points((1.0, 1), (1.5, 1)), *down, *points((3.0, 1), (9.0, 1)))
    times = [[point.at_s for point in run] for run in drawn.stretches(4)]
    assert times == [[1.0, 1.5], [3.0], [9.0]]


def test_the_window_holds_all_that_happened_and_not_the_quiet_rest() -> None:
    drawn = Story(truncation(load_s=90))
    low, high = drawn.window
    assert drawn.is_zoomed
    assert 0 < low < CUT_S < KILLED_S < RETURNED_S < high < 60


@pytest.mark.parametrize("record", [empty(), empty(load_s=30.0), NEVER_QUIET])
def test_a_run_without_quiet_times_is_shown_as_a_whole(record: RunRecord) -> None:
    drawn = Story(record)
    assert not drawn.is_zoomed
    assert drawn.window[0] < drawn.window[1]


def test_the_window_of_a_long_run_is_around_its_first_anomaly() -> None:
    record = storm(load_s=900, sample_s=5)
    assert not Story(record).is_zoomed
    low, high = Story(replace(record, anomalies=[Anomaly("I4", "", 700.0)])).window
    assert (low, high) == (680.0, 710.0)


def test_a_fault_that_was_never_taken_back_lasts_to_the_end() -> None:
    drawn = Story(empty(load_s=9.0, bands=[Band("kill", "", (4,), 3.0, None)]))
    assert drawn.end_of(drawn.bands[0]) == drawn.ended_s == 9.0


def test_samples_may_come_in_any_order() -> None:
    record = violated()
    shuffled = replace(record, replicas=record.replicas[::-1], partitions=record.partitions[::-1])
    assert Story(shuffled).roles(4) == Story(record).roles(4)
    assert Story(shuffled).falls == Story(record).falls
