"""Each damage of a replica begins a leader epoch, in which the replica may truncate its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tidelog.v1 import common_pb2

if TYPE_CHECKING:
    from tests.metadata.conftest import World


@pytest.fixture
def follower(world: World) -> int:
    """A follower of a topic of three replicas, damaged once and known to be."""
    world.start(1, 2, 3)
    world.create("t")
    follower = world.partition("t").replicas[2]
    world.report_damage(follower, "t", served_epoch=world.partition("t").leader_epoch)
    assert world.partition("t").damaged == (follower,)
    return follower


def test_a_second_damage_begins_another_epoch_although_the_first_is_known(
    world: World, follower: int
) -> None:
    """The replica was healed and fetched since: its leader may be about to bring it back."""
    before = world.partition("t")
    reply = world.report_damage(follower, "t", served_epoch=before.leader_epoch)
    assert reply.partitions[0].error.code == common_pb2.NONE
    after = world.partition("t")
    assert after.leader_epoch == before.leader_epoch + 1
    assert after.partition_epoch == before.partition_epoch + 1, "an earlier proposal is refused"
    assert (after.leader_id, after.isr, after.damaged) == (
        before.leader_id,
        before.isr,
        before.damaged,
    )


def test_the_same_damage_told_again_changes_nothing(world: World, follower: int) -> None:
    before = world.partition("t")
    served = before.leader_epoch - 1
    reply = world.report_damage(follower, "t", served_epoch=served, partition_epoch=0)
    assert reply.partitions[0].error.code == common_pb2.NONE
    assert world.partition("t") == before


def test_a_damage_of_an_older_state_than_the_controllers_is_told_again_later(
    world: World, follower: int
) -> None:
    before = world.partition("t")
    reply = world.report_damage(
        follower,
        "t",
        served_epoch=before.leader_epoch,
        partition_epoch=before.partition_epoch - 1,
    )
    assert reply.partitions[0].error.code != common_pb2.NONE
    assert world.partition("t") == before
