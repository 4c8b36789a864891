"""The leader's core: what is committed, who may read and append what."""

from __future__ import annotations

import pytest
from tests.broker.partition_cores import Core, found, refusal

from tidelog.broker.replica.effects import (
    AnswerDivergingEpoch,
    AppendToLog,
    AssignEpoch,
    FailWaiters,
    RaiseHighWatermark,
    RaiseLowWatermark,
    ServeRecords,
    StartFetching,
    StopFetching,
    WakeFetches,
)
from tidelog.broker.replica.events import (
    EpochEnd,
    Flushed,
    LogClosed,
    ProduceRequested,
)
from tidelog.v1 import common_pb2


@pytest.fixture
def core() -> Core:
    core = Core()
    core.image()
    return core


def test_a_new_leader_assigns_its_epoch_at_its_log_end_before_anything_else() -> None:
    core = Core()
    effects = core.image(log_end_offset=7)
    assert effects[0] == StopFetching()
    assert effects[1] == AssignEpoch(5, 7)


def test_a_leader_that_is_the_whole_isr_commits_what_it_holds_at_once() -> None:
    core = Core()
    core.image(isr=(1,), log_end_offset=7)
    assert core.high_watermark == 7


def test_the_high_watermark_is_the_least_end_of_the_isr(core: Core) -> None:
    core.append(10)
    core.follower_fetch(2, 10)
    assert core.high_watermark == 0
    core.follower_fetch(3, 4)
    assert core.high_watermark == 4
    core.follower_fetch(3, 9)
    assert core.high_watermark == 9


def test_a_follower_that_has_not_fetched_in_this_epoch_holds_the_high_watermark() -> None:
    core = Core()
    core.image(isr=(1, 2))
    core.append(10)
    core.follower_fetch(2, 10)
    assert core.high_watermark == 10
    core.image(leader_epoch=6, partition_epoch=11, isr=(1, 2), log_end_offset=12, latest_epoch=5)
    core.append(13)
    assert core.high_watermark == 10


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(4, common_pb2.FENCED_LEADER_EPOCH), (6, common_pb2.UNKNOWN_LEADER_EPOCH)],
)
def test_a_fetch_of_another_epoch_is_refused_and_acknowledges_nothing(
    epoch: int, code: common_pb2.ErrorCode
) -> None:
    core = Core()
    core.image(isr=(1, 2))
    core.append(10)
    assert refusal(core.follower_fetch(2, 10, epoch=epoch)) == code
    assert refusal(core.consumer_fetch(0, epoch=epoch)) == code
    assert core.high_watermark == 0


def test_a_replica_that_names_no_epoch_is_refused(core: Core) -> None:
    effects = core.follower_fetch(2, 0)
    assert found(effects, ServeRecords)
    event_without_epoch = core.follower_fetch(2, 0, epoch=None)
    assert refusal(event_without_epoch) == common_pb2.INVALID_REQUEST


def test_a_diverging_follower_acknowledges_nothing_and_gets_no_records() -> None:
    core = Core()
    core.image(isr=(1, 2), log_end_offset=10)
    effects = core.follower_fetch(2, 10, last_fetched_epoch=4, epoch_end=EpochEnd(4, 8))
    assert effects == [AnswerDivergingEpoch(4, 8)]
    assert core.high_watermark == 0
    effects = core.follower_fetch(2, 8, last_fetched_epoch=4, epoch_end=EpochEnd(3, 8))
    assert effects == [AnswerDivergingEpoch(3, 8)]
    effects = core.follower_fetch(2, 8, last_fetched_epoch=4, epoch_end=EpochEnd(4, 8))
    assert effects == [RaiseHighWatermark(8), RaiseLowWatermark(0), ServeRecords(10)]


def test_a_delayed_fetch_of_a_followers_earlier_incarnation_acknowledges_nothing() -> None:
    core = Core()
    core.image(isr=(1, 2))
    core.append(10)
    core.follower_fetch(2, 3, broker_epoch=20)
    effects = core.follower_fetch(2, 10, broker_epoch=12)
    assert refusal(effects) == common_pb2.STALE_BROKER_EPOCH
    assert core.high_watermark == 3


def test_a_fetch_of_an_incarnation_that_never_registered_neither_counts_nor_fences() -> None:
    core = Core()
    core.image(isr=(1, 2))
    core.append(10)
    core.follower_fetch(2, 3)
    effects = core.follower_fetch(2, 10, broker_epoch=2**62, is_eligible=False, is_known=False)
    assert refusal(effects) == common_pb2.INELIGIBLE_REPLICA
    assert core.high_watermark == 3
    core.follower_fetch(2, 4)
    assert core.high_watermark == 4


def test_the_high_watermark_does_not_fall_when_a_follower_comes_back_with_less(core: Core) -> None:
    core.append(10)
    core.follower_fetch(2, 10)
    core.follower_fetch(3, 10)
    core.follower_fetch(3, 2, broker_epoch=20)
    core.append(11)
    assert core.high_watermark == 10


def test_who_is_no_replica_may_not_fetch_as_one(core: Core) -> None:
    core.image(replicas=(1, 2), isr=(1, 2), partition_epoch=11)
    assert refusal(core.follower_fetch(3, 0)) == common_pb2.NOT_LEADER_OR_FOLLOWER


