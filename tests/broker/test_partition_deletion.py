"""The leader's core: which records may be deleted, and when all in-sync replicas did so."""

from __future__ import annotations

import pytest
from tests.broker.partition_cores import BROKER_EPOCHS, LAG_MS_MAX, Core, found, refusal

from tidelog.broker.replica.effects import (
    DeleteRecords,
    FailDeletions,
    FailWaiters,
    RaiseLowWatermark,
)
from tidelog.broker.replica.events import (
    DeleteRecordsRequested,
    EpochEnd,
    LogClosed,
    LogStartRaised,
    Ticked,
)
from tidelog.v1 import common_pb2


@pytest.fixture
def core() -> Core:
    """1 leads, 2 and 3 are in sync; ten records, all committed but the last two."""
    core = Core()
    core.image()
    core.append(10)
    core.follower_fetch(2, 10)
    core.follower_fetch(3, 8)
    assert core.leader.low_watermark == 0
    return core


def delete(offset: int, *, is_allowed: bool = True) -> DeleteRecordsRequested:
    return DeleteRecordsRequested(offset, is_allowed=is_allowed)


@pytest.mark.parametrize(("asked", "expected"), [(0, 0), (5, 5), (8, 8), (-1, 8)])
def test_committed_records_may_be_deleted(core: Core, asked: int, expected: int) -> None:
    assert core.handle(delete(asked)) == [DeleteRecords(expected)]


@pytest.mark.parametrize("offset", [9, 10, 11, -2])
def test_nothing_above_the_high_watermark_may_be_deleted(core: Core, offset: int) -> None:
    assert refusal(core.handle(delete(offset))) == common_pb2.OFFSET_OUT_OF_RANGE


def test_a_topic_without_the_policy_delete_keeps_its_records(core: Core) -> None:
    event = delete(5, is_allowed=False)
    assert refusal(core.handle(event)) == common_pb2.POLICY_VIOLATION


def test_only_a_leader_deletes_by_order() -> None:
    core = Core()
    core.image(leader_id=2)
    assert refusal(core.handle(delete(0))) == common_pb2.NOT_LEADER_OR_FOLLOWER


def test_the_low_watermark_is_the_least_log_start_of_the_isr(core: Core) -> None:
    assert core.handle(LogStartRaised(5)) == []
    assert not found(core.follower_fetch(2, 10, log_start_offset=5), RaiseLowWatermark)
    effects = core.follower_fetch(3, 10, log_start_offset=4)
    assert found(effects, RaiseLowWatermark) == [RaiseLowWatermark(4)]
    effects = core.follower_fetch(3, 10, log_start_offset=6)
    assert found(effects, RaiseLowWatermark) == [RaiseLowWatermark(5)]


def test_a_replica_outside_the_isr_holds_no_low_watermark() -> None:
    core = Core()
    core.image(isr=(1, 2))
    core.append(10)
    core.follower_fetch(2, 10)
    core.handle(LogStartRaised(5))
    effects = core.follower_fetch(2, 10, log_start_offset=5)
    assert found(effects, RaiseLowWatermark) == [RaiseLowWatermark(5)]


def test_a_replica_that_may_have_joined_the_isr_holds_the_low_watermark() -> None:
    core = Core()
    core.image(isr=(1, 2))
    core.append(10)
    core.follower_fetch(2, 10)
    core.follower_fetch(3, 10)
    assert core.proposed() == [1, 2, 3]
    core.handle(LogStartRaised(5))
    assert not found(core.follower_fetch(2, 10, log_start_offset=5), RaiseLowWatermark)
    effects = core.isr_answer(common_pb2.INELIGIBLE_REPLICA)
    assert found(effects, RaiseLowWatermark) == [RaiseLowWatermark(5)]


def test_who_leaves_the_isr_holds_the_low_watermark_no_more(core: Core) -> None:
    core.handle(LogStartRaised(5))
    core.follower_fetch(2, 10, log_start_offset=5)
    core.now_ms += LAG_MS_MAX + 1
    core.handle(Ticked())
    core.follower_fetch(2, 10, log_start_offset=5)
    effects = core.image(isr=(1, 2), partition_epoch=11)
    assert found(effects, RaiseLowWatermark) == [RaiseLowWatermark(5)]


def test_a_leader_knows_no_log_start_of_an_earlier_epoch(core: Core) -> None:
    core.image(leader_epoch=6, partition_epoch=11, log_end_offset=10, latest_epoch=5)
    assert core.handle(LogStartRaised(5)) == []
    assert core.leader.low_watermark == -1


def test_a_fetch_that_is_refused_tells_no_log_start(core: Core) -> None:
    core.handle(LogStartRaised(5))
    core.follower_fetch(2, 10, log_start_offset=5)
    core.follower_fetch(3, 10, log_start_offset=5, broker_epoch=BROKER_EPOCHS[3] - 1)
    core.follower_fetch(3, 10, log_start_offset=5, last_fetched_epoch=4, epoch_end=EpochEnd(4, 8))
    assert core.leader.low_watermark == 0


def test_those_who_wait_for_a_deletion_are_told_that_leadership_ended(core: Core) -> None:
    (failed,) = found(core.handle(LogClosed()), FailDeletions)
    assert failed.code == common_pb2.NOT_LEADER_OR_FOLLOWER


def test_a_small_isr_fails_producers_but_no_deletions(core: Core) -> None:
    effects = core.image(isr=(1,), partition_epoch=11, min_insync_replicas=2)
    assert found(effects, FailWaiters)
    assert not found(effects, FailDeletions)
