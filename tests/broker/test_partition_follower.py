"""The follower's core: truncation before anything else, and a high watermark within its log."""

from __future__ import annotations

import pytest
from tests.broker.partition_cores import Core

from tidelog.broker.replica.effects import (
    AppendFetched,
    BackOff,
    DeleteRecords,
    RaiseHighWatermark,
    RestartLog,
    StartFetching,
    StopFetching,
    TruncateTo,
)
from tidelog.broker.replica.events import EpochEnd, FetchAnswered, FetchedAppended
from tidelog.v1 import common_pb2


@pytest.fixture
def core() -> Core:
    core = Core()
    core.image(leader_id=2, log_end_offset=10)
    return core


def answer(
    *,
    leader_epoch: int = 5,
    fetch_offset: int = 10,
    error: common_pb2.ErrorCode = common_pb2.NONE,
    first_offset: int | None = None,
    high_watermark: int = 0,
    own_high_watermark: int = 0,
    log_start_offset: int = 0,
    own_log_start_offset: int = 0,
    diverging_epoch: EpochEnd | None = None,
    own_epoch_end: EpochEnd | None = None,
) -> FetchAnswered:
    return FetchAnswered(
        leader_epoch=leader_epoch,
        fetch_offset=fetch_offset,
        log_end_offset=10,
        own_high_watermark=own_high_watermark,
        own_log_start_offset=own_log_start_offset,
        error=error,
        first_offset=first_offset,
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
        diverging_epoch=diverging_epoch,
        own_epoch_end=own_epoch_end,
    )


def appended(
    *,
    high_watermark: int,
    own_high_watermark: int = 0,
    log_start_offset: int = 0,
) -> FetchedAppended:
    return FetchedAppended(
        leader_epoch=5,
        log_end_offset=12,
        own_high_watermark=own_high_watermark,
        own_log_start_offset=0,
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
    )


@pytest.mark.parametrize(("own", "expected"), [(EpochEnd(4, 9), 7), (EpochEnd(3, 6), 6)])
def test_a_diverging_log_is_cut_to_the_lower_of_both_epoch_ends(
    core: Core, own: EpochEnd, expected: int
) -> None:
    event = answer(diverging_epoch=EpochEnd(4, 7), own_epoch_end=own)
    assert core.handle(event) == [TruncateTo(expected)]


def test_an_empty_log_that_diverges_forgets_its_epochs(core: Core) -> None:
    event = answer(
        diverging_epoch=EpochEnd(-1, 8), own_epoch_end=EpochEnd(-1, 0), own_log_start_offset=10
    )
    assert core.handle(event) == [RestartLog(10)]


def test_an_answer_that_tells_to_truncate_raises_no_high_watermark(core: Core) -> None:
    """KAFKA-14704."""
    event = answer(
        diverging_epoch=EpochEnd(4, 7),
        own_epoch_end=EpochEnd(4, 9),
        high_watermark=9,
        first_offset=10,
    )
    assert core.handle(event) == [TruncateTo(7)]


def test_the_high_watermark_stays_within_the_own_log(core: Core) -> None:
    assert core.handle(answer(high_watermark=50)) == [RaiseHighWatermark(10)]
    event = appended(own_high_watermark=10, high_watermark=50)
    assert core.handle(event) == [RaiseHighWatermark(12)]


def test_a_new_leaders_lower_high_watermark_takes_nothing_back(core: Core) -> None:
    assert core.handle(answer(high_watermark=4, own_high_watermark=8)) == []


def test_records_are_appended_before_the_high_watermark_moves(core: Core) -> None:
    assert core.handle(answer(first_offset=10, high_watermark=12)) == [AppendFetched()]


@pytest.mark.parametrize(
    "stale", [answer(leader_epoch=4, first_offset=10), answer(fetch_offset=9, first_offset=10)]
)
def test_an_answer_to_another_epoch_or_position_is_ignored(
    core: Core, stale: FetchAnswered
) -> None:
    assert core.handle(stale) == []


