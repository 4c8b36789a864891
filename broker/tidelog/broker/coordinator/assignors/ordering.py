"""Order of members and of topics, the same whatever the order in which the group lists them."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.assignors.interface import GroupSpec, MemberSubscription
from tidelog.broker.coordinator.assignors.slices import Sliced, Steps


def static_members_first(group: GroupSpec) -> list[MemberSubscription]:
    """Sort as Kafka's range and round robin: static members by instance id, others by member id.

    A static member that comes back with another member id keeps its place.
    """
    return sorted(group.members, key=_static_first)


def _static_first(member: MemberSubscription) -> tuple[bool, str, str]:
    is_dynamic = member.instance_id is None
    return is_dynamic, member.instance_id or "", member.member_id


def topics_by_name(group: GroupSpec) -> list[bytes]:
    """Sort the ids of the topics that exist by name."""
    return sorted(group.partition_counts, key=lambda topic: (group.topic_names[topic], topic))


def subscribers_by_topic(
    members: list[MemberSubscription], steps: Steps
) -> Sliced[dict[bytes, int]]:
    """Subscribers of each topic as bits: bit i is `members[i]`; each set has one at least."""
    # Members with equal subscriptions are read together: most groups have one subscription.
    together: dict[frozenset[bytes], int] = {}
    for index, member in enumerate(members):
        together[member.topic_ids] = together.get(member.topic_ids, 0) | 1 << index
        # Hashing a set of topics takes a step for some fifty of them.
        if steps.fill_slice(1 + len(member.topic_ids) // 50):
            yield None
    found: dict[bytes, int] = {}
    for topics, bits in together.items():
        for topic in topics:
            found[topic] = found.get(topic, 0) | bits
            if steps.fill_slice():
                yield None
    return found
