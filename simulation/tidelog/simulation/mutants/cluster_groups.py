"""Mutants of the group coordinator: what it answers when, and whose commits it takes."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from tidelog.broker.coordinator import group_coordinator
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_live_group import LiveGroup
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.simulation.mutants.mutant import replaces


@replaces(GroupCoordinator, "_committed")
def groups_answered_before_commit(
    _self: GroupCoordinator, _hosted: Any, _end_offset: int, *, is_write: bool
) -> Awaitable[None]:
    """A coordinator answers when it has appended, though no replica has it yet."""
    del is_write
    return _at_once()


async def _at_once() -> None:
    """Wait for nothing."""


@replaces(LiveGroup, "_check_member")
def commit_epochs_not_compared(_self: LiveGroup, _committer: Committer) -> None:
    """A commit is taken from any sender, under any epoch."""


@replaces(GroupCoordinator, "_read_offsets")
async def offsets_read_from_memory(
    self: GroupCoordinator,
    hosted: Any,  # as above
    seen: object,
) -> object:
    """Committed offsets are read without asking the controllers (decision 0056)."""
    return await self._read(hosted, seen)


@replaces(group_coordinator, "proof_of_leadership")
def coordinator_not_confirmed(*, has_session: bool) -> list[CoordinatorRecord]:
    """A coordinator that the controllers have not heard for long answers from memory."""
    del has_session
    return []
