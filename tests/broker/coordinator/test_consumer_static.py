"""Static members of the consumer protocol (KIP-345): away for a while, back under another id."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.broker.coordinator.consumer_groups import (
    ORDERS,
    SESSION_MS,
    Coordinator,
    joining,
    orders,
    pushed,
    refusal,
    staying,
)

from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat
from tidelog.broker.coordinator.consumer_member import AWAY, NOTHING

ALL = orders(0, 1, 2, 3)


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


def test_a_static_member_comes_back_under_another_id_to_its_partitions(
    coordinator: Coordinator,
) -> None:
    coordinator.ask(joining("a", "desk"))
    coordinator.assign(a=ALL)
    pushed(coordinator, "a")
    epoch = coordinator.group.state.epoch
    coordinator.ask(Heartbeat("a", AWAY, instance_id="desk"))
    coordinator.pass_ms(SESSION_MS - 1)
    assert coordinator.group.holder((ORDERS, 0)) == "a"
    reply = coordinator.ask(joining("z", "desk"))
    assert (reply.assignment, coordinator.group.state.epoch) == (ALL, epoch)
    assert reply.epoch == epoch
    assert set(coordinator.group.members) == {"z"}
    assert refusal(coordinator, Heartbeat("a", 2, instance_id="desk")) == "FENCED_INSTANCE_ID"


def test_one_that_comes_back_gets_its_new_target_and_has_nothing_to_let_go_of(
    coordinator: Coordinator,
) -> None:
    coordinator.ask(joining("a", "desk"))
    coordinator.assign(a=ALL)
    pushed(coordinator, "a")
    coordinator.ask(Heartbeat("a", AWAY, instance_id="desk"))
    coordinator.ask(joining("b"))
    coordinator.assign(a=orders(0, 1), b=orders(2, 3))
    epoch = coordinator.group.state.assignment_epoch
    for number, (member_id, raised) in enumerate((("z", 0), ("z", 1))):
        reply = coordinator.ask(joining(member_id, "desk", sequence=10 * (number + 1)))
        assert reply.epoch == epoch + raised  # its own epoch, where its id is the one of before
        assert reply.assignment == orders(0, 1)
        assert coordinator.group.members[member_id].revoking == NOTHING
        assert coordinator.group.holder((ORDERS, 3)) is None
        coordinator.ask(
            Heartbeat(member_id, AWAY, instance_id="desk", sequence=10 * (number + 1) + 1)
        )


def test_one_that_comes_back_while_an_assignment_is_made_gets_the_next_one(
    coordinator: Coordinator,
) -> None:
    coordinator.ask(joining("a", "desk"))
    coordinator.ask(Heartbeat("a", AWAY, instance_id="desk"))
    epoch = coordinator.group.state.epoch
    coordinator.ask(joining("z", "desk"))
    assert coordinator.group.state.epoch == epoch + 1


def test_a_static_member_that_stays_away_is_removed(coordinator: Coordinator) -> None:
    coordinator.ask(joining("a", "desk"))
    coordinator.ask(Heartbeat("a", AWAY, instance_id="desk"))
    coordinator.pass_ms(SESSION_MS)
    assert coordinator.group.members == {}


def test_one_that_goes_away_has_let_go_of_what_it_was_to_let_go_of(
    coordinator: Coordinator,
) -> None:
    coordinator.ask(joining("a", "desk"))
    coordinator.assign(a=ALL)
    pushed(coordinator, "a")
    coordinator.assign(a=orders(0))
    pushed(coordinator, "a")
    coordinator.ask(Heartbeat("a", AWAY, instance_id="desk"))
    holders = [coordinator.group.holder((ORDERS, number)) for number in (0, 1)]
    assert holders == ["a", None]


def test_one_that_is_away_lives_by_no_heartbeat_and_gets_no_step(coordinator: Coordinator) -> None:
    coordinator.ask(joining("a", "desk"))
    coordinator.assign(a=ALL)
    reply = pushed(coordinator, "a")
    coordinator.ask(Heartbeat("a", AWAY, instance_id="desk"))
    again = replace(staying(reply, 0), instance_id="desk")
    assert refusal(coordinator, again) == "FENCED_MEMBER_EPOCH"
    coordinator.assign()
    assert coordinator.push("a") is None


def test_an_instance_id_in_use_is_not_given_twice(coordinator: Coordinator) -> None:
    coordinator.ask(joining("a", "desk"))
    assert refusal(coordinator, joining("z", "desk")) == "UNRELEASED_INSTANCE_ID"
    assert coordinator.ask(joining("a", "desk")).assignment == NOTHING
