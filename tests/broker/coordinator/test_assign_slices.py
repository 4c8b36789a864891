"""Assignors yield in between: an event loop turns to others however large the group is."""

from __future__ import annotations

import pytest
from tests.broker.coordinator.assignments import (
    assert_complete,
    assigned,
    group_of,
    member,
    slices,
    with_owned,
)

from tidelog.broker.coordinator.assignors.catalogue import BUILT_IN
from tidelog.broker.coordinator.assignors.interface import GroupSpec
from tidelog.broker.coordinator.assignors.slices import SLICE_STEPS, Steps


def group_with(*, members: int, topics: int, partitions: int, has_one_owner: bool) -> GroupSpec:
    counts = {f"t{number}": partitions for number in range(topics)}
    owned = [(topic, number) for topic in counts for number in range(partitions)]
    return group_of(
        counts,
        *(
            member(f"m{number}", list(counts), owned if has_one_owner and not number else ())
            for number in range(members)
        ),
    )


@pytest.mark.parametrize("has_one_owner", [False, True])
@pytest.mark.parametrize("name", BUILT_IN)
def test_slices_grow_with_the_number_of_partitions(name: str, *, has_one_owner: bool) -> None:
    for partitions in (SLICE_STEPS, 4 * SLICE_STEPS):
        group = group_with(members=3, topics=1, partitions=partitions, has_one_owner=has_one_owner)
        assert slices(BUILT_IN[name](), group) - 1 >= partitions // SLICE_STEPS


@pytest.mark.parametrize("name", BUILT_IN)
def test_slices_grow_with_the_number_of_topics(name: str) -> None:
    group = group_with(members=2, topics=3 * SLICE_STEPS, partitions=1, has_one_owner=False)
    assert slices(BUILT_IN[name](), group) - 1 >= 6


@pytest.mark.parametrize("name", BUILT_IN)
def test_slices_grow_with_the_number_of_members(name: str) -> None:
    group = group_with(members=3 * SLICE_STEPS, topics=1, partitions=1, has_one_owner=False)
    assert slices(BUILT_IN[name](), group) - 1 >= 3


def test_slices_grow_with_the_chains_that_even_out_loads() -> None:
    uniform = BUILT_IN["uniform"]()
    group = group_with(members=2, topics=1, partitions=SLICE_STEPS, has_one_owner=True)
    settled = with_owned(group, assigned(uniform, group))
    assert slices(uniform, group) >= slices(uniform, settled) + 5


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_small_group_is_one_slice(name: str) -> None:
    group = group_with(members=3, topics=2, partitions=5, has_one_owner=True)
    assert slices(BUILT_IN[name](), group) == 1


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_large_group_is_complete(name: str) -> None:
    group = group_with(members=100, topics=10, partitions=100, has_one_owner=True)
    assert_complete(group, assigned(BUILT_IN[name](), group))


def test_a_slice_is_full_after_so_many_steps() -> None:
    steps = Steps()
    assert [steps.fill_slice() for _ in range(SLICE_STEPS)] == [False] * (SLICE_STEPS - 1) + [True]
    assert not steps.fill_slice(SLICE_STEPS - 1)
    assert steps.fill_slice()
