"""A classic group as its record holds it. Pure.

A generation has a record before anybody hears of it, at first without a leader: its assignment is
not there yet. A coordinator that loads such a record asks the members to join again; it cannot give
the generation's number away a second time, to another leader. Kafka writes only the second record,
of the complete assignment.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidelog.v1.coordinator_records_pb2 import ClassicGroupValue


@dataclass(frozen=True, slots=True)
class RecordedMember:
    """A member of a generation."""

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    host: str = ""
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = 0
    subscription: bytes = b""
    """Metadata for the generation's protocol."""
    assignment: bytes = b""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A generation; without members the group is empty."""

    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    """Empty while the generation has no assignment, and in an empty group."""
    since_ms: int = 0
    """By the coordinator's wall clock."""
    members: Mapping[str, RecordedMember] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """True when the members have their assignments."""
        return bool(self.leader)

    def with_member(self, old_id: str, member: RecordedMember) -> Recorded:
        """Put a static member in the place of its former self, whose assignment it keeps."""
        assignment = self.members[old_id].assignment
        members = {
            (member.member_id if name == old_id else name): (
                replace(member, assignment=assignment) if name == old_id else one
            )
            for name, one in self.members.items()
        }
        leader = member.member_id if self.leader == old_id else self.leader
        return replace(self, members=members, leader=leader)


NEVER = Recorded()
"""State of a group that has had no generation."""


def to_value(recorded: Recorded) -> ClassicGroupValue:
    """Make the group's record."""
    return ClassicGroupValue(
        generation=recorded.generation,
        protocol_type=recorded.protocol_type,
        protocol=recorded.protocol,
        leader=recorded.leader,
        state_since_ms=recorded.since_ms,
        members=[_to_member(one) for one in recorded.members.values()],
    )


def _to_member(member: RecordedMember) -> ClassicGroupValue.Member:
    return ClassicGroupValue.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        host=member.host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        subscription=member.subscription,
        assignment=member.assignment,
    )


def from_value(value: ClassicGroupValue) -> Recorded:
    """Read the group from its record."""
    return Recorded(
        generation=value.generation,
        protocol_type=value.protocol_type,
        protocol=value.protocol,
        leader=value.leader,
        since_ms=value.state_since_ms,
        members={one.member_id: _from_member(one) for one in value.members},
    )


def _from_member(value: ClassicGroupValue.Member) -> RecordedMember:
    return RecordedMember(
        member_id=value.member_id,
        instance_id=value.instance_id if value.HasField("instance_id") else None,
        client_id=value.client_id,
        host=value.host,
        session_timeout_ms=value.session_timeout_ms,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        subscription=value.subscription,
        assignment=value.assignment,
    )
