"""Assignors by name, a user's class among them, whose wrong results are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import pytest
from tests.broker.coordinator.assignments import (
    assigned,
    group_of,
    member,
    slices,
    topic_id,
)

from tidelog.broker.coordinator.assignors.catalogue import assignors_of
from tidelog.broker.coordinator.assignors.interface import Assignment, GroupSpec
from tidelog.broker.coordinator.assignors.slices import SLICE_STEPS
from tidelog.broker.coordinator.assignors.uniform import UniformAssignor
from tidelog.broker.coordinator.assignors.validated import (
    InvalidAssignmentError,
    ValidatedAssignor,
)

A, B = topic_id("a"), topic_id("b")
GROUP = group_of({"a": 2, "b": 1}, member("x", ["a"]), member("y", ["a", "b"]))
RIGHT = {"x": {(A, 0)}, "y": {(A, 1), (B, 0)}}


class AllToFirst:
    """A plain function, that leaves other members out."""

    name = "all-to-first"

    def assign(self, group: GroupSpec) -> dict[str, set[tuple[bytes, int]]]:
        counts = group.partition_counts.items()
        partitions = {(topic, number) for topic, count in counts for number in range(count)}
        return {group.members[0].member_id: partitions}


class Scattered(UniformAssignor):
    """A generator."""

    name = "scattered"


class Greedy:
    def __init__(self, wanted: int) -> None: ...


class Nameless:
    def assign(self, group: GroupSpec) -> dict[str, set[tuple[bytes, int]]]:
        return {}


class Handless:
    name = "handless"


class Gives:
    """Gives a result, or whatever a function of the group makes."""

    name = "gives"

    def __init__(self, made: object) -> None:
        self._made = made

    def assign(self, group: GroupSpec) -> object:
        return self._made() if callable(self._made) else self._made


def checked(made: object) -> ValidatedAssignor:
    return ValidatedAssignor(Gives(made), "mine:Gives")  # type: ignore[arg-type]


def test_built_in_assignors_come_in_the_order_given() -> None:
    found = assignors_of(["range", "uniform", "roundrobin"])
    assert list(found) == ["range", "uniform", "roundrobin"]
    assert [assignor.name for assignor in found.values()] == list(found)


def test_a_users_class_is_found_by_its_module_and_named_as_it_says() -> None:
    found = assignors_of([f"{__name__}:AllToFirst", f"{__name__}:Scattered"])
    assert list(found) == ["all-to-first", "scattered"]
    group = group_of({"a": 2}, member("x", ["a"]), member("y", ["a"]))
    result = assigned(found["all-to-first"], group)
    assert result == {"x": {(A, 0), (A, 1)}, "y": frozenset()}
    assert assigned(found["scattered"], group) == assigned(UniformAssignor(), group)


def test_a_users_generator_is_read_in_its_slices() -> None:
    group = group_of({"a": 3 * SLICE_STEPS}, member("x", ["a"]))
    own = slices(UniformAssignor(), group)
    assert slices(assignors_of([f"{__name__}:Scattered"])["scattered"], group) > own
    checking = {"x": [(A, number) for number in range(3 * SLICE_STEPS)]}
    assert slices(checked(checking), group) - 1 >= 9


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("unifrom", "it is neither"),
        ("", "it is neither"),
        (":Class", "it is neither"),
        ("module:", "it is neither"),
        ("no.such.module:Class", "ModuleNotFoundError"),
        (f"{__name__}:Missing", "AttributeError"),
        (f"{__name__}:Greedy", "TypeError"),
        (f"{__name__}:Handless", "no method assign"),
        (f"{__name__}:Nameless", "no `name`"),
    ],
)
def test_a_name_that_cannot_be_resolved_is_refused(name: str, why: str) -> None:
    with pytest.raises(ValueError, match="known are uniform, range, roundrobin") as caught:
        assignors_of(["uniform", name])
    assert repr(name) in str(caught.value)
    assert why in str(caught.value)


def test_two_assignors_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two assignors are named 'range'"):
        assignors_of(["range", "range"])


def raising() -> object:
    raise KeyError("x")


def raising_late() -> Iterator[None]:
    yield None
    raise KeyError("x")


def test_a_user_changes_nothing_of_what_its_result_is_checked_against() -> None:
    class Clearing:
        name = "clearing"

        def assign(self, group: Any) -> Assignment:
            group.partition_counts.clear()
            return {}

    with pytest.raises(InvalidAssignmentError, match="raised AttributeError"):
        assigned(ValidatedAssignor(Clearing(), "mine:Clearing"), GROUP)
    assert GROUP.partition_counts


def yielding(*results: object) -> Callable[[], Iterator[object]]:
    return lambda: iter(results)


@pytest.mark.parametrize("made", [RIGHT, yielding(None, RIGHT), yielding(RIGHT, None)])
def test_a_right_result_is_taken(made: object) -> None:
    assert assigned(checked(made), GROUP) == RIGHT


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        ({"z": set(), **RIGHT}, "unknown member 'z'"),
        ({"x": {(A, 0), (B, 0)}, "y": {(A, 1)}}, "partition 0 of topic 'b' to 'x'"),
        ({"x": {(A, 0)}, "y": {(A, 1), (A, 2), (B, 0)}}, "partition 2 of topic 'a', which"),
        ({"x": {(A, 0)}, "y": {(A, 1), (A, -1), (B, 0)}}, "partition -1 of topic 'a', which"),
        ({"x": {(A, 0), (A, 1)}, "y": {(A, 1), (B, 0)}}, "to both 'x' and 'y'"),
        ({"x": {(A, 0)}, "y": {(A, 1)}}, "left out partition 0 of topic 'b'"),
        ({"x": 7}, "gave 'x' 7"),
        ({"x": {A}}, "gave 'x' b'"),
        ({"x": {("a", 0)}}, "gave 'x' ('a', 0)"),
        (None, "gave None"),
        ([RIGHT], "gave [{"),
        (raising, "raised KeyError('x')"),
        (raising_late, "raised KeyError('x')"),
        (yielding(None), "yielded no assignments"),
        (yielding(RIGHT, RIGHT), "yielded two assignments"),
        (lambda: repeat(RIGHT), "yielded two assignments"),
        ({"x": (one() for one in [raising]), "y": ()}, "raised KeyError('x')"),
    ],
)
def test_a_wrong_result_is_refused(made: object, wrong: str) -> None:
    with pytest.raises(InvalidAssignmentError) as caught:
        assigned(checked(made), GROUP)
    assert str(caught.value).startswith("assignor 'mine:Gives' ")
    assert wrong in str(caught.value)
    assert "; " in str(caught.value)


def test_a_topic_without_subscribers_may_be_left_out() -> None:
    group = group_of({"a": 1, "b": 1}, member("x", ["a"]))
    assert assigned(checked({"x": {(A, 0)}}), group) == {"x": {(A, 0)}}
