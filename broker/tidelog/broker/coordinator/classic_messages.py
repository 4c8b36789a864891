"""Requests and answers of the classic group protocol, in no protocol's encoding. Pure.

Metadata of members and assignments are opaque bytes: the members' own agreement. Sources: Kafka's
GroupCoordinator, KIP-345 (static members), KIP-394 (ids before members), KIP-800 (reasons), KIP-814
(a static leader that came back assigns nothing).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.core.errors import KafkaError, MemberIdRequiredError

Ticket: TypeAlias = int
"""Name that the caller gives a request that may wait; no two requests have the same."""

NO_GENERATION = -1
"""Generation of a request without membership."""


class MemberProtocol(NamedTuple):
    """An assignor that a member has, and what the member says of itself to its leader."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A member joins, or joins again."""

    protocol_type: str
    """Kind of members, "consumer" for consumers."""
    protocols: tuple[MemberProtocol, ...]
    """Assignors that the member has, the preferred one first."""
    session_timeout_ms: int
    rebalance_timeout_ms: int = -1
    """Less than 1: the same as the session's."""
    member_id: str = ""
    """Empty: the member has none yet."""
    instance_id: str | None = None
    """The `group.instance.id` of a static member; None: it is dynamic."""
    client_id: str = ""
    host: str = ""
    reason: str = ""
    knows_required_id: bool = True
    """False for a client of before KIP-394, which gets its id with its first generation."""
    knows_skipped_assignment: bool = True
    """False for a client of before KIP-814."""


class JoinedMember(NamedTuple):
    """A member as the leader sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


class JoinAnswer(NamedTuple):
    """A generation that the member is part of."""

    member_id: str
    generation: int
    protocol_type: str
    protocol: str
    leader: str
    members: tuple[JoinedMember, ...] = ()
    """Members to assign to; empty for others than the leader."""
    skip_assignment: bool = False
    """True for a leader that may look at the members, and has not to assign."""


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """A member asks for its assignment; the leader brings those of all."""

    member_id: str
    generation: int
    instance_id: str | None = None
    protocol_type: str | None = None
    """The member's idea of it (KIP-559); None: not said."""
    protocol: str | None = None
    """The member's idea of it (KIP-559); None: not said."""
    assignments: Mapping[str, bytes] = field(default_factory=dict)
    """By member id; from others than the leader it is ignored."""


class SyncAnswer(NamedTuple):
    """A member's part of its generation."""

    protocol_type: str
    protocol: str
    assignment: bytes


@dataclass(frozen=True, slots=True)
class HeartbeatRequest:
    """A member is alive."""

    member_id: str
    generation: int
    instance_id: str | None = None


class LeavingMember(NamedTuple):
    """A member that is to go; a static one may be named by its instance id alone."""

    member_id: str = ""
    instance_id: str | None = None
    reason: str = ""


class LeaveRequest(NamedTuple):
    """Members leave, or somebody removes them."""

    members: tuple[LeavingMember, ...]


Answer: TypeAlias = JoinAnswer | SyncAnswer


class ClassicStep(NamedTuple):
    """Records to append, all or none, and answers that hold once they are committed.

    A request whose ticket has no answer in it waits.
    """

    records: list[CoordinatorRecord]
    answers: list[tuple[Ticket, Answer | KafkaError]]


class LeaveDecision(NamedTuple):
    """Consequences for others, and a result for each member that was to go; None: it is gone."""

    step: ClassicStep
    results: list[KafkaError | None]


class MemberIdGivenError(MemberIdRequiredError):
    """The id with which the member is to join again (KIP-394)."""

    def __init__(self, message: str, member_id: str) -> None:
        super().__init__(message)
        self.member_id = member_id


@dataclass(frozen=True, slots=True)
class ClassicLimits:
    """Bounds from the broker's configuration, by Kafka's names where they exist."""

    size_max: int
    """Members of a group: group.max.size."""
    record_bytes_max: int
    """Size of a group's record, which has to fit one batch of the internal topic."""
    initial_rebalance_delay_ms: int = 3_000
    """Time that an empty group waits for further members: group.initial.rebalance.delay.ms."""
    session_timeout_min_ms: int = 6_000
    """Shortest session: group.min.session.timeout.ms."""
    session_timeout_max_ms: int = 1_800_000
    """Longest session: group.max.session.timeout.ms."""


class Rebalance(NamedTuple):
    """A rebalance that began."""

    time_ms: int
    """By the coordinator's wall clock."""
    generation: int
    """Generation that it leads to."""
    cause: str
