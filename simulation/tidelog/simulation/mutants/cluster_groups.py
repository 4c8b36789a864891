"""Mutants of the group coordinator: what it answers when, and whose commits it takes."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_live_group import LiveGroup
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
