"""Which ISR changes a leader may make, one refusal at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import AlterPartitionRequest, AlterPartitionResponse

if TYPE_CHECKING:
    from tests.metadata.conftest import World


@pytest.fixture
def led(world: World) -> World:
    """Topic t on brokers 1, 2 and 3."""
    world.start(1, 2, 3)
    assert not world.create("t").error.code
    return world


def _leader_and_others(world: World) -> tuple[int, list[int]]:
    leader = world.partition("t").leader_id
    assert leader is not None
    return leader, [broker for broker in (1, 2, 3) if broker != leader]


def test_the_leader_shrinks_and_expands_its_isr(led: World) -> None:
    leader, (other, third) = _leader_and_others(led)
    shrunk = led.alter("t", [leader, other]).partitions[0]
    assert not shrunk.error.code
    assert set(led.partition("t").isr) == set(shrunk.isr) == {leader, other}
    assert led.partition("t").partition_epoch == shrunk.partition_epoch == 1
    assert shrunk.leader_id == leader
    assert led.alter("t", [leader, other, third]).partitions[0].partition_epoch == 2
    assert led.partition("t").isr == led.partition("t").replicas
    assert led.partition("t").leader_epoch == 0


def test_an_isr_that_is_already_so_changes_nothing(led: World) -> None:
    before = led.image
    reply = led.alter("t", [3, 1, 2]).partitions[0]
    assert not reply.error.code
    assert reply.partition_epoch == 0
    assert led.image is before


@pytest.mark.parametrize("off_by", [-1, 1])
def test_another_partition_epoch_is_refused_with_the_current_state(led: World, off_by: int) -> None:
    leader, (other, _) = _leader_and_others(led)
    led.alter("t", [leader, other])
    before = led.image
    reply = led.alter("t", [leader], partition_epoch=1 + off_by).partitions[0]
    assert reply.error.code == common_pb2.INVALID_UPDATE_VERSION
    assert reply.partition_epoch == 1
    assert set(reply.isr) == {leader, other}
    assert led.image is before


@pytest.mark.parametrize(
    ("off_by", "code"),
    [(-1, common_pb2.FENCED_LEADER_EPOCH), (1, common_pb2.UNKNOWN_LEADER_EPOCH)],
)
def test_another_leader_epoch_is_refused(
    led: World, off_by: int, code: common_pb2.ErrorCode
) -> None:
    leader, _ = _leader_and_others(led)
    before = led.image
    reply = led.alter("t", [leader], leader_epoch=off_by).partitions[0]
    assert reply.error.code == code
    assert led.image is before


def test_only_the_leader_may_ask(led: World) -> None:
    leader, (other, _) = _leader_and_others(led)
    before = led.image
    reply = led.alter("t", [leader, other], sender=other).partitions[0]
    assert reply.error.code == common_pb2.NOT_LEADER_OR_FOLLOWER
    assert led.image is before


def test_a_sender_of_an_earlier_broker_epoch_is_refused_as_a_whole(led: World) -> None:
    leader, _ = _leader_and_others(led)
    before = led.image
    reply = led.alter("t", [leader], sender_epoch=led.epoch(leader) - 1)
    assert reply.error.code == common_pb2.STALE_BROKER_EPOCH
    assert not reply.partitions
    assert led.image is before


def test_a_fenced_broker_cannot_join(led: World) -> None:
    leader, (other, third) = _leader_and_others(led)
    led.pass_session_but(leader, third)
    before = led.image
    reply = led.alter("t", [1, 2, 3]).partitions[0]
    assert reply.error.code == common_pb2.INELIGIBLE_REPLICA
    assert f"broker {other} " in reply.error.message
    assert led.image is before


def test_a_member_seen_in_an_earlier_incarnation_cannot_join(led: World) -> None:
    """KIP-903: the follower restarted after the leader saw it catch up."""
    leader, (other, third) = _leader_and_others(led)
    seen = led.epoch(other)
    led.pass_session_but(leader, third)
    led.register(other, incarnation=2)
    led.beat(other)
    before = led.image
    reply = led.alter("t", [1, 2, 3], member_epochs={other: seen}).partitions[0]
    assert reply.error.code == common_pb2.INELIGIBLE_REPLICA
    assert led.image is before
    assert not led.alter("t", [1, 2, 3]).partitions[0].error.code


def test_an_isr_must_hold_the_leader_and_replicas_only_each_once(led: World) -> None:
    led.start(4)
    leader, (other, third) = _leader_and_others(led)
    before = led.image
    for isr in ([], [other, third], [leader, 4], [leader, other, other]):
        reply = led.alter("t", isr).partitions[0]
        assert reply.error.code == common_pb2.INVALID_REQUEST, isr
    assert led.image is before


def test_a_deleted_topic_or_missing_partition_has_its_own_answer(led: World) -> None:
    leader, _ = _leader_and_others(led)
    topic_id = led.image.topics["t"].topic_id
    asked = [
        AlterPartitionRequest.Partition(topic="t", topic_id=b"x" * 16, partition=0),
        AlterPartitionRequest.Partition(topic="t", topic_id=topic_id, partition=7),
    ]
    reply = led.do(
        AlterPartitionRequest(broker_id=leader, broker_epoch=led.epoch(leader), partitions=asked)
    )
    assert isinstance(reply, AlterPartitionResponse)
    assert [one.error.code for one in reply.partitions] == [
        common_pb2.UNKNOWN_TOPIC_ID,
        common_pb2.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_a_partition_named_twice_in_one_request_changes_once(led: World) -> None:
    leader, (other, _) = _leader_and_others(led)
    asked = AlterPartitionRequest.Partition(
        topic="t",
        topic_id=led.image.topics["t"].topic_id,
        partition=0,
        new_isr=[
            AlterPartitionRequest.Member(broker_id=id_, broker_epoch=led.epoch(id_))
            for id_ in (leader, other)
        ],
    )
    reply = led.do(
        AlterPartitionRequest(
            broker_id=leader, broker_epoch=led.epoch(leader), partitions=[asked, asked]
        )
    )
    assert isinstance(reply, AlterPartitionResponse)
    assert [one.error.code for one in reply.partitions] == [0, common_pb2.INVALID_REQUEST]
    assert led.partition("t").partition_epoch == 1