def test_consumers_read_below_the_high_watermark_and_followers_to_the_end(core: Core) -> None:
    core.append(10)
    core.follower_fetch(2, 6)
    assert found(core.follower_fetch(3, 5), ServeRecords) == [ServeRecords(10)]
    assert core.consumer_fetch(0) == [ServeRecords(5)]
    assert core.consumer_fetch(8) == [ServeRecords(5)]


@pytest.mark.parametrize("offset", [-1, 11])
def test_offsets_outside_the_log_are_refused(core: Core, offset: int) -> None:
    core.append(10)
    assert refusal(core.consumer_fetch(offset)) == common_pb2.OFFSET_OUT_OF_RANGE
    assert refusal(core.follower_fetch(2, offset)) == common_pb2.OFFSET_OUT_OF_RANGE


def test_acks_all_is_refused_before_the_append_below_min_insync_replicas() -> None:
    core = Core()
    core.image(isr=(1,), min_insync_replicas=2)
    assert refusal(core.handle(ProduceRequested(-1))) == common_pb2.NOT_ENOUGH_REPLICAS
    assert core.handle(ProduceRequested(1)) == [AppendToLog(5)]
    assert core.handle(ProduceRequested(0)) == [AppendToLog(5)]


def test_a_pending_shrink_counts_as_done_for_min_insync_replicas() -> None:
    core = Core()
    core.image(isr=(1, 2), min_insync_replicas=2)
    assert core.handle(ProduceRequested(-1)) == [AppendToLog(5)]
    core.leader.isr = core.leader.isr.propose([(1, -1)], "")
    assert refusal(core.handle(ProduceRequested(-1))) == common_pb2.NOT_ENOUGH_REPLICAS


def test_waiters_fail_with_an_unknown_outcome_when_the_isr_falls_below_the_minimum() -> None:
    core = Core()
    core.image(isr=(1, 2), min_insync_replicas=2)
    core.append(10)
    effects = core.image(isr=(1,), partition_epoch=11, min_insync_replicas=2, log_end_offset=10)
    (failed,) = found(effects, FailWaiters)
    assert failed.code == common_pb2.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert core.high_watermark == 0


def test_nothing_is_committed_below_min_insync_replicas() -> None:
    core = Core()
    core.image(isr=(1,), min_insync_replicas=2)
    core.append(10)
    assert core.high_watermark == 0
    core.image(isr=(1,), partition_epoch=11, min_insync_replicas=1, log_end_offset=10)
    assert core.high_watermark == 10


def test_a_topic_with_fewer_replicas_than_the_minimum_needs_all_of_them() -> None:
    core = Core()
    core.image(replicas=(1,), isr=(1,), min_insync_replicas=2)
    assert core.handle(ProduceRequested(-1)) == [AppendToLog(5)]
    core.append(3)
    assert core.high_watermark == 3


def test_the_own_copy_counts_only_after_a_demanded_flush() -> None:
    core = Core()
    core.image(isr=(1, 2))
    core.append(10, ackable_offset=4)
    core.follower_fetch(2, 10)
    assert core.high_watermark == 4
    core.handle(Flushed(10))
    assert core.high_watermark == 10


def test_a_new_epoch_does_not_count_what_a_running_flush_has_yet_to_cover() -> None:
    core = Core()
    core.image(isr=(1,), log_end_offset=10, ackable_offset=4)
    assert core.high_watermark == 4


def test_an_older_image_changes_nothing(core: Core) -> None:
    assert core.image(leader_id=2, leader_epoch=4, partition_epoch=9) == []
    assert core.image(isr=(1,), partition_epoch=9) == []
    assert core.leader.isr.committed == (1, 2, 3)


def test_leadership_that_ends_leaves_waiters_with_an_unknown_outcome(core: Core) -> None:
    effects = core.image(leader_id=2, leader_epoch=6, partition_epoch=11)
    (failed,) = found(effects, FailWaiters)
    assert failed.code == common_pb2.REQUEST_TIMED_OUT
    assert found(effects, WakeFetches)
    assert found(effects, StartFetching) == [StartFetching(2)]
    assert refusal(core.handle(ProduceRequested(1))) == common_pb2.NOT_LEADER_OR_FOLLOWER
    assert refusal(core.consumer_fetch(0, epoch=5)) == common_pb2.FENCED_LEADER_EPOCH
    assert refusal(core.consumer_fetch(0)) == common_pb2.NOT_LEADER_OR_FOLLOWER


def test_a_closed_log_ends_every_role_for_good(core: Core) -> None:
    effects = core.handle(LogClosed())
    assert found(effects, FailWaiters)
    assert core.image(leader_epoch=9, partition_epoch=20) == []
    assert refusal(core.handle(ProduceRequested(1))) == common_pb2.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("latest_epoch", [5, 6])
def test_an_epoch_not_above_the_logs_gives_no_leadership(latest_epoch: int) -> None:
    core = Core()
    assert core.image(log_end_offset=3, latest_epoch=latest_epoch) == []
    assert core.replica.leader is None
