"""Description of a classic group for people and tools. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NamedTuple

from tidelog.broker.coordinator.classic_group import ClassicGroup, State
from tidelog.broker.coordinator.classic_member import Member
from tidelog.broker.coordinator.classic_messages import Rebalance


class DescribedMember(NamedTuple):
    """A member; its metadata and assignment, opaque bytes, are empty unless the group is stable."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    metadata: bytes
    assignment: bytes


class Description(NamedTuple):
    """State of a group."""

    state: str
    """Empty, PreparingRebalance, CompletingRebalance or Stable."""
    protocol_type: str
    protocol: str
    """Empty unless the group is stable."""
    generation: int
    leader: str
    members: tuple[DescribedMember, ...]
    rebalances: tuple[Rebalance, ...]
    """The last ten, as far as this coordinator knows, the newest last."""


def describe(group: ClassicGroup) -> Description:
    """Describe a group and its members, in the order in which they joined."""
    return Description(
        state=group.state.value,
        protocol_type=group.round.protocol_type,
        protocol=group.recorded.protocol if group.state is State.STABLE else "",
        generation=group.generation,
        leader=group.round.leader,
        members=tuple(_described(group, one) for one in group.members.values()),
        rebalances=tuple(group.rebalances),
    )


def _described(group: ClassicGroup, member: Member) -> DescribedMember:
    names = (member.member_id, member.instance_id, member.client_id, member.host)
    if group.state is not State.STABLE:
        return DescribedMember(*names, b"", b"")
    assignment = group.recorded.members[member.member_id].assignment
    return DescribedMember(*names, member.metadata(group.recorded.protocol), assignment)
