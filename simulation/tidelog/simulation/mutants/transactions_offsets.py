"""Mutants of offsets in transactions: whose they are, once a member has lost everything."""

from __future__ import annotations

from dataclasses import replace

from tidelog.broker.coordinator.consumer_heartbeats import ConsumerHeartbeats
from tidelog.broker.coordinator.consumer_member import NOTHING, Member
from tidelog.client import GroupMetadata
from tidelog.client.consuming.group_reader import GroupReader
from tidelog.simulation.mutants.mutant import replaces


@replaces(ConsumerHeartbeats, "_joined_again")
def joined_again_at_the_old_epoch(
    _self: ConsumerHeartbeats, member: Member, *, is_known: bool
) -> Member:
    """A member that joins again gets its partitions at the epoch that it had before."""
    del is_known
    return replace(member, assigned=member.assigned & member.target, revoking=NOTHING)


@replaces(GroupReader, "metadata")
def metadata_of_now(self: GroupReader) -> GroupMetadata:
    """Metadata has the newest epoch, whatever was lost since records were handed out."""
    one = self._membership
    return GroupMetadata(one.group_id, one.member_id, one.epoch, one.instance_id)
