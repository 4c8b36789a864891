"""`range` and `roundrobin` give what kafka-python's assignors give, and Kafka's examples."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from tests.broker.coordinator.assignments import (
    assert_complete,
    assigned,
    by_name,
    group_of,
    groups,
    member,
)

from tidelog.broker.coordinator.assignors.interface import GroupSpec
from tidelog.broker.coordinator.assignors.range import RangeAssignor
from tidelog.broker.coordinator.assignors.round_robin import RoundRobinAssignor

RANGE, ROUND_ROBIN = RangeAssignor(), RoundRobinAssignor()


def as_kafka_python(oracle: type, group: GroupSpec) -> dict[str, list[tuple[str, int]]]:
    """Static members go first into the oracle: it loses some where kinds take turns."""
    members = [
        SimpleNamespace(
            member_id=m.member_id,
            group_instance_id=m.instance_id,
            metadata=SimpleNamespace(topics=[group.topic_names[t] for t in m.topic_ids]),
        )
        for m in sorted(group.members, key=lambda m: m.instance_id is None)
    ]
    counts = {group.topic_names[topic]: count for topic, count in group.partition_counts.items()}
    cluster = SimpleNamespace(partitions_for_topic=lambda topic: set(range(counts[topic])))
    result = oracle.assign(cluster, members)  # type: ignore[attr-defined]
    return {
        member_id: sorted(
            (topic, p) for topic, partitions in given.assigned_partitions for p in partitions
        )
        for member_id, given in result.items()
    }


@given(groups())
def test_range_is_kafka_pythons(group: GroupSpec) -> None:
    expected = as_kafka_python(RangePartitionAssignor, group)
    assert by_name(group, assigned(RANGE, group)) == expected


@given(groups(has_equal_subscriptions=True))
def test_round_robin_is_kafka_pythons(group: GroupSpec) -> None:
    """For equal subscriptions: kafka-python fails where it skips a member."""
    expected = as_kafka_python(RoundRobinPartitionAssignor, group)
    assert by_name(group, assigned(ROUND_ROBIN, group)) == expected


@given(groups())
def test_round_robin_skips_members_that_are_not_subscribed(group: GroupSpec) -> None:
    """Kafka's rule, word by word: members in a circle, partitions in order."""
    circle = sorted(
        group.members, key=lambda m: (m.instance_id is None, m.instance_id or m.member_id)
    )
    expected: dict[str, list[tuple[str, int]]] = {m.member_id: [] for m in group.members}
    for name, topic in sorted((name, topic) for topic, name in group.topic_names.items()):
        if not any(topic in m.topic_ids for m in circle):
            continue
        for partition in range(group.partition_counts[topic]):
            while topic not in circle[0].topic_ids:
                circle.append(circle.pop(0))
            expected[circle[0].member_id].append((name, partition))
            circle.append(circle.pop(0))
    assert by_name(group, assigned(ROUND_ROBIN, group)) == expected


@pytest.mark.parametrize("assignor", [RANGE, ROUND_ROBIN])
@given(group=groups(), data=st.data())
def test_complete_whatever_the_order(
    assignor: RangeAssignor | RoundRobinAssignor, group: GroupSpec, data: st.DataObject
) -> None:
    members = tuple(data.draw(st.permutations(group.members)))
    topics = data.draw(st.permutations(list(group.partition_counts)))
    counts = {topic: group.partition_counts[topic] for topic in topics}
    result = assigned(assignor, GroupSpec(members, counts, group.topic_names))
    assert_complete(group, result)
    assert result == assigned(assignor, group)


def test_range_gives_the_first_members_one_more() -> None:
    group = group_of({"t": 8}, *(member(name, ["t"]) for name in "cab"))
    assert by_name(group, assigned(RANGE, group)) == {
        "a": [("t", 0), ("t", 1), ("t", 2)],
        "b": [("t", 3), ("t", 4), ("t", 5)],
        "c": [("t", 6), ("t", 7)],
    }


def test_range_puts_static_members_first_by_instance_id() -> None:
    group = group_of(
        {"t": 3},
        member("a", ["t"]),
        member("b", ["t"], instance_id="2"),
        member("c", ["t"], instance_id="1"),
    )
    assert by_name(group, assigned(RANGE, group)) == {
        "c": [("t", 0)],
        "b": [("t", 1)],
        "a": [("t", 2)],
    }


def test_round_robin_is_as_in_kafkas_example() -> None:
    group = group_of(
        {"t0": 1, "t1": 2, "t2": 3},
        member("C0", ["t0"]),
        member("C1", ["t0", "t1"]),
        member("C2", ["t0", "t1", "t2"]),
    )
    assert by_name(group, assigned(ROUND_ROBIN, group)) == {
        "C0": [("t0", 0)],
        "C1": [("t1", 0)],
        "C2": [("t1", 1), ("t2", 0), ("t2", 1), ("t2", 2)],
    }


@pytest.mark.parametrize("assignor", [RANGE, ROUND_ROBIN])
def test_unknown_topics_and_no_members(assignor: RangeAssignor | RoundRobinAssignor) -> None:
    assert assigned(assignor, group_of({"t": 2})) == {}
    lonely = group_of({"t": 2}, member("a", ["gone"]))
    assert assigned(assignor, lonely) == {"a": frozenset()}
