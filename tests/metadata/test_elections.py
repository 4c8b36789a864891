"""Eligible leader replicas, lossy starts, and who leads when (KIP-966)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tidelog.metadata.election import find_unclean_elections
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import EVERYTHING, NOTHING, UNFLUSHED, StartLoss

if TYPE_CHECKING:
    from tests.metadata.conftest import World

MIN_2 = {"min.insync.replicas": "2"}


def in_order(world: World, topic: str = "t") -> tuple[int, int, int]:
    """The replicas, the leader first."""
    first, second, third = world.partition(topic).replicas
    assert world.partition(topic).leader_id == first
    return first, second, third


def three(world: World, **configs: str) -> tuple[int, int, int]:
    """A topic of three replicas, two of which must be in sync."""
    world.start(1, 2, 3)
    names = {name.replace("_", "."): value for name, value in configs.items()}
    world.create("t", configs={**MIN_2, **names})
    return in_order(world)


def sorted_as(world: World, *brokers: int) -> list[int]:
    return [one for one in world.partition("t").replicas if one in brokers]


def silence(world: World, *silent: int) -> None:
    world.pass_session_but(*(one for one in world.image.live_brokers() if one not in silent))


def come_back(
    world: World, broker: int, *, incarnation: int, start_loss: StartLoss = NOTHING
) -> None:
    world.now_ms += world.config.session_timeout_ms - 1
    for one in world.image.live_brokers():
        if one != broker:
            world.beat(one)
    world.now_ms += 1
    assert not world.register(broker, incarnation=incarnation, start_loss=start_loss).error.code
    world.beat(broker)


def test_nobody_is_eligible_while_the_isr_is_large_enough(world: World) -> None:
    a, b, c = three(world)
    silence(world, c)
    assert (world.partition("t").isr, world.partition("t").elr) == (
        tuple(sorted_as(world, a, b)),
        (),
    )


def test_who_leaves_an_isr_that_falls_below_the_minimum_is_eligible(world: World) -> None:
    a, b, c = three(world)
    silence(world, c)
    silence(world, b)
    assert (world.partition("t").isr, world.partition("t").elr) == ((a,), (b,))
    assert c not in world.partition("t").elr, "more was committed without it"


def test_a_leader_that_shrinks_its_isr_below_the_minimum_leaves_eligible_replicas(
    world: World,
) -> None:
    a, b, c = three(world)
    reply = world.alter("t", [a])
    assert list(reply.partitions[0].isr) == [a]
    assert list(reply.partitions[0].elr) == sorted_as(world, b, c)
    reply = world.alter("t", [a, b])
    assert list(reply.partitions[0].elr) == [], "it may commit without the third from now on"


def test_an_eligible_replica_leads_when_the_isr_is_gone(world: World) -> None:
    a, b, _c = three(world)
    world.alter("t", [a, b])
    world.alter("t", [a])
    silence(world, a)
    after = world.partition("t")
    assert (after.leader_id, after.isr, after.elr) == (b, (b,), (a,))


def test_the_isr_goes_before_the_elr(world: World) -> None:
    a, b, c = three(world)
    world.configure("t", "min.insync.replicas", "3")
    world.alter("t", [a, c])
    assert world.partition("t").elr == (b,)
    silence(world, a)
    assert world.partition("t").leader_id == c


def test_the_last_replica_standing_is_not_elected_after_a_lossy_crash(world: World) -> None:
    """F20: the others have all that is committed, it has not (KIP-966)."""
    a, b, c = three(world)
    silence(world, b, c)
    assert world.partition("t").elr == tuple(sorted_as(world, b, c))
    silence(world, a)
    come_back(world, a, incarnation=2, start_loss=UNFLUSHED)
    after = world.partition("t")
    assert after.leader_id is None
    assert a not in after.elr
    come_back(world, b, incarnation=2)
    after = world.partition("t")
    assert (after.leader_id, after.isr, after.elr) == (b, (b,), (c,))
    assert world.alter("t", [a, b]).error.code == common_pb2.NONE, "it comes back by catching up"


def test_a_start_that_lost_nothing_stays_eligible(world: World) -> None:
    a, b, c = three(world)
    silence(world, a, b, c)
    come_back(world, a, incarnation=2)
    after = world.partition("t")
    assert (after.leader_id, after.isr, set(after.elr)) == (a, (a,), {b, c})


@pytest.mark.parametrize(("loss", "is_eligible"), [(UNFLUSHED, True), (EVERYTHING, False)])
def test_where_every_record_is_flushed_a_power_cut_loses_none(
    world: World, loss: StartLoss, *, is_eligible: bool
) -> None:
    a, b, c = three(world, flush_messages="1")
    silence(world, a, b, c)
    world.register(a, incarnation=2, start_loss=loss)
    assert (a in world.partition("t").elr) is is_eligible


def test_when_all_lost_something_the_last_leader_leads_once_it_is_back(world: World) -> None:
    a, b, c = three(world)
    silence(world, b, c)
    silence(world, a)
    for broker in (b, c, a):
        before = world.image
        come_back(world, broker, incarnation=2, start_loss=UNFLUSHED)
        if broker != a:
            assert world.partition("t").leader_id is None
    after = world.partition("t")
    assert (after.leader_id, after.isr, after.elr, after.last_known_leader_id) == (
        a,
        (a,),
        (),
        None,
    )
    assert before.partition("t", 0).last_known_leader_id == a  # type: ignore[union-attr]  # it is


def test_an_election_that_may_lose_records_is_told_apart(world: World) -> None:
    a, b, c = three(world)
    silence(world, a, b, c)
    for broker in (b, c):
        come_back(world, broker, incarnation=2, start_loss=UNFLUSHED)
    world.register(a, incarnation=2, start_loss=UNFLUSHED)
    before = world.image
    decision = world.controller.handle(world.heartbeat(a), before, world.now_ms)
    (election,) = find_unclean_elections(before, decision.records)
    assert (election.leader_id, election.is_last_known_leader) == (a, True)


def test_a_clean_election_is_none_that_may_lose_records(world: World) -> None:
    a, b, c = three(world)
    silence(world, a, b, c)
    world.register(b, incarnation=2)
    before = world.image
    decision = world.controller.handle(world.heartbeat(b), before, world.now_ms)
    assert len(decision.records) == 2
    assert not list(find_unclean_elections(before, decision.records))


@pytest.mark.parametrize("is_allowed", [True, False])
def test_an_unclean_leader_is_elected_only_where_the_topic_allows_it(
    world: World, *, is_allowed: bool
) -> None:
    allowed = "true" if is_allowed else "false"
    a, b, c = three(world, unclean_leader_election_enable=allowed)
    world.alter("t", [a, b])
    world.alter("t", [a])
    silence(world, a, b)
    assert world.partition("t").leader_id == (c if is_allowed else None)


def test_after_an_unclean_election_nobody_else_is_eligible(world: World) -> None:
    a, b, c = three(world, unclean_leader_election_enable="true")
    world.alter("t", [a, b])
    world.alter("t", [a])
    silence(world, a, b)
    after = world.partition("t")
    assert (after.leader_id, after.isr, after.elr) == (c, (c,), ())


def test_allowing_unclean_elections_elects_at_once(world: World) -> None:
    a, b, c = three(world)
    world.alter("t", [a, b])
    world.alter("t", [a])
    silence(world, a, b)
    assert world.partition("t").leader_id is None
    world.configure("t", "unclean.leader.election.enable", "true")
    assert world.partition("t").leader_id == c


@pytest.mark.parametrize("resource", ["t", ""])
def test_a_smaller_minimum_ends_what_it_made_eligible(world: World, resource: str) -> None:
    """The leader may commit alone from this batch on."""
    world.start(1, 2, 3)
    world.configure("", "min.insync.replicas", "2")
    world.create("t")
    a, _b, _c = in_order(world)
    world.alter("t", [a])
    assert len(world.partition("t").elr) == 2
    world.configure(resource, "min.insync.replicas", "1")
    assert world.partition("t").elr == ()


def test_a_whole_cluster_that_restarts_forgets_nobody_who_was_in_sync(world: World) -> None:
    a, b, c = three(world)
    world.configure("t", "min.insync.replicas", "1")
    world.activate()
    world.register(a, incarnation=2)
    world.register(b, incarnation=2)
    world.register(c, incarnation=2, start_loss=UNFLUSHED)
    assert world.partition("t").leader_id is None, "who was presumed alive was not"
    world.beat(c)
    assert world.partition("t").leader_id is None
    world.beat(a)
    after = world.partition("t")
    assert (after.leader_id, after.isr) == (a, (a,))


def test_a_leader_that_a_new_controller_did_not_hear_of_yet_leads_again_when_it_does(
    world: World,
) -> None:
    a, b, c = three(world)
    world.activate()
    world.register(c, incarnation=2)
    assert world.partition("t").leader_id is None
    world.beat(b)
    after = world.partition("t")
    assert (after.leader_id, set(after.isr)) == (b, {a, b})


def test_a_fenced_brokers_heartbeat_elects_nobody_before_it_is_let_in(world: World) -> None:
    a, b, c = three(world)
    silence(world, a, b, c)
    world.register(a, incarnation=2)
    world.beat(a, offset=0)
    assert world.partition("t").leader_id is None
