"""Mutants of group coordinators that are fenced: what they still answer from memory."""

from __future__ import annotations

from typing import Any

from tidelog.broker.coordinator import group_coordinator
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.simulation.mutants.mutant import replaces


@replaces(GroupCoordinator, "_read_offsets")
async def offsets_read_from_memory(
    self: GroupCoordinator,
    hosted: Any,  # what a coordinator hosts of a partition
    seen: object,
) -> object:
    """Committed offsets are read without asking the controllers (decision 0056)."""
    return await self._read(hosted, seen)


@replaces(group_coordinator, "proof_of_leadership")
def coordinator_not_confirmed(*, has_session: bool) -> list[CoordinatorRecord]:
    """A coordinator that the controllers have not heard for long answers from memory."""
    del has_session
    return []
