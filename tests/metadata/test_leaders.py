"""Elections on order and by the regular check (KIP-460), and reports of damage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.metadata.decision_contexts import decision_context

from tidelog.metadata import leaders
from tidelog.metadata.leaders import RebalanceLeaders, has_imbalance
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import UNCLEAN

if TYPE_CHECKING:
    from tests.metadata.conftest import World


def moved(world: World) -> tuple[int, int]:
    """A topic whose preferred replica was away and is in sync again: preferred, leader."""
    world.start(1, 2, 3)
    world.create("t")
    preferred = world.partition("t").replicas[0]
    world.beat(preferred, want_shut_down=True)
    world.now_ms += world.config.session_timeout_ms
    for broker in {1, 2, 3} - {preferred}:
        world.beat(broker)
    world.register(preferred, incarnation=2)
    world.beat(preferred)
    leader = world.partition("t").leader_id
    assert leader not in (None, preferred)
    return preferred, leader or 0


def test_a_preferred_leader_that_is_not_in_sync_does_not_lead(world: World) -> None:
    _preferred, leader = moved(world)
    assert not has_imbalance(world.image)
    world.do(RebalanceLeaders())
    (result,) = world.elect("t").values()
    assert result.error.code == common_pb2.PREFERRED_LEADER_NOT_AVAILABLE
    assert world.partition("t").leader_id == leader


def test_a_preferred_leader_in_sync_leads_when_it_is_asked_for(world: World) -> None:
    preferred, leader = moved(world)
    world.alter("t", [1, 2, 3])
    before = world.partition("t")
    (result,) = world.elect().values()
    assert (result.error.code, result.leader_id) == (common_pb2.NONE, preferred)
    after = world.partition("t")
    assert (after.leader_id, after.leader_epoch) == (preferred, before.leader_epoch + 1)
    assert leader in after.isr
    assert not world.elect(), "of all, those that needed one are told"
    (again,) = world.elect("t").values()
    assert again.error.code == common_pb2.ELECTION_NOT_NEEDED


def test_the_regular_check_gives_leaderships_back(world: World) -> None:
    preferred, _ = moved(world)
    world.alter("t", [1, 2, 3])
    assert has_imbalance(world.image)
    world.do(RebalanceLeaders())
    assert world.partition("t").leader_id == preferred
    assert not has_imbalance(world.image)


def test_many_leaderships_are_given_back_a_few_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaders, "_MOVES_AT_ONCE_MAX", 2)
    moved(world)
    away = world.partition("t").replicas[0]
    names = ["t"]
    while len(names) < 5:
        world.create(name := f"t-{len(world.image.topics)}")
        if world.partition(name).replicas[0] == away:
            names.append(name)
    world.beat(away, want_shut_down=True)
    world.now_ms += world.config.session_timeout_ms
    for broker in {1, 2, 3} - {away}:
        world.beat(broker)
    world.register(away, incarnation=3)
    world.beat(away)
    for name in names:
        world.alter(name, [1, 2, 3])
    rounds = 0
    while has_imbalance(world.image):
        decided = leaders.rebalance_leaders(RebalanceLeaders(), world.image, decision_context())
        assert len(decided.records) <= 2
        world.do(RebalanceLeaders())
        rounds += 1
    assert rounds == 3, "five leaderships, two at a time"
    assert {world.partition(name).leader_id for name in names} == {away}


def test_while_held_no_leadership_moves(world: World) -> None:
    _, leader = moved(world)
    world.alter("t", [1, 2, 3])
    world.controller.hold(world.now_ms + 1_000)
    world.do(RebalanceLeaders())
    assert world.partition("t").leader_id == leader


def test_an_unclean_election_is_ordered_for_partitions_that_nobody_leads(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    world.create("led")
    first, *others = world.partition("t").replicas
    world.alter("t", [first])
    (needless,) = world.elect("t", kind=UNCLEAN).values()
    assert needless.error.code == common_pb2.ELECTION_NOT_NEEDED
    world.pass_session_but(*others)
    assert world.partition("t").leader_id is None
    results = world.elect(kind=UNCLEAN)
    assert list(results) == [("t", 0)]
    assert results["t", 0].leader_id in others
    assert world.partition("t").isr == (results["t", 0].leader_id,)


def test_an_order_for_what_does_not_exist_is_refused_by_name(world: World) -> None:
    (result,) = world.elect("nothing").values()
    assert result.error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION
    assert "'nothing'" in result.error.message


def test_with_nobody_alive_an_unclean_election_finds_nobody(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    world.pass_session_but()
    (result,) = world.elect("t", kind=UNCLEAN).values()
    assert result.error.code == common_pb2.ELIGIBLE_LEADERS_NOT_AVAILABLE


def test_a_damaged_leader_hands_over_and_leaves_the_isr_in_one_batch(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    first, second, third = world.partition("t").replicas
    before = world.image.offset
    assert not world.report_damage(first, "t").partitions[0].error.code
    assert world.image.offset == before + 2, "one batch"
    after = world.partition("t")
    assert (after.leader_id, after.isr, after.elr) == (second, (second, third), ())
    assert after.damaged == (first,)


def test_a_report_that_is_known_changes_nothing(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    first = world.partition("t").replicas[0]
    old = world.partition("t").partition_epoch
    world.report_damage(first, "t")
    before = world.image
    assert not world.report_damage(first, "t", partition_epoch=old).partitions[0].error.code
    assert world.image is before


def test_a_late_report_of_damage_that_was_healed_is_refused(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    first = world.partition("t").replicas[0]
    old = world.partition("t").partition_epoch
    world.report_damage(first, "t")
    world.alter("t", [1, 2, 3])
    assert world.partition("t").damaged == (), "who joins the ISR is whole"
    before = world.image
    refused = world.report_damage(first, "t", partition_epoch=old)
    assert refused.partitions[0].error.code == common_pb2.INVALID_UPDATE_VERSION
    assert world.image is before


def test_damage_begins_a_leader_epoch_so_that_earlier_fetches_count_for_nothing(
    world: World,
) -> None:
    world.start(1, 2, 3)
    world.create("t")
    before = world.partition("t")
    leader, _, last = before.replicas
    world.report_damage(last, "t")
    after = world.partition("t")
    assert after.leader_id == leader
    assert after.leader_epoch == before.leader_epoch + 1


def test_a_damaged_eligible_replica_is_eligible_no_more(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t", configs={"min.insync.replicas": "2"})
    first, second, third = world.partition("t").replicas
    world.alter("t", [first])
    assert set(world.partition("t").elr) == {second, third}
    world.report_damage(second, "t")
    assert world.partition("t").elr == (third,)
    world.pass_session_but(second, third)
    assert world.partition("t").leader_id == third


def test_the_last_complete_replica_that_is_damaged_is_not_elected_by_itself(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t", replication_factor=1)
    (owner,) = world.partition("t").replicas
    world.report_damage(owner, "t")
    alone = world.partition("t")
    assert (alone.leader_id, alone.isr, alone.elr) == (None, (), ())
    assert (alone.last_known_leader_id, alone.damaged) == (owner, (owner,))
    for _ in range(3):
        world.beat(owner)
    assert world.partition("t").leader_id is None
    world.elect("t", kind=UNCLEAN)
    after = world.partition("t")
    assert (after.leader_id, after.isr, after.damaged) == (owner, (owner,), (owner,))
    assert after.unhealed == (), "it truncates its log before it leads"


def test_a_damaged_replica_is_the_last_that_an_unclean_election_takes(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t", configs={"unclean.leader.election.enable": "true"})
    first, second, third = world.partition("t").replicas
    world.alter("t", [first])
    world.report_damage(first, "t")
    assert world.partition("t").leader_id == second
    world.report_damage(second, "t")
    assert world.partition("t").leader_id == third
    world.report_damage(third, "t")
    assert world.partition("t").leader_id == first


def test_an_earlier_incarnation_reports_nothing(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    before = world.image
    world.register(4)
    refused = world.report_damage(4, "t")
    assert refused.partitions[0].error.code == common_pb2.INVALID_REQUEST
    assert world.image.topics == before.topics
