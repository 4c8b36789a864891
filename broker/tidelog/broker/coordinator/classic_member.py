"""A member of a classic group as its coordinator knows it, and votes on protocols. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from tidelog.broker.coordinator.classic_messages import JoinRequest, MemberProtocol, Ticket
from tidelog.broker.coordinator.classic_record import RecordedMember
from tidelog.broker.coordinator.member_bytes import MEMBER_COST_BYTES

MEMBER_BYTES = 400
"""Bytes of a member's record beside its own texts: its id, above all."""
NAME_CHARACTERS_MAX = 64
"""Characters of a member's own name in the member id that it gets."""


@dataclass(slots=True)
class Member:
    """A member and its time; `protocols` of a loaded one has its generation's alone."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]
    deadline_ms: int = 0
    """Time at which its session is over, by a clock that only rises."""
    ticket: Ticket | None = None
    """Its waiting request: a join while the group prepares, else a sync."""
    is_new: bool = False
    """True until it gets its first generation: so far it need not know its id."""
    counted_bytes: int = 0
    """Bytes that it may add to the group's record, its assignment aside."""
    held_bytes: int = 0
    """Bytes that it holds in memory, with all of its protocols."""
    knows_id: bool = True
    """False for one that gets its id with its first generation: nobody can come back as it."""

    def metadata(self, protocol: str) -> bytes:
        """Bytes that it gave for a protocol; empty if it does not have it."""
        return next((one.metadata for one in self.protocols if one.name == protocol), b"")

    def take(self, request: JoinRequest) -> None:
        """Take over the fields of a later join."""
        self.client_id, self.host = request.client_id, request.host
        self.session_timeout_ms = request.session_timeout_ms
        self.rebalance_timeout_ms = _rebalance_timeout_ms(request)
        self.protocols = request.protocols
        self.counted_bytes = bytes_of(request, request.protocols)
        self.held_bytes = held_bytes_of(request, request.protocols)

    def renew(self, now_ms: int) -> None:
        """Begin its session again."""
        self.deadline_ms = now_ms + self.session_timeout_ms

    @property
    def is_exempt(self) -> bool:
        """True while its session cannot end: it sends no heartbeats while it waits."""
        return self.ticket is not None and not self.is_new


def bytes_of(one: JoinRequest | RecordedMember, protocols: tuple[MemberProtocol, ...]) -> int:
    """Count the bytes that a member may add to its group's record, its assignment aside."""
    names = (one.instance_id or "", one.client_id, one.host)
    longest = max(len(one.name.encode()) + len(one.metadata) for one in protocols)
    return MEMBER_BYTES + sum(len(name.encode()) for name in names) + longest


def held_bytes_of(one: JoinRequest | RecordedMember, protocols: tuple[MemberProtocol, ...]) -> int:
    """Count the bytes that a member holds in memory: those of all its protocols."""
    names = (one.instance_id or "", one.client_id, one.host)
    given = sum(len(protocol.name) + len(protocol.metadata) for protocol in protocols)
    return MEMBER_COST_BYTES + sum(map(len, names)) + given


def new_member(member_id: str, request: JoinRequest) -> Member:
    """Make a member of its first join."""
    return Member(
        member_id,
        request.instance_id,
        request.client_id,
        request.host,
        request.session_timeout_ms,
        _rebalance_timeout_ms(request),
        request.protocols,
        counted_bytes=bytes_of(request, request.protocols),
        held_bytes=held_bytes_of(request, request.protocols),
    )


def member_id_of(request: JoinRequest, unique: UUID) -> str:
    """Make the id of a new member: its name, and what nobody can guess."""
    return f"{(request.instance_id or request.client_id)[:NAME_CHARACTERS_MAX]}-{unique}"


def _rebalance_timeout_ms(request: JoinRequest) -> int:
    has_own = request.rebalance_timeout_ms > 0
    return request.rebalance_timeout_ms if has_own else request.session_timeout_ms


def from_record(recorded: RecordedMember, protocol: str, now_ms: int) -> Member:
    """Make a member of its record; it has a full session."""
    protocols = (MemberProtocol(protocol, recorded.subscription),)
    return Member(
        recorded.member_id,
        recorded.instance_id,
        recorded.client_id,
        recorded.host,
        recorded.session_timeout_ms,
        recorded.rebalance_timeout_ms,
        protocols,
        now_ms + recorded.session_timeout_ms,
        counted_bytes=bytes_of(recorded, protocols),
        held_bytes=held_bytes_of(recorded, protocols),
    )


def to_record(member: Member, protocol: str, assignment: bytes) -> RecordedMember:
    """Make a member's part of the group's record."""
    return RecordedMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.host,
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        member.metadata(protocol),
        assignment,
    )


def common_protocols(members: Iterable[Member]) -> frozenset[str]:
    """Name the protocols that each of the members has."""
    names = [frozenset(one.name for one in member.protocols) for member in members]
    return names[0].intersection(*names[1:]) if names else frozenset()


def voted_protocol(members: Collection[Member]) -> str:
    """Name the protocol with most votes; of equals the first by name.

    Each member votes for the first of its own that all have.
    """
    common = common_protocols(members)
    votes = Counter(
        next(one.name for one in member.protocols if one.name in common) for member in members
    )
    return min(votes, key=lambda name: (-votes[name], name))
