"""The bytes of the groups of one partition of `__consumer_offsets`, and who finds no room. Pure.

Members that are there stay when a partition is full: their heartbeats, renewed offsets and
assignments go on.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat
from tidelog.broker.coordinator.consumer_member import JOINING
from tidelog.broker.coordinator.member_bytes import MEMBER_COST_BYTES
from tidelog.core.errors import GroupMaxSizeReachedError


class StateBytes:
    """Bytes by group, their committed offsets aside; about as many as in their records."""

    def __init__(self) -> None:
        self.total = 0
        self._by_group: dict[str, int] = {}

    def of(self, group_id: str) -> int:
        """Bytes of one group."""
        return self._by_group.get(group_id, 0)

    def note(self, group_id: str, size: int) -> None:
        """Note the bytes of a group; 0: it is gone."""
        self.total += size - self._by_group.pop(group_id, 0)
        if size:
            self._by_group[group_id] = size


def grows(group: ConsumerGroup, request: Heartbeat) -> bool:
    """True for a newcomer, and for a member that subscribes to something else."""
    member = group.members.get(request.member_id)
    if member is None and request.instance_id is not None:
        member = group.instance(request.instance_id)
    if member is None:
        return request.epoch == JOINING
    asked = (request.topics, request.pattern or "")
    return request.topics is not None and asked != (member.topics, member.pattern)


def asked_bytes(request: Heartbeat) -> int:
    """Bytes of what a member subscribes to, and of the member itself."""
    return MEMBER_COST_BYTES + sum(map(len, request.topics or ())) + len(request.pattern or "")


def no_room(group_id: str, size: int) -> GroupMaxSizeReachedError:
    """Say that the partition is full."""
    return GroupMaxSizeReachedError(
        f"the coordinator of group {group_id!r} has {size} bytes of groups, as many as "
        "group.partition.state.bytes allows: delete groups and offsets that are not needed, or "
        "subscribe by a pattern"
    )
