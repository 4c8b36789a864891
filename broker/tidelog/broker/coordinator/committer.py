"""Sender of a commit, and a group of either protocol as committed offsets know it. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple, Protocol

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.offsets import TopicPartition

NOBODY_EPOCH = -1
"""Epoch of a commit without membership."""


class Committer(NamedTuple):
    """Sender of a commit or of a fetch of committed offsets, by its own words."""

    member_id: str = ""
    epoch: int = NOBODY_EPOCH
    """Epoch of a member of the consumer protocol, generation of one of the classic protocol."""
    instance_id: str | None = None
    sequence: int = 0
    """Number of a commit among the member's; 0: not numbered."""

    @property
    def is_nobody(self) -> bool:
        """True for a request without membership, as of a tool."""
        return not self.member_id and self.epoch < 0


class Membership(Protocol):
    """A group of either protocol, to the offsets that it commits."""

    @property
    def member_count(self) -> int:
        """Number of members."""

    @property
    def protocol(self) -> str:
        """Name of the protocol that the members speak."""

    @property
    def epoch(self) -> int:
        """Group epoch, or generation."""

    @property
    def state_name(self) -> str:
        """Public name of the group's state."""

    @property
    def topics(self) -> Container[str]:
        """Topics that the members subscribe to."""

    @property
    def empty_since_ms(self) -> int | None:
        """Wall clock's time at which the last member went; None: there are some, or never were."""

    def check_commit(self, committer: Committer, now: Moment) -> None:
        """Raise `KafkaError` unless the sender may commit now."""

    def check_transactional_commit(self, committer: Committer) -> None:
        """Raise `KafkaError` unless the sender may commit in a transaction (KIP-447).

        Nobody may always: the transactional id alone fences producers that name no member.
        """

    def check_fetch(self, committer: Committer) -> None:
        """Raise `KafkaError` unless the sender, which names itself, may read."""

    def check_offset_delete(self) -> None:
        """Raise `KafkaError` where nobody knows which topics the members read."""

    def owner_check(self, member_id: str) -> Callable[[TopicPartition], None] | None:
        """Make a check that raises `KafkaError` for partitions of others; None: nobody knows."""

    def delete(self) -> list[CoordinatorRecord]:
        """Delete the group's own record; it has no members."""
