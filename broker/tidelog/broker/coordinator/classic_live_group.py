"""A group of the classic protocol as its coordinator holds it: state and decisions. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Container

from tidelog.broker.coordinator.classic_group import ClassicGroup
from tidelog.broker.coordinator.classic_messages import ClassicLimits
from tidelog.broker.coordinator.classic_record import NEVER, Recorded
from tidelog.broker.coordinator.classic_requests import ClassicRequests
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.group_states import CLASSIC
from tidelog.broker.coordinator.member_bytes import MemberBytes
from tidelog.broker.coordinator.moment import Moment
from tidelog.core.errors import NonEmptyGroupError


class LiveClassicGroup:
    """A group of the classic protocol. A `Membership`."""

    def __init__(
        self,
        group_id: str,
        limits: ClassicLimits,
        first: Recorded = NEVER,
        members_bytes: MemberBytes | None = None,
    ) -> None:
        self.state = ClassicGroup(group_id, first, members_bytes)
        self.requests = ClassicRequests(self.state, limits)

    @property
    def member_count(self) -> int:
        """See `Membership`."""
        return len(self.state.members)

    @property
    def protocol(self) -> str:
        """See `Membership`."""
        return CLASSIC

    @property
    def epoch(self) -> int:
        """See `Membership`."""
        return self.state.generation

    @property
    def state_name(self) -> str:
        """See `Membership`."""
        return self.state.state.value

    @property
    def topics(self) -> Container[str]:
        """See `Membership`."""
        return self.state.topics

    @property
    def empty_since_ms(self) -> int | None:
        """See `Membership`."""
        return self.state.empty_since_ms

    def check_commit(self, committer: Committer, now: Moment) -> None:
        """See `Membership`. A commit renews the member's session, as in Kafka."""
        self.state.check_commit(committer.member_id, committer.instance_id, committer.epoch)
        self.requests.note_commit(committer.member_id, now)

    def check_transactional_commit(self, committer: Committer) -> None:
        """See `Membership`."""
        self.state.check_transactional_commit(
            committer.member_id, committer.instance_id, committer.epoch
        )

    def check_fetch(self, committer: Committer) -> None:
        """See `Membership`: as in Kafka anybody may read, by whatever name."""

    def check_offset_delete(self) -> None:
        """See `Membership`: members of other kinds than consumers do not say what they read."""
        if self.state.members and not self.state.is_of_consumers:
            raise NonEmptyGroupError(
                f"group {self.state.group_id!r} has members of type "
                f"{self.state.round.protocol_type!r}: stop them first"
            )

    def owner_check(self, member_id: str) -> None:
        """See `Membership`: assignments are opaque, generations alone fence."""

    def delete(self) -> list[CoordinatorRecord]:
        """See `Membership`."""
        return self.state.delete() if self.state.is_recorded else []
