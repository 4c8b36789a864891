"""Ports of a member of the classic protocol: how it calls its coordinator, and what it reads.

The groups suite has plain calls, and members that read nothing; the wire suite has frames of
Kafka's protocol, and members that fetch what they are assigned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from tidelog.broker.coordinator.classic_messages import (
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveRequest,
    SyncAnswer,
    SyncRequest,
)
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.offsets import CommittedOffset


class MemberCalls(Protocol):
    """Calls of one member to its group's coordinator, which they find by themselves.

    Each raises what coordinators raise, `CallFailedError` when there is no answer within
    `timeout_s`, and `UnreachableError` when there is no coordinator to ask.
    """

    def forget_coordinator(self) -> None:
        """Look for it again before the next call."""

    async def join(self, request: JoinRequest, *, timeout_s: float) -> JoinAnswer:
        """Join. Raises `MemberIdGivenError`, too."""

    async def sync(self, request: SyncRequest, *, timeout_s: float) -> SyncAnswer:
        """Ask for the assignment."""

    async def heartbeat(self, request: HeartbeatRequest, *, timeout_s: float) -> None:
        """Be alive."""

    async def commit(
        self, by: Committer, partition: int, committed: CommittedOffset, *, timeout_s: float
    ) -> None:
        """Commit an offset; where the partition alone is refused, nothing is raised."""

    async def fetch(
        self, partitions: Sequence[int], *, timeout_s: float
    ) -> Sequence[CommittedOffset]:
        """Look committed offsets up."""

    async def leave(self, request: LeaveRequest, *, timeout_s: float) -> None:
        """Leave."""


class Reading(Protocol):
    """A member's use of the partitions that are its own."""

    def begin(self, committed: Mapping[int, CommittedOffset]) -> None:
        """Read these partitions, and no others, from what was committed on."""

    def stop(self) -> None:
        """Read nothing."""

    def next_commit(self) -> tuple[int, CommittedOffset] | None:
        """Choose a partition, and how far it is read; None: there is nothing to commit."""

    def on_committed(self, partition: int, offset: int) -> None:
        """Note that a commit was not refused."""


class MemberPorts(NamedTuple):
    """Both ports of a member."""

    calls: MemberCalls
    reading: Reading
