"""Registration, sessions, fencing and who leads then."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tidelog.metadata.brokers import ExpireSessions
from tidelog.metadata.topic_rules import MIN_INSYNC_REPLICAS
from tidelog.v1 import common_pb2

if TYPE_CHECKING:
    from tests.metadata.conftest import World


def test_a_registration_starts_fenced_with_its_offset_as_broker_epoch(world: World) -> None:
    reply = world.register(1)
    assert reply.broker_epoch == world.image.offset == world.epoch(1)
    assert not world.image.is_alive(1)


def test_registering_the_same_incarnation_again_changes_nothing(world: World) -> None:
    first = world.register(1)
    world.beat(1)
    before = world.image
    assert world.register(1).broker_epoch == first.broker_epoch
    assert world.image is before


def test_another_clusters_broker_is_refused_by_name(world: World) -> None:
    reply = world.register(1, cluster_id="ebb")
    assert reply.error.code == common_pb2.INCONSISTENT_CLUSTER_ID
    assert "'ebb'" in reply.error.message
    assert "'tide'" in reply.error.message
    assert not world.image.brokers


def test_a_broker_is_unfenced_only_once_it_has_applied_its_registration(world: World) -> None:
    epoch = world.register(1).broker_epoch
    assert world.beat(1, offset=epoch - 1).is_fenced
    assert not world.beat(1, offset=epoch).is_fenced
    assert world.image.is_alive(1)


def test_a_heartbeat_of_an_earlier_incarnation_is_refused(world: World) -> None:
    old = world.register(1).broker_epoch
    world.register(1, incarnation=2)
    reply = world.beat(1, epoch=old)
    assert reply.error.code == common_pb2.STALE_BROKER_EPOCH
    assert not world.image.is_alive(1)


def test_a_heartbeat_without_registration_is_told_to_register(world: World) -> None:
    assert world.beat(9, epoch=1).error.code == common_pb2.BROKER_ID_NOT_REGISTERED


def test_a_second_incarnation_waits_until_the_session_of_the_first_has_passed(
    world: World,
) -> None:
    world.start(1)
    world.now_ms += world.config.session_timeout_ms - 1
    refused = world.register(1, incarnation=2)
    assert refused.error.code == common_pb2.DUPLICATE_BROKER_REGISTRATION
    world.now_ms += 1
    assert world.register(1, incarnation=2).broker_epoch == world.image.offset


def test_after_a_restart_of_the_whole_cluster_nobody_waits_for_presumed_sessions(
    world: World,
) -> None:
    world.start(1)
    world.activate()
    assert not world.register(1, incarnation=2).error.code


def test_a_restarted_leader_leaves_leadership_and_isr_to_the_others(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    leader = world.partition("t").leader_id
    assert leader is not None
    world.now_ms += world.config.session_timeout_ms
    world.register(leader, incarnation=2)
    after = world.partition("t")
    assert leader not in after.isr
    assert len(after.isr) == 2
    assert after.leader_id == next(r for r in after.replicas if r != leader)


def test_a_silent_broker_is_fenced_out_of_every_isr_in_one_batch(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t", partitions=6)
    before = world.image.offset
    world.pass_session_but(1, 3)
    assert world.image.offset == before + 2, "one batch"
    for _, partition in world.image.partitions():
        assert 2 not in partition.isr
        assert partition.leader_id in (1, 3)


def test_a_broker_heard_of_in_time_is_not_fenced(world: World) -> None:
    world.start(1)
    world.now_ms += world.config.session_timeout_ms - 1
    assert not world.controller.has_expired_sessions(world.image, world.now_ms)
    world.do(ExpireSessions())
    assert world.image.is_alive(1)


def test_only_a_change_of_leader_grows_the_leader_epoch(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t", partitions=3)
    before = {p.partition: p for _, p in world.image.partitions()}
    world.pass_session_but(1, 3)
    for _, now in world.image.partitions():
        was = before[now.partition]
        assert now.partition_epoch == was.partition_epoch + 1
        assert now.leader_epoch == was.leader_epoch + (was.leader_id == 2)


def test_the_last_isr_member_is_eligible_and_leads_when_it_is_back(world: World) -> None:
    world.start(1, 2)
    world.create("t", replication_factor=1)
    owner = world.partition("t").replicas[0]
    world.pass_session_but(3 - owner)
    alone = world.partition("t")
    assert (alone.isr, alone.elr, alone.leader_id) == ((), (owner,), None)
    assert (alone.leader_epoch, alone.last_known_leader_id) == (1, owner)
    world.register(owner, incarnation=2)
    assert world.partition("t").leader_id is None
    world.beat(owner)
    back = world.partition("t")
    assert (back.isr, back.leader_id, back.leader_epoch) == ((owner,), owner, 2)


def test_no_replica_outside_isr_and_elr_is_elected(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    leader = world.partition("t").leader_id
    assert leader is not None
    world.alter("t", [leader])
    others = [broker for broker in (1, 2, 3) if broker != leader]
    world.pass_session_but(*others)
    assert world.partition("t").leader_id is None
    assert world.partition("t").elr == (leader,)


def test_when_all_fall_silent_all_stay_eligible(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    for broker in (3, 1, 2):
        world.now_ms += 10
        world.beat(broker)
    world.now_ms += world.config.session_timeout_ms
    world.do(ExpireSessions())
    assert sorted(world.partition("t").elr) == [1, 2, 3]
    assert world.partition("t").leader_id is None
    world.beat(2)
    assert world.partition("t").leader_id == 2
    assert world.partition("t").isr == (2,)
    assert not world.partition("t").elr, "a leader with an ISR large enough commits without them"


def test_a_new_active_controller_gives_every_broker_a_full_session(world: World) -> None:
    world.start(1)
    world.now_ms += 10 * world.config.session_timeout_ms
    world.activate()
    world.now_ms += world.config.session_timeout_ms - 1
    assert not world.controller.has_expired_sessions(world.image, world.now_ms)
    world.now_ms += 1
    assert world.controller.has_expired_sessions(world.image, world.now_ms)


def test_a_broker_that_wants_to_shut_down_leads_nothing_when_it_may(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t", partitions=6)
    reply = world.beat(2, want_shut_down=True)
    assert reply.should_shut_down
    assert reply.is_fenced
    for _, partition in world.image.partitions():
        assert partition.leader_id in (1, 3)
        assert 2 not in partition.isr
    again = world.beat(2, want_shut_down=True)
    assert again.should_shut_down
    assert again.is_fenced, "it is not let in again while it shuts down"


def test_while_held_nobody_is_fenced_and_no_isr_changes(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    before = world.image
    world.controller.hold(world.now_ms + 30_000)
    assert world.beat(2, want_shut_down=True).should_shut_down
    world.now_ms += 29_999
    assert not world.controller.has_expired_sessions(world.image, world.now_ms)
    world.do(ExpireSessions())
    refused = world.alter("t", [world.partition("t").leader_id or 0])
    assert refused.error.code == common_pb2.BROKER_NOT_AVAILABLE
    assert world.image is before
    assert not world.register(4).error.code, "registrations go on"
    world.now_ms += 1
    world.do(ExpireSessions())
    assert not world.image.live_brokers()


def test_a_released_hold_ends_at_once(world: World) -> None:
    world.start(1)
    world.controller.hold(world.now_ms + 30_000)
    world.now_ms += world.config.session_timeout_ms
    world.controller.release()
    assert world.controller.has_expired_sessions(world.image, world.now_ms)


def test_the_first_broker_brings_the_clusters_first_configs_and_no_later_one(world: World) -> None:
    world.start_controller(replace(world.config, initial_min_insync_replicas=2))
    world.start(1)
    assert world.image.cluster_configs == {MIN_INSYNC_REPLICAS: "2"}
    world.configure("", MIN_INSYNC_REPLICAS, "1")
    world.start(2)
    assert world.image.cluster_configs == {MIN_INSYNC_REPLICAS: "1"}


def test_without_one_configured_there_is_no_first_config(world: World) -> None:
    world.start(1)
    assert not world.image.cluster_configs
