"""A group of the consumer protocol as its coordinator holds it. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.consumer_group import FIRST_EPOCH, ConsumerGroup, GroupState
from tidelog.broker.coordinator.consumer_heartbeats import ConsumerHeartbeats, HeartbeatLimits
from tidelog.broker.coordinator.consumer_sessions import ConsumerSessions
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.group_states import CONSUMER, state_of
from tidelog.broker.coordinator.member_bytes import MemberBytes
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.offsets import TopicPartition, Topics
from tidelog.core.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    StaleMemberEpochError,
    UnknownMemberIdError,
)

ASSIGNMENT_RETRY_MS = 5_000
"""Time after which an assignment that a user's assignor did not make is tried again."""


class LiveGroup:
    """A group of the consumer protocol, with its sessions, which are in memory only.

    A `Membership`.
    """

    def __init__(
        self,
        group_id: str,
        *,
        config: GroupConfig,
        topics: Topics,
        assignors: Sequence[str],
        first_version: int,
        first_epoch: int = FIRST_EPOCH,
        members_bytes: MemberBytes | None = None,
    ) -> None:
        """Begin a group without members; `first_epoch` is that of before its first member."""
        self.state = ConsumerGroup(group_id, members_bytes)
        self.state.state = GroupState(epoch=first_epoch, assignment_epoch=first_epoch)
        self.sessions = ConsumerSessions(
            session_timeout_ms=config.group_consumer_session_timeout_ms,
            disconnect_grace_ms=config.group_consumer_disconnect_grace_ms,
            first_version=first_version,
        )
        self._topics = topics
        limits = HeartbeatLimits(config.group_consumer_max_size, assignors)
        self.heartbeats = ConsumerHeartbeats(self.state, self.sessions, topics, limits)
        self.assigned_ms = 0
        """Time of the last assignment, by the clock that only rises; 0: there was none."""
        self.failure = ""
        """Why the last assignment failed: its assignor, a record too large; empty: it did not."""

    def is_assignment_due(self, now_ms: int) -> bool:
        """True if an assignment is to be made; one that failed is tried again after a while."""
        may_try = not self.failure or now_ms - self.assigned_ms >= ASSIGNMENT_RETRY_MS
        return self.state.needs_assignment and may_try

    # Membership

    @property
    def member_count(self) -> int:
        """See `Membership`."""
        return len(self.state.members)

    @property
    def protocol(self) -> str:
        """See `Membership`."""
        return CONSUMER

    @property
    def epoch(self) -> int:
        """See `Membership`."""
        return self.state.state.epoch

    @property
    def state_name(self) -> str:
        """See `Membership`."""
        return state_of(self.state)

    @property
    def topics(self) -> frozenset[str]:
        """See `Membership`."""
        return self.state.subscribed(self._topics)

    @property
    def empty_since_ms(self) -> int | None:
        """See `Membership`; 0 for a group that never had a member."""
        return None if self.state.members else self.state.changed_ms

    def check_commit(self, committer: Committer, now: Moment) -> None:
        """See `Membership`. A commit that a later one of the member has overtaken is refused."""
        del now
        self._check_member(committer)
        if not committer.sequence:
            return
        if not self.sessions.note_commit(committer.member_id, committer.sequence):
            raise StaleMemberEpochError(
                f"commit {committer.sequence} of member {committer.member_id} came late: a later "
                "one came before"
            )

    def check_transactional_commit(self, committer: Committer) -> None:
        """See `Membership`."""
        if not committer.is_nobody or committer.instance_id is not None:
            self._check_member(committer)

    def check_fetch(self, committer: Committer) -> None:
        """See `Membership`."""
        self._check_member(committer)

    def check_offset_delete(self) -> None:
        """See `Membership`: subscriptions are known."""

    def _check_member(self, committer: Committer) -> None:
        if committer.is_nobody and not self.state.members:
            return
        member = self.state.members.get(committer.member_id)
        if committer.instance_id is not None:
            holder = self.state.instance(committer.instance_id)
            if holder is not None and holder.member_id != committer.member_id:
                raise FencedInstanceIdError(
                    f"group.instance.id {committer.instance_id!r} belongs to another member now: "
                    f"{holder.member_id}"
                )
        if member is None:
            raise unknown_member(self.state.group_id, committer)
        if self.sessions.is_fenced(member.member_id):
            raise FencedMemberEpochError(
                f"member {member.member_id} is fenced: let go of all partitions and join again"
            )
        if committer.epoch != member.epoch:
            raise StaleMemberEpochError(
                f"member {member.member_id} is at epoch {member.epoch}, not {committer.epoch}: "
                "commit again at its newest epoch what it still owns"
            )

    def owner_check(self, member_id: str) -> Callable[[TopicPartition], None]:
        """See `Membership`: offsets of partitions that another member has come late."""

        def check(partition: TopicPartition) -> None:
            holder = self.state.holder((partition.topic_id, partition.partition))
            if holder not in (None, member_id):
                raise StaleMemberEpochError(
                    f"{partition.topic}-{partition.partition} belongs to member {holder} now"
                )

        return check

    def delete(self) -> list[CoordinatorRecord]:
        """See `Membership`."""
        return self.state.delete()


def unknown_member(group_id: str, committer: Committer) -> UnknownMemberIdError:
    """Say that a sender of a commit is no member."""
    return UnknownMemberIdError(
        f"group {group_id!r} has no member {committer.member_id!r}: join it, or stop its "
        "members to commit without membership"
    )
