"""Groups for assignors: drawn by Hypothesis or written down, and what is counted of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from tidelog.broker.coordinator.assignors.interface import (
    Assignment,
    Assignor,
    GroupSpec,
    MemberSubscription,
    TopicPartitionId,
)


def topic_id(name: str) -> bytes:
    """Ids in another order than names, so that a sort by the wrong one is seen."""
    return bytes(255 - byte for byte in name.encode()).ljust(16, b"\0")


def member(
    member_id: str,
    topics: Sequence[str],
    owned: Sequence[tuple[str, int]] = (),
    *,
    instance_id: str | None = None,
) -> MemberSubscription:
    """A member that subscribes to topics by name and owned partitions of them."""
    return MemberSubscription(
        member_id,
        instance_id,
        "",
        frozenset(topic_id(topic) for topic in topics),
        frozenset((topic_id(topic), partition) for topic, partition in owned),
    )


def group_of(counts: Mapping[str, int], *members: MemberSubscription) -> GroupSpec:
    """A group and its cluster's topics: partition counts by name."""
    return GroupSpec(
        members,
        {topic_id(topic): count for topic, count in counts.items()},
        {topic_id(topic): topic for topic in counts},
    )


@st.composite
def groups(
    draw: st.DrawFn,
    *,
    members_max: int = 8,
    topics_max: int = 5,
    partitions_max: int = 9,
    has_equal_subscriptions: bool = False,
) -> GroupSpec:
    """Static and dynamic members; each partition had an owner, or none, or the owner is gone."""
    counts = draw(
        st.dictionaries(
            st.sampled_from([f"t{i}" for i in range(topics_max)]),
            st.integers(0, partitions_max),
            min_size=1,
        )
    )
    names = sorted(counts)
    partitions = [(name, p) for name in names for p in range(counts[name] + 1)]
    size = draw(st.integers(1, members_max))
    owners = draw(st.lists(st.integers(-2, size - 1), min_size=len(partitions)))
    shared = draw(st.lists(st.sampled_from(names), unique=True))
    members = []
    for number in range(size):
        topics = shared if has_equal_subscriptions else draw(st.lists(st.sampled_from(names)))
        owned = [at for at, owner in zip(partitions, owners, strict=False) if owner == number]
        instance_id = draw(st.none() | st.just(f"i{size - number}"))
        members.append(member(f"m{number}", topics, owned, instance_id=instance_id))
    return group_of(counts, *members)


def assigned(assignor: Assignor, group: GroupSpec) -> Assignment:
    """The result, which comes once and last."""
    *nothing, result = assignor.assign(group)
    assert set(nothing) <= {None}
    assert result is not None
    return result


def slices(assignor: Assignor, group: GroupSpec) -> int:
    """How many times the assignor yields."""
    return sum(1 for _ in assignor.assign(group))


def with_owned(group: GroupSpec, owned: Assignment) -> GroupSpec:
    """The group a while later: its target assignment is the given one."""
    members = tuple(
        MemberSubscription(m.member_id, m.instance_id, m.rack, m.topic_ids, owned[m.member_id])
        for m in group.members
    )
    return GroupSpec(members, group.partition_counts, group.topic_names)


def assignable(group: GroupSpec) -> list[TopicPartitionId]:
    """Partitions of topics with a subscriber."""
    subscribed = frozenset[bytes]().union(*(m.topic_ids for m in group.members))
    return [
        (topic, partition)
        for topic, count in sorted(group.partition_counts.items())
        if topic in subscribed
        for partition in range(count)
    ]


def assert_complete(group: GroupSpec, result: Assignment) -> None:
    """Each member is there; each partition with a subscriber has one taker, that is subscribed."""
    assert result.keys() == {m.member_id for m in group.members}
    given = sorted(at for partitions in result.values() for at in partitions)
    assert given == sorted(assignable(group))
    for m in group.members:
        assert {topic for topic, _ in result[m.member_id]} <= m.topic_ids


def kept(group: GroupSpec, result: Assignment) -> int:
    """How many partitions stay with their owner."""
    return sum(len(m.owned & result[m.member_id]) for m in group.members)


def by_name(group: GroupSpec, result: Assignment) -> dict[str, list[tuple[str, int]]]:
    """The result with names of topics, sorted."""
    return {
        member_id: sorted((group.topic_names[topic], partition) for topic, partition in partitions)
        for member_id, partitions in result.items()
    }
