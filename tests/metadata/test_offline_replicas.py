"""Replicas whose disk failed: they lead nothing, join no ISR, and keep the last position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tidelog.metadata.election import candidates
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import NOTHING, ReportReplicaStateRequest

if TYPE_CHECKING:
    from tests.metadata.conftest import World

OFFLINE, ONLINE = ReportReplicaStateRequest.OFFLINE, ReportReplicaStateRequest.ONLINE
SYNC_FAILED = ReportReplicaStateRequest.SYNC_FAILED
LOSSY_START = ReportReplicaStateRequest.LOSSY_START


@pytest.fixture
def replicas(world: World) -> list[int]:
    """Of a topic whose acks=all need two, the leader first."""
    world.start(1, 2, 3)
    world.create("t", configs={"min.insync.replicas": "2"})
    return list(world.partition("t").replicas)


def test_the_leader_whose_disk_failed_hands_over_at_once(world: World, replicas: list[int]) -> None:
    first, second, third = replicas
    epoch = world.partition("t").leader_epoch
    reply = world.report_damage(first, "t", condition=OFFLINE, cause="EIO")
    assert reply.partitions[0].error.code == common_pb2.NONE
    after = world.partition("t")
    assert (after.leader_id, after.leader_epoch) == (second, epoch + 1)
    assert (after.isr, after.elr, after.offline) == ((second, third), (), (first,))


def test_told_again_nothing_changes(world: World, replicas: list[int]) -> None:
    world.report_damage(replicas[0], "t", condition=OFFLINE)
    before = world.partition("t")
    reply = world.report_damage(replicas[0], "t", condition=OFFLINE, partition_epoch=0)
    assert reply.partitions[0].error.code == common_pb2.NONE
    assert world.partition("t") == before


def test_one_that_failed_joins_no_isr(world: World, replicas: list[int]) -> None:
    first, second, third = replicas
    world.report_damage(first, "t", condition=OFFLINE)
    reply = world.alter("t", replicas)
    assert reply.partitions[0].error.code == common_pb2.INELIGIBLE_REPLICA
    assert world.partition("t").isr == (second, third)


def test_it_is_not_preferred_and_no_unclean_election_finds_it(
    world: World, replicas: list[int]
) -> None:
    first, second, third = replicas
    world.configure("t", "unclean.leader.election.enable", "true")
    world.report_damage(first, "t", condition=OFFLINE)
    assert world.elect("t")["t", 0].error.code == common_pb2.PREFERRED_LEADER_NOT_AVAILABLE
    world.report_damage(second, "t", condition=OFFLINE)
    world.report_damage(third, "t", condition=OFFLINE)
    after = world.partition("t")
    assert (after.leader_id, after.isr, after.elr) == (None, (), (second, third))
    assert candidates(world.image) == frozenset()


def test_the_last_that_holds_everything_keeps_its_position_and_leads_when_it_is_back(
    world: World, replicas: list[int]
) -> None:
    first, *others = replicas
    for one in (*others, first):
        world.report_damage(one, "t", condition=SYNC_FAILED)
    after = world.partition("t")
    assert (after.leader_id, after.isr, after.elr) == (None, (), (first,))
    world.beat(first)
    assert world.partition("t").leader_id is None, "alive, but its disk is not"
    world.pass_session_but()
    world.register(first, incarnation=2, start_loss=NOTHING)
    assert first not in world.partition("t").offline
    world.beat(first)
    assert world.partition("t").leader_id == first


def test_after_a_failed_sync_it_leaves_the_elr_while_another_sound_one_holds_everything(
    world: World, replicas: list[int]
) -> None:
    first, second, third = replicas
    world.alter("t", [first])
    assert world.partition("t").elr == tuple(sorted((second, third), key=replicas.index))
    world.report_damage(second, "t", condition=SYNC_FAILED)
    after = world.partition("t")
    assert (after.leader_id, after.elr, after.offline) == (first, (third,), (second,))


def test_one_whose_disk_refuses_stays_eligible_until_a_sync_fails_too(
    world: World, replicas: list[int]
) -> None:
    first, second, _third = replicas
    world.alter("t", [first, second])
    world.report_damage(second, "t", condition=OFFLINE)
    after = world.partition("t")
    assert (after.isr, after.elr, after.offline) == ((first,), (second,), (second,))
    world.report_damage(second, "t", condition=OFFLINE)
    assert world.partition("t") == after, "told again"
    world.report_damage(second, "t", condition=SYNC_FAILED)
    after = world.partition("t")
    assert (after.isr, after.elr, after.offline) == ((first,), (), (second,))


def test_one_that_works_again_leads_when_the_only_other_one_is_damaged(
    world: World, replicas: list[int]
) -> None:
    first, second, _third = replicas
    world.alter("t", [first, second])
    world.report_damage(second, "t", condition=OFFLINE)
    world.report_damage(first, "t")
    assert (world.partition("t").leader_id, world.partition("t").elr) == (None, (second,))
    world.report_damage(second, "t", condition=ONLINE)
    assert world.partition("t").leader_id == second


def test_a_start_that_may_have_lost_flushed_records_ends_eligibility(
    world: World, replicas: list[int]
) -> None:
    first, second, third = replicas
    world.alter("t", [first])
    assert second in world.partition("t").elr
    world.report_damage(second, "t", condition=LOSSY_START)
    after = world.partition("t")
    assert (after.leader_id, after.isr, after.elr, after.damaged) == (first, (first,), (third,), ())
    world.report_damage(second, "t", condition=LOSSY_START)
    assert world.partition("t") == after, "told again"


def test_where_all_may_have_lost_flushed_records_the_last_known_leader_leads(
    world: World, replicas: list[int]
) -> None:
    first, *others = replicas
    world.pass_session_but()
    for one in replicas:
        world.register(one, incarnation=2, start_loss=NOTHING)
        world.report_damage(one, "t", condition=LOSSY_START)
    assert (world.partition("t").isr, world.partition("t").elr) == ((), ())
    for one in others:
        world.beat(one)
    assert world.partition("t").leader_id is None
    world.beat(first)
    assert world.partition("t").leader_id == first


def test_a_follower_that_fails_does_not_move_the_leader(world: World, replicas: list[int]) -> None:
    before = world.partition("t")
    world.report_damage(replicas[2], "t", condition=OFFLINE)
    after = world.partition("t")
    assert after.leader_id == before.leader_id
    assert after.leader_epoch == before.leader_epoch + 1, "no earlier fetch takes it back"
    assert after.isr == tuple(replicas[:2])


def test_fencing_does_not_mend_a_disk(world: World, replicas: list[int]) -> None:
    first, second, third = replicas
    world.report_damage(first, "t", condition=OFFLINE)
    world.pass_session_but(second, third)
    assert world.partition("t").offline == (first,)


def test_one_that_works_again_leads_as_the_last_and_catches_up_elsewhere(
    world: World, replicas: list[int]
) -> None:
    first, second, third = replicas
    world.report_damage(first, "t", condition=OFFLINE)
    world.report_damage(first, "t", condition=ONLINE)
    after = world.partition("t")
    assert (after.leader_id, after.isr, after.offline) == (second, (second, third), ())
    assert not world.alter("t", replicas).partitions[0].error.code
    for one in (third, second, first):
        world.report_damage(one, "t", condition=OFFLINE)
    world.report_damage(first, "t", condition=ONLINE)
    assert world.partition("t").leader_id == first


@pytest.mark.parametrize("condition", [OFFLINE, ONLINE])
def test_an_old_report_changes_nothing(
    world: World, replicas: list[int], condition: ReportReplicaStateRequest.Condition
) -> None:
    if condition == ONLINE:
        world.report_damage(replicas[0], "t", condition=OFFLINE)
    before = world.partition("t")
    reply = world.report_damage(
        replicas[0], "t", condition=condition, partition_epoch=before.partition_epoch - 1
    )
    assert reply.partitions[0].error.code == common_pb2.INVALID_UPDATE_VERSION
    assert world.partition("t") == before