def test_records_appended_for_an_epoch_that_has_ended_raise_nothing(core: Core) -> None:
    core.image(leader_id=3, leader_epoch=6, partition_epoch=11, log_end_offset=12)
    assert core.handle(appended(high_watermark=12, log_start_offset=12)) == []


def test_a_log_that_ends_below_the_leaders_start_begins_anew_there(core: Core) -> None:
    event = answer(error=common_pb2.OFFSET_OUT_OF_RANGE, log_start_offset=11)
    assert core.handle(event) == [RestartLog(11)]


def test_an_empty_log_out_of_range_begins_anew_at_the_leaders_start(core: Core) -> None:
    event = answer(
        error=common_pb2.OFFSET_OUT_OF_RANGE, log_start_offset=3, own_log_start_offset=10
    )
    assert core.handle(event) == [RestartLog(3)]


def test_records_that_the_leader_may_hold_too_are_never_dropped_by_an_offset_out_of_range(
    core: Core,
) -> None:
    event = answer(error=common_pb2.OFFSET_OUT_OF_RANGE, log_start_offset=10)
    assert core.handle(event) == [BackOff()]


def test_the_leaders_log_start_is_taken_over_once_its_high_watermark_is(core: Core) -> None:
    without_records = answer(high_watermark=9, log_start_offset=4)
    assert core.handle(without_records) == [RaiseHighWatermark(9), DeleteRecords(4)]
    with_records = appended(own_high_watermark=9, high_watermark=9, log_start_offset=4)
    assert core.handle(with_records) == [DeleteRecords(4)]


def test_a_batch_that_begins_below_an_empty_logs_end_makes_it_begin_anew_there() -> None:
    """The leader's log start lies within the batch: records of it were deleted by order."""
    core = Core()
    core.image(leader_id=2, log_end_offset=10)
    event = answer(first_offset=8, own_log_start_offset=10, log_start_offset=10)
    assert core.handle(event) == [AppendFetched(restart_offset=8)]


def test_a_log_whose_end_lies_within_the_leaders_batch_is_cut_to_its_beginning(core: Core) -> None:
    """Compaction at the leader put one batch in the place of several."""
    assert core.handle(answer(first_offset=8)) == [TruncateTo(8)]


def test_a_leaders_lower_log_start_changes_nothing(core: Core) -> None:
    event = answer(own_high_watermark=9, own_log_start_offset=5, log_start_offset=4)
    assert core.handle(event) == []


def test_nothing_above_the_high_watermark_is_deleted(core: Core) -> None:
    event = answer(own_high_watermark=6, high_watermark=5, log_start_offset=8)
    assert core.handle(event) == [DeleteRecords(6)]


def test_records_of_an_answer_are_appended_before_others_are_deleted(core: Core) -> None:
    event = answer(first_offset=10, high_watermark=12, log_start_offset=4)
    assert core.handle(event) == [AppendFetched()]


@pytest.mark.parametrize(
    "code",
    [
        common_pb2.FENCED_LEADER_EPOCH,
        common_pb2.UNKNOWN_LEADER_EPOCH,
        common_pb2.NOT_LEADER_OR_FOLLOWER,
        common_pb2.KAFKA_STORAGE_ERROR,
    ],
)
def test_any_other_error_backs_off(core: Core, code: common_pb2.ErrorCode) -> None:
    assert core.handle(answer(error=code)) == [BackOff()]


def test_every_new_leader_epoch_starts_fetching_anew_even_from_the_same_leader(core: Core) -> None:
    """KAFKA-7164: what decides on truncation is the epoch, not who leads."""
    effects = core.image(leader_id=2, leader_epoch=6, partition_epoch=11, log_end_offset=10)
    assert effects == [StartFetching(2)]
    assert core.handle(answer(first_offset=10)) == []


def test_without_a_leader_nothing_is_fetched(core: Core) -> None:
    effects = core.image(leader_id=None, leader_epoch=6, partition_epoch=11)
    assert effects == [StopFetching()]


def test_a_leader_ignores_answers_to_its_former_fetches(core: Core) -> None:
    core.image(leader_id=1, leader_epoch=6, partition_epoch=11, log_end_offset=10)
    assert core.handle(answer(first_offset=10)) == []
