"""Members with connections: pushes that cross heartbeats, and connections that break."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.broker.coordinator.consumer_groups import (
    GRACE_MS,
    SESSION_MS,
    Coordinator,
    joining,
    orders,
    pushed,
    refusal,
    staying,
)


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


# Connections that break


def test_one_whose_connection_broke_has_its_grace_to_come_back(coordinator: Coordinator) -> None:
    coordinator.ask(joining())
    coordinator.heartbeats.disconnect("a", coordinator.now)
    coordinator.pass_ms(GRACE_MS - 1)
    assert "a" in coordinator.group.members
    coordinator.pass_ms(1)
    assert coordinator.group.members == {}
    assert "lost its connection" in coordinator.group.state.rebalances[-1].cause
    assert coordinator.group.state.rebalances[-1].time_ms == coordinator.now.wall_ms


def test_one_that_came_back_in_its_grace_stays(coordinator: Coordinator) -> None:
    reply = coordinator.ask(joining())
    coordinator.heartbeats.disconnect("a", coordinator.now)
    coordinator.pass_ms(GRACE_MS - 1)
    coordinator.ask(staying(reply))
    coordinator.pass_ms(GRACE_MS)
    assert "a" in coordinator.group.members


def test_a_static_member_has_its_session_though_its_connection_broke(
    coordinator: Coordinator,
) -> None:
    coordinator.ask(joining("a", "desk"))
    coordinator.heartbeats.disconnect("a", coordinator.now)
    coordinator.pass_ms(SESSION_MS - 1)
    assert "a" in coordinator.group.members
    coordinator.pass_ms(1)
    assert coordinator.group.members == {}


def test_a_connection_of_one_that_is_gone_breaks_without_consequence(
    coordinator: Coordinator,
) -> None:
    coordinator.heartbeats.disconnect("nobody", coordinator.now)
    coordinator.pass_ms(GRACE_MS)
    assert coordinator.log == []


def test_sessions_of_joins_that_were_not_appended_are_forgotten(coordinator: Coordinator) -> None:
    coordinator.heartbeats.decide(joining("b"), coordinator.now)
    coordinator.ask(joining("a"))
    coordinator.pass_ms(0)
    assert not coordinator.sessions.is_late("b", 0)
    assert coordinator.sessions.count == 1


# Pushes that cross heartbeats


def test_one_that_pushes_have_overtaken_is_not_fenced(coordinator: Coordinator) -> None:
    coordinator.ask(joining())
    known = coordinator.ask(replace(joining(), sequence=0))
    for number in range(1, 4):
        coordinator.append(coordinator.group.begin("test", 0, coordinator.topics))
        coordinator.assign(a=orders(*range(number)))
        pushed(coordinator, "a")
    member = coordinator.group.members["a"]
    assert member.epoch > known.epoch + 2
    behind = staying(known)
    reply = coordinator.ask(behind)
    assert (reply.epoch, reply.assignment) == (member.epoch, orders(0, 1, 2))
    # From the epoch on that it has shown to know, an older one is not its own.
    coordinator.ask(staying(reply, 0, 1, 2))
    coordinator.append(coordinator.group.begin("test", 0, coordinator.topics))
    coordinator.assign(a=orders(0, 1, 2, 3))
    pushed(coordinator, "a")
    assert refusal(coordinator, behind) == "FENCED_MEMBER_EPOCH"


def test_one_that_pushes_have_overtaken_is_not_fenced_by_the_next_coordinator(
    coordinator: Coordinator,
) -> None:
    coordinator.ask(joining())
    known = coordinator.ask(replace(joining(), sequence=0))
    for _ in range(3):
        coordinator.append(coordinator.group.begin("test", 0, coordinator.topics))
        coordinator.assign(a=orders(0))
        coordinator.push("a")
    coordinator.load()
    assert coordinator.ask(staying(known)).epoch == coordinator.group.members["a"].epoch
