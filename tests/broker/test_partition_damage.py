"""A replica with a damaged log: out of use, and healed only where nobody counts on it."""

from __future__ import annotations

import pytest
from tests.broker.partition_cores import LAG_MS_MAX, Core, found, refusal

from tidelog.broker.replica.effects import (
    FailDeletions,
    FailWaiters,
    RestartLog,
    StartFetching,
    StopFetching,
    TruncateTo,
    WakeFetches,
)
from tidelog.broker.replica.events import LogDamaged, ProduceRequested
from tidelog.broker.replica.replica import Replica
from tidelog.v1 import common_pb2


def test_a_damaged_leader_tells_who_waits_and_serves_nothing() -> None:
    core = Core()
    core.image(log_end_offset=10)
    effects = core.handle(LogDamaged())
    assert found(effects, FailWaiters)[0].code == common_pb2.REQUEST_TIMED_OUT
    assert found(effects, FailDeletions)
    assert found(effects, WakeFetches)
    assert core.replica.role is None
    assert refusal(core.consumer_fetch(0)) == common_pb2.NOT_LEADER_OR_FOLLOWER
    assert refusal(core.handle(ProduceRequested(1))) == common_pb2.NOT_LEADER_OR_FOLLOWER


def test_a_damaged_follower_stops_fetching() -> None:
    core = Core()
    core.image(leader_id=2)
    assert core.handle(LogDamaged()) == [StopFetching()]


@pytest.mark.parametrize(
    ("leader_id", "isr"), [(1, (1,)), (1, (2, 3)), (2, (1, 2)), (None, (2, 3))]
)
def test_a_damaged_replica_that_others_may_count_on_stays_as_it_is(
    leader_id: int | None, isr: tuple[int, ...]
) -> None:
    core = Core()
    assert core.image(leader_id=leader_id, isr=isr, first_bad_offset=4) == []
    assert core.replica.role is None


def test_a_damaged_replica_outside_the_isr_is_cut_where_the_damage_begins() -> None:
    core = Core()
    effects = core.image(leader_id=2, isr=(2, 3), log_start_offset=4, first_bad_offset=4)
    assert effects == [TruncateTo(4)]


def test_a_log_that_is_damaged_before_its_start_begins_anew() -> None:
    core = Core()
    effects = core.image(leader_id=2, isr=(2, 3), log_start_offset=5, first_bad_offset=4)
    assert effects == [RestartLog(4)]


def test_a_replica_that_fetched_in_this_leader_epoch_is_not_cut_in_it_however_long_it_waits() -> (
    None
):
    """The leader may have brought it back into the ISR since: this image is old (seed 1795480153).

    `damaged` of such an image is an earlier damage's, which was healed in this leader epoch.
    """
    core = Core()
    core.image(leader_id=2, isr=(2, 3), damaged=(1,), leader_epoch=5)
    core.handle(LogDamaged())
    core.now_ms += 10 * LAG_MS_MAX
    old = core.image(leader_id=2, isr=(2, 3), damaged=(1,), leader_epoch=5, first_bad_offset=4)
    assert old == []
    new = core.image(leader_id=2, isr=(2, 3), damaged=(1,), leader_epoch=6, first_bad_offset=4)
    assert new == [TruncateTo(4)]


def test_a_second_damage_before_the_first_is_healed_keeps_the_epoch_it_served_in() -> None:
    core = Core()
    core.image(leader_id=2, isr=(2, 3), leader_epoch=5)
    core.handle(LogDamaged())
    core.handle(LogDamaged())
    assert core.replica.served_epoch == 5
    assert core.image(leader_id=2, isr=(2, 3), leader_epoch=5, first_bad_offset=4) == []


def test_a_reopened_replica_keeps_the_epoch_it_served_in() -> None:
    replica = Replica(broker_id=1, lag_ms_max=LAG_MS_MAX, served_epoch=5)
    core = Core()
    core.replica = replica
    assert core.image(leader_id=2, isr=(2, 3), leader_epoch=5, first_bad_offset=4) == []
    assert core.image(leader_id=2, isr=(2, 3), leader_epoch=6, first_bad_offset=4) != []


def test_a_log_that_does_not_heal_is_not_cut_again_at_once() -> None:
    core = Core()
    core.image(leader_id=2, isr=(2, 3), first_bad_offset=4)
    assert core.image(leader_id=2, isr=(2, 3), first_bad_offset=4) == []
    core.now_ms += LAG_MS_MAX
    assert core.image(leader_id=2, isr=(2, 3), first_bad_offset=4) == [TruncateTo(4)]


def test_a_healed_replica_follows_again() -> None:
    core = Core()
    core.image(leader_id=2, isr=(2, 3), first_bad_offset=4)
    assert core.image(leader_id=2, isr=(2, 3), log_end_offset=4) == [StartFetching(2)]


def test_a_damaged_replica_that_is_eligible_is_not_cut() -> None:
    core = Core()
    assert core.image(leader_id=2, isr=(2,), elr=(1,), first_bad_offset=4) == []


def test_a_damaged_replica_cuts_itself_to_lead_only_where_its_damage_was_known() -> None:
    core = Core()
    assert core.image(leader_id=1, isr=(1,), first_bad_offset=4) == []
    assert core.image(leader_id=1, isr=(1,), damaged=(1,), first_bad_offset=4) == [TruncateTo(4)]


def test_a_leader_that_finds_damage_later_in_its_epoch_is_not_cut() -> None:
    core = Core()
    led = core.image(leader_id=1, isr=(1,), damaged=(1,), first_bad_offset=4, latest_epoch=5)
    assert led == []
