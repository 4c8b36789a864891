"""I24, seen from the members: no partition is owned by two of them, by what they were told.

A member owns what it carried out and has not let go of, as long as its lease lasts. Epochs that it
is told never fall. Looked at after each step of a member.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tidelog.chaos.invariants.invariant import Report
from tidelog.client import TopicPartition
from tidelog.client.groups.membership import NOTHING, PartitionId, Partitions
from tidelog.simulation.groups.member_process import MemberProcess


@dataclass(slots=True)
class Seen:
    """A member at the last look."""

    owned: Partitions = NOTHING
    epoch: int = 0
    incarnation: int = 0


class OwnershipChecks:
    """Calls `report` for each violation."""

    def __init__(
        self,
        members: Callable[[], Collection[MemberProcess]],
        name_of: Callable[[bytes], tuple[str, int] | None],
        report: Report,
        count: Callable[[str], None],
    ) -> None:
        self._members = members
        self._name_of = name_of
        self._report = report
        self._count = count
        self._seen: dict[str, Seen] = {}

    def look(self, member: MemberProcess) -> None:
        """Check a member that was stepped."""
        membership = member.membership
        seen = self._seen.get(member.name)
        if seen is None:
            seen = self._seen[member.name] = Seen()
        epoch = membership.epoch
        if epoch != seen.epoch:
            if epoch < seen.epoch and membership.incarnation == seen.incarnation:
                self._report("I24", f"epoch of {member.name} fell from {seen.epoch} to {epoch}")
            seen.epoch, seen.incarnation = epoch, membership.incarnation
        owned = membership.owned
        if owned is not seen.owned:
            coming = owned - seen.owned
            seen.owned = owned
            if coming and member.why_over() is None:
                self._check(member, coming)

    def _check(self, member: MemberProcess, coming: Partitions) -> None:
        for other in self._members():
            if other is member:
                continue
            both = {one for one in coming & other.membership.owned if self._has(other, one)}
            if not both or other.why_over() is not None:
                continue
            if other.is_excused or member.is_excused:
                self._count("excused_owners")
                continue
            shown = " ".join(f"{topic_id.hex()[:8]}-{number}" for topic_id, number in sorted(both))
            self._report("I24", f"{member.name} and {other.name} own {shown}")

    def _has(self, member: MemberProcess, partition: PartitionId) -> bool:
        """True until the member's listener has returned from letting it go."""
        topic_id, number = partition
        known = self._name_of(topic_id)
        return known is not None and TopicPartition(known[0], number) in member.assigned_at
