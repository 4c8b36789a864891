"""Facts of a classic group for the journal, as its record has them. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.classic_assignment import partitions_of
from tidelog.broker.coordinator.classic_group import ClassicGroup, State
from tidelog.broker.coordinator.consumer_group import Rebalance
from tidelog.broker.coordinator.group_facts import GroupFacts, MemberFacts
from tidelog.broker.coordinator.group_states import CLASSIC, EMPTY, STABLE


def classic_facts_of(group: ClassicGroup) -> GroupFacts:
    """Look at a recorded group: rebalances are those that led to a recorded generation."""
    return GroupFacts(
        CLASSIC,
        group.generation,
        len(group.recorded.members),
        {
            one.member_id: MemberFacts(one.instance_id, one.client_id, one.host)
            for one in group.recorded.members.values()
        },
        [
            Rebalance(one.time_ms, one.generation, one.cause)
            for one in group.rebalances
            if one.generation <= group.generation
        ],
    )


def recorded_state(group: ClassicGroup) -> str:
    """Name the state in which a coordinator that loads the group begins."""
    if not group.recorded.members:
        return EMPTY
    return STABLE if group.recorded.is_complete else State.COMPLETING.value


def assigned_partitions(group: ClassicGroup) -> int:
    """Count the partitions that members are assigned; 0 where assignments cannot be read."""
    found = [partitions_of(one.assignment) or {} for one in group.recorded.members.values()]
    return sum(len(numbers) for of_member in found for numbers in of_member.values())
