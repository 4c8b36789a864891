"""Groups with real assignors: everything is dealt, stays where it is, and follows every change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.broker.coordinator.consumer_groups import (
    ORDERS,
    TIDES,
    Coordinator,
    joining,
    orders,
    refusal,
    staying,
)

from tidelog.broker.coordinator.assignors.catalogue import assignors_of
from tidelog.broker.coordinator.assignors.interface import Assignment, GroupSpec
from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat
from tidelog.broker.coordinator.consumer_member import AWAY, LEAVING, Partitions
from tidelog.broker.coordinator.target_assignments import (
    MEMBERS_PER_SLICE,
    TargetAssignment,
    spec_of,
)

ASSIGNORS = assignors_of(["uniform", "range"])
BOTH = frozenset({"orders", "tides"})


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator()


def assign(coordinator: Coordinator) -> None:
    """Make the assignment of the newest epoch, all slices."""
    target = TargetAssignment(coordinator.group, ASSIGNORS, coordinator.topics)
    finish(coordinator, target)


def described(coordinator: Coordinator) -> GroupSpec:
    """What an assignor is told of the group, all slices."""
    slices = spec_of(tuple(coordinator.group.members.values()), coordinator.topics)
    while True:
        try:
            next(slices)
        except StopIteration as done:
            spec: GroupSpec = done.value
            return spec


def finish(coordinator: Coordinator, target: TargetAssignment) -> None:
    """Make the rest of an assignment, all slices."""
    while not target.is_done:
        coordinator.append(target.next_slice())


def settle(coordinator: Coordinator) -> dict[str, Partitions]:
    """Let members do as they are asked until nobody is asked any more; what each owns then."""
    if coordinator.group.needs_assignment:
        assign(coordinator)
    while replies := [
        reply for name in list(coordinator.group.members) if (reply := coordinator.push(name))
    ]:
        for reply in replies:
            assert reply.assignment is not None
            coordinator.ask(replace(staying(reply), owned=reply.assignment))
    return {name: one.assigned for name, one in coordinator.group.members.items()}


def test_partitions_follow_members_as_they_come_and_go(coordinator: Coordinator) -> None:
    coordinator.ask(joining("a"))
    assert settle(coordinator) == {"a": orders(0, 1, 2, 3)}
    coordinator.ask(joining("b"))
    two = settle(coordinator)
    assert sorted(map(len, two.values())) == [2, 2]
    assert two["a"] | two["b"] == orders(0, 1, 2, 3)
    coordinator.ask(joining("c"))
    three = settle(coordinator)
    assert sorted(map(len, three.values())) == [1, 1, 2]
    assert three["a"] <= two["a"]
    assert three["b"] <= two["b"]
    coordinator.ask(Heartbeat("a", LEAVING))
    assert settle(coordinator).keys() == {"b", "c"}


def test_topics_that_grow_or_are_made_again_are_dealt_again(coordinator: Coordinator) -> None:
    coordinator.ask(joining("a"))
    settle(coordinator)
    coordinator.topics.counts[ORDERS] = 6
    coordinator.append(coordinator.group.begin("orders grew", 0, coordinator.topics))
    assert settle(coordinator) == {"a": orders(0, 1, 2, 3, 4, 5)}
    coordinator.topics.ids["orders"] = TIDES  # another incarnation
    coordinator.append(coordinator.group.begin("orders is new", 0, coordinator.topics))
    assert settle(coordinator) == {"a": frozenset({(TIDES, 0), (TIDES, 1)})}


def test_the_assignor_that_most_want_assigns(coordinator: Coordinator) -> None:
    for member_id in ("a", "b"):
        coordinator.ask(replace(joining(member_id), topics=BOTH, assignor="range"))
    owned = settle(coordinator)
    assert owned["a"] == orders(0, 1) | {(TIDES, 0)}
    assert coordinator.group.state.assignor == "range"


def test_a_wanted_assignor_that_the_configuration_lacks_now_is_replaced_by_the_default(
    coordinator: Coordinator,
) -> None:
    coordinator.ask(replace(joining("a"), assignor="range"))
    only_uniform = assignors_of(["uniform"])
    target = TargetAssignment(coordinator.group, only_uniform, coordinator.topics)
    finish(coordinator, target)
    assert coordinator.group.state.assignor == "uniform"


def test_one_that_is_away_keeps_its_part(coordinator: Coordinator) -> None:
    coordinator.ask(joining("a", "desk"))
    settle(coordinator)
    coordinator.ask(Heartbeat("a", AWAY, instance_id="desk"))
    coordinator.ask(joining("b"))
    assert len(settle(coordinator)["b"]) == 0  # who is away lets go of nothing
    assert len(coordinator.group.members["a"].target) == 2


def test_an_assignment_that_members_came_during_is_kept_and_followed_by_another(
    coordinator: Coordinator,
) -> None:
    coordinator.ask(joining("a"))
    target = TargetAssignment(coordinator.group, ASSIGNORS, coordinator.topics)
    coordinator.ask(joining("b"))
    finish(coordinator, target)
    assert coordinator.group.needs_assignment
    assert coordinator.group.members["a"].target == orders(0, 1, 2, 3)
    assert sorted(map(len, settle(coordinator).values())) == [2, 2]


def test_an_assignor_looks_at_what_exists(coordinator: Coordinator) -> None:
    coordinator.ask(replace(joining("a"), topics=BOTH | {"nosuch"}))
    spec = described(coordinator)
    assert spec.partition_counts == {ORDERS: 4, TIDES: 2}
    assert spec.members[0].topic_ids == {ORDERS, TIDES}
    assert refusal(coordinator, replace(joining("b"), assignor="nosuch")) == "UNSUPPORTED_ASSIGNOR"


def test_slices_come_one_by_one(coordinator: Coordinator) -> None:
    class Slow:
        name = "slow"

        def assign(self, group: GroupSpec) -> Iterator[Assignment | None]:
            yield None
            yield None
            yield {member.member_id: orders(0) for member in group.members}

    coordinator.ask(joining("a"))
    target = TargetAssignment(coordinator.group, {"slow": Slow()}, coordinator.topics)
    assert [target.next_slice(), target.next_slice(), target.next_slice()] == [[], [], []]
    assert coordinator.group.needs_assignment
    finish(coordinator, target)
    assert (coordinator.group.state.assignor, settle(coordinator)) == ("slow", {"a": orders(0)})


def test_members_of_a_large_group_get_their_targets_slice_by_slice() -> None:
    coordinator = Coordinator(size_max=2 * MEMBERS_PER_SLICE + 1)
    names = [f"m{number:03}" for number in range(2 * MEMBERS_PER_SLICE + 1)]
    for name in names:
        coordinator.ask(joining(name))
    coordinator.topics.counts[ORDERS] = len(names)
    target = TargetAssignment(coordinator.group, ASSIGNORS, coordinator.topics)
    sizes = []
    while not target.is_done:
        records = target.next_slice()
        sizes.append(len(records))
        assert coordinator.group.needs_assignment
        coordinator.append(records)
    assert [size for size in sizes if size] == [MEMBERS_PER_SLICE, MEMBERS_PER_SLICE, 2]
    assert [len(coordinator.group.members[name].target) for name in names] == [1] * len(names)
    assert not coordinator.group.needs_assignment
