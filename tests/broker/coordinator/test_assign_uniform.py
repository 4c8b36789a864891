"""`uniform` is as even as brute force, and moves as little; results do not hang on any order."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.coordinator.assignments import (
    assert_complete,
    assignable,
    assigned,
    by_name,
    group_of,
    groups,
    kept,
    member,
    with_owned,
)

from tidelog.broker.coordinator.assignors.interface import (
    Assignment,
    GroupSpec,
    MemberSubscription,
    TopicPartitionId,
)
from tidelog.broker.coordinator.assignors.uniform import UniformAssignor

UNIFORM = UniformAssignor()
SMALL = groups(members_max=3, topics_max=3, partitions_max=2)


def squares(result: Assignment) -> int:
    return sum(len(partitions) ** 2 for partitions in result.values())


def existing_owned(group: GroupSpec, owner: MemberSubscription) -> frozenset[TopicPartitionId]:
    return frozenset(
        (topic, partition)
        for topic, partition in owner.owned
        if topic in owner.topic_ids and partition < group.partition_counts[topic]
    )


def kept_at_most(group: GroupSpec) -> int:
    """For equal subscriptions: those with the most get the longer shares."""
    share, longer = divmod(len(assignable(group)), len(group.members))
    owned = sorted((len(existing_owned(group, m)) for m in group.members), reverse=True)
    return sum(min(count, share + (place < longer)) for place, count in enumerate(owned))


def least_squares(group: GroupSpec) -> int:
    """By brute force, over each way to assign."""
    partitions = assignable(group)
    takers = [
        [m.member_id for m in group.members if topic in m.topic_ids] for topic, _ in partitions
    ]
    return min(
        sum(choice.count(taker) ** 2 for taker in set(choice)) for choice in product(*takers)
    )


def reachable(group: GroupSpec, result: Assignment, start: str) -> set[str]:
    """Members that chains of moves from `start` lead to."""
    found, new = {start}, [start]
    while new:
        topics = {topic for topic, _ in result[new.pop()]}
        entered = {m.member_id for m in group.members if topics & m.topic_ids} - found
        found |= entered
        new.extend(entered)
    return found


@given(groups())
def test_each_partition_has_one_subscribed_member(group: GroupSpec) -> None:
    assert_complete(group, assigned(UNIFORM, group))


@given(groups(has_equal_subscriptions=True))
def test_equal_subscriptions_get_loads_that_differ_by_one_at_most(group: GroupSpec) -> None:
    loads = [len(partitions) for partitions in assigned(UNIFORM, group).values()]
    assert max(loads) - min(loads) <= 1


@given(groups(has_equal_subscriptions=True))
@settings(max_examples=300)
def test_equal_subscriptions_move_no_more_than_balance_needs(group: GroupSpec) -> None:
    assert kept(group, assigned(UNIFORM, group)) == kept_at_most(group)


@given(SMALL)
def test_loads_are_as_even_as_brute_force_finds_them(group: GroupSpec) -> None:
    assert squares(assigned(UNIFORM, group)) == least_squares(group)


@given(groups())
@settings(max_examples=300)
def test_no_chain_of_moves_makes_loads_more_even(group: GroupSpec) -> None:
    result = assigned(UNIFORM, group)
    for start, partitions in result.items():
        ends = reachable(group, result, start)
        assert len(partitions) - min(len(result[end]) for end in ends) < 2


@given(groups())
@settings(max_examples=300)
def test_nobody_could_have_its_partition_back_for_nothing(group: GroupSpec) -> None:
    result = assigned(UNIFORM, group)
    members = {m.member_id: m for m in group.members}
    for loser, holder in product(group.members, group.members):
        back = existing_owned(group, loser) & result[holder.member_id] - holder.owned
        if not back or loser is holder:
            continue
        loads = len(result[loser.member_id]), len(result[holder.member_id])
        assert loads[0] >= loads[1], f"{back} back to {loser.member_id}"
        exchanged = result[loser.member_id] - members[loser.member_id].owned
        assert not {topic for topic, _ in exchanged} & holder.topic_ids


@given(groups())
def test_assigning_again_moves_nothing(group: GroupSpec) -> None:
    result = assigned(UNIFORM, group)
    assert assigned(UNIFORM, with_owned(group, result)) == result


@given(groups(), st.data())
def test_order_of_members_and_topics_does_not_matter(group: GroupSpec, data: st.DataObject) -> None:
    members = data.draw(st.permutations(group.members))
    topics = data.draw(st.permutations(list(group.partition_counts)))
    shuffled = GroupSpec(
        tuple(members), {t: group.partition_counts[t] for t in topics}, group.topic_names
    )
    assert assigned(UNIFORM, shuffled) == assigned(UNIFORM, group)


def test_a_member_that_joins_takes_some_of_each_topic() -> None:
    owned = [(topic, partition) for topic in ("a", "b") for partition in range(4)]
    group = group_of({"a": 4, "b": 4}, member("old", ["a", "b"], owned), member("new", ["a", "b"]))
    assert by_name(group, assigned(UNIFORM, group)) == {
        "new": [("a", 0), ("a", 2), ("b", 0), ("b", 2)],
        "old": [("a", 1), ("a", 3), ("b", 1), ("b", 3)],
    }


def test_new_partitions_are_dealt_in_turns() -> None:
    group = group_of({"a": 2, "b": 2}, member("x", ["a", "b"]), member("y", ["a", "b"]))
    assert by_name(group, assigned(UNIFORM, group)) == {
        "x": [("a", 0), ("b", 0)],
        "y": [("a", 1), ("b", 1)],
    }


def test_of_two_members_that_say_they_owned_it_the_first_counts() -> None:
    group = group_of({"a": 1}, member("y", ["a"], [("a", 0)]), member("x", ["a"], [("a", 0)]))
    assert by_name(group, assigned(UNIFORM, group)) == {"x": [("a", 0)], "y": []}


def test_topics_that_do_not_exist_are_as_if_nobody_subscribed() -> None:
    group = group_of({"a": 1}, member("x", ["a", "gone"], [("gone", 0)]))
    assert by_name(group, assigned(UNIFORM, group)) == {"x": [("a", 0)]}


def test_a_group_without_members_has_an_empty_assignment() -> None:
    assert assigned(UNIFORM, group_of({"a": 3})) == {}


def test_a_chain_over_three_members_is_found() -> None:
    """x has too many, z too few, and only y subscribes to topics of both."""
    group = group_of(
        {"a": 3, "b": 2},
        member("x", ["a"], [("a", 0), ("a", 1), ("a", 2)]),
        member("y", ["a", "b"], [("b", 0), ("b", 1)]),
        member("z", ["b"]),
    )
    result = assigned(UNIFORM, group)
    assert {name: len(given) for name, given in result.items()} == {"x": 2, "y": 2, "z": 1}
    assert kept(group, result) == 3
