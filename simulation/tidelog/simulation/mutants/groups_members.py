"""Mutants of members of groups: what is handed out, committed, let go of, and until when."""
# they take the place of methods

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.client.consuming.assignment import Position
from tidelog.client.consuming.group_reader import GroupReader
from tidelog.client.consuming.handed_out import HandedOut
from tidelog.client.groups.group_member import GroupMember
from tidelog.client.groups.listener import OffsetAndMetadata
from tidelog.client.groups.membership import Membership
from tidelog.client.records import TopicPartition
from tidelog.simulation.mutants.mutant import replaces

_done = HandedOut.done


@replaces(HandedOut, "done")
def committed_ahead(
    self: HandedOut, positions: Iterable[Position], *, is_all: bool = False
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Records in the application's hands are committed (KAFKA-7026)."""
    del is_all
    return _done(self, positions, is_all=True)


@replaces(Membership, "is_suspended")
def broken_connections_ignored(_self: Membership, _now_ms: int) -> bool:
    """A member hands out records however long its connection is broken."""
    return False


@replaces(Membership, "has_expired")
def lease_never_ends(_self: Membership, _now_ms: int) -> bool:
    """A member that nobody answers hands out records for good."""
    return False


@replaces(GroupMember, "lose")
def fenced_member_goes_on(self: GroupMember, why: str) -> None:
    """A fenced member joins again before its application has heard of it (KAFKA-16251)."""
    self._membership.lose()
    self._events.on_lost(why)


@replaces(GroupReader, "_drop")
def lost_partitions_read_on(_self: GroupReader, _partitions: Any) -> None:
    """Partitions that are lost, or let go of, are read on."""
