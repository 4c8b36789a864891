"""Decisions on heartbeats of the consumer protocol, and on members whose time is over. Pure.

    decide    a request: records and a reply; raises `KafkaError` with nothing changed
    advance   the next step of one member, as a reply that nobody asked for
    expire    members that were silent for a session

A member that does not let go in time is fenced: it is refused from then on, and removed when it
joins again or when its session is over. Until then it may read on, so nobody gets its partitions.

A reply may be sent once its records are committed. A request that came late (`sequence`) changes
nothing; one that its sender wrote before it knew its newest assignment (`version`) does not confirm
that it let go of partitions. Epochs are compared before anything is changed. Source: KIP-848,
decision 0049.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_member import (
    AWAY,
    JOINING,
    LEAVING,
    NOTHING,
    Member,
    Partitions,
    confirm,
)
from tidelog.broker.coordinator.consumer_sessions import ConsumerSessions
from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.offsets import Topics
from tidelog.core.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupMaxSizeReachedError,
    InvalidRequestError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
    UnsupportedAssignorError,
)

T = TypeVar("T")

ID_CHARACTERS_MAX = 249
"""Longest member id, `group.instance.id`, client id and rack id."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A request; None: unchanged since the member's last one."""

    member_id: str
    epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int | None = None
    topics: frozenset[str] | None = None
    pattern: str | None = None
    """With `topics`; empty: none."""
    assignor: str | None = None
    owned: Partitions | None = None
    sequence: int = 0
    version: int = 0
    client_id: str = ""
    host: str = ""


class Reply(NamedTuple):
    """Answer to a heartbeat."""

    member_id: str
    epoch: int
    assignment: Partitions | None
    """None: unchanged."""
    version: int


class HeartbeatDecision(NamedTuple):
    """Records to append, and the reply once they are committed."""

    records: list[CoordinatorRecord]
    reply: Reply


@dataclass(frozen=True, slots=True)
class HeartbeatLimits:
    """Bounds from the broker's configuration."""

    size_max: int
    """Members of a group: group.consumer.max.size."""
    assignors: Sequence[str]
    """Names of group.consumer.assignors."""


class ConsumerHeartbeats:
    """Decisions of one group; its state is the group's, its sessions are in memory."""

    def __init__(
        self,
        group: ConsumerGroup,
        sessions: ConsumerSessions,
        topics: Topics,
        limits: HeartbeatLimits,
    ) -> None:
        self._group = group
        self._sessions = sessions
        self._topics = topics
        self._limits = limits

    # Requests

    def decide(self, request: Heartbeat, now: Moment) -> HeartbeatDecision:
        """Decide a heartbeat. Raises `KafkaError`; nothing has changed then."""
        self._check_form(request)
        if self._sessions.is_late(request.member_id, request.sequence):
            return HeartbeatDecision([], self._state_of(self._known(request)))
        if request.epoch in (LEAVING, AWAY):
            return self._leave(request, now)
        return self._stay(self._find(request, now), request, now)

    def _stay(self, old: Member | None, request: Heartbeat, now: Moment) -> HeartbeatDecision:
        before = old if old is not None else self._newcomer(request)
        asking = self._confirmed(before, request)
        # One that did not get its last answer gets that first.
        is_behind = request.epoch not in (JOINING, asking.epoch)
        member = asking if is_behind else self._group.step(asking, knows_epoch=True)
        records = self._records(old, member, now)
        self._sessions.note_request(
            member.member_id, request.epoch, request.sequence, now.monotonic_ms
        )
        knows = self._sessions.knows(member, request.version)
        reply = self._state_of(member) if knows else self._offer(member, now)
        return HeartbeatDecision(records, reply)

    def _records(self, old: Member | None, member: Member, now: Moment) -> list[CoordinatorRecord]:
        cause = _cause(old, member)
        if cause is None and member.epoch > self._group.state.epoch:
            cause = f"member {_shown(member)} joined again"
        if old is None or old.member_id == member.member_id:
            return self._group.change(member, cause, now.wall_ms, self._topics)
        if cause is None and self._group.needs_assignment:
            # The assignment that is being made is for the id of before.
            cause = f"static member {_shown(member)} came back"
        return self._group.replace_member(old.member_id, member, cause, now.wall_ms, self._topics)

    def _newcomer(self, request: Heartbeat) -> Member:
        if len(self._group.members) >= self._limits.size_max:
            raise GroupMaxSizeReachedError(
                f"group {self._group.group_id!r} has {self._limits.size_max} members, "
                "as many as group.consumer.max.size allows"
            )
        return Member(request.member_id, instance_id=request.instance_id)

    def _confirmed(self, before: Member, request: Heartbeat) -> Member:
        member = _with_fields(before, request)
        if request.epoch == JOINING:
            return self._joined_again(member, is_known=before.member_id == request.member_id)
        if self._sessions.confirms(member, request.version):
            return confirm(member, request.owned)
        return member

    def _joined_again(self, member: Member, *, is_known: bool) -> Member:
        """Return a member that joins: it owns nothing, and gets again what its target has.

        One that held partitions under this id gets an epoch of its own. Offsets that it asked to
        commit in a transaction before it lost them may still be on their way: at the old epoch they
        would be an owner's, while it reads from the committed offsets again (decision 0067). A
        static member's next process has another id, so what the last one asked for is refused.
        """
        again = replace(member, assigned=member.assigned & member.target, revoking=NOTHING)
        if not is_known or not member.held:
            return again
        return replace(again, epoch=self._group.state.epoch + 1)

    def _leave(self, request: Heartbeat, now: Moment) -> HeartbeatDecision:
        member = self._known(request)
        self._sessions.note_request(
            member.member_id, request.epoch, request.sequence, now.monotonic_ms
        )
        reply = Reply(request.member_id, request.epoch, None, 0)
        if request.epoch == AWAY:
            away = replace(member, epoch=AWAY, previous_epoch=member.epoch, revoking=NOTHING)
            records = self._group.change(away, None, now.wall_ms, self._topics)
            return HeartbeatDecision(records, reply)
        cause = f"member {_shown(member)} left"
        self._sessions.note_end(member.member_id, cause)
        records = self._group.remove([member.member_id], cause, now.wall_ms, self._topics)
        return HeartbeatDecision(records, reply)

    # Who asks

    def _find(self, request: Heartbeat, now: Moment) -> Member | None:
        """Find the member, or who it was before; None: it is new. Epochs are checked."""
        if request.epoch != JOINING:
            member = self._known(request)
            self._check_epoch(member, request)
            return member
        if request.instance_id is None:
            return self._group.members.get(request.member_id)
        holder = self._group.instance(request.instance_id)
        if holder is None or holder.member_id == request.member_id or holder.epoch == AWAY:
            return holder
        raise UnreleasedInstanceIdError(
            f"group.instance.id {request.instance_id!r} belongs to member {holder.member_id}, "
            "which has not left: close it, or wait for its session timeout",
            holder_silent_ms=self._sessions.silent_ms(holder.member_id, now.monotonic_ms),
        )

    def _known(self, request: Heartbeat) -> Member:
        if request.instance_id is not None:
            holder = self._group.instance(request.instance_id)
            if holder is not None and holder.member_id != request.member_id:
                raise FencedInstanceIdError(
                    f"group.instance.id {request.instance_id!r} belongs to another member now: "
                    f"{holder.member_id}"
                )
        member = self._group.members.get(request.member_id)
        if member is None:
            raise UnknownMemberIdError(
                f"group {self._group.group_id!r} has no member {request.member_id!r}: "
                "join with epoch 0"
            )
        return member

    def _check_epoch(self, member: Member, request: Heartbeat) -> None:
        """Raise `FencedMemberEpochError` unless the epoch is the member's, or answers were lost.

        A member that did not get the last answers has an epoch since the last one that it has
        shown to know, and owns what it may.
        """
        is_behind = (
            member.epoch != AWAY
            and member.previous_epoch <= request.epoch < member.epoch
            and request.owned is not None
            and request.owned <= member.held
        )
        is_fenced = self._sessions.is_fenced(member.member_id)
        if is_fenced or (request.epoch != member.epoch and not is_behind):
            raise FencedMemberEpochError(
                f"member {member.member_id} is fenced, its epoch {request.epoch} is not valid: "
                "let go of all partitions and join with epoch 0"
            )

    def _check_form(self, request: Heartbeat) -> None:
        check_id("member id", request.member_id)
        if request.instance_id is not None:
            check_id("group.instance.id", request.instance_id)
        for what, text in (("client id", request.client_id), ("rack id", request.rack_id or "")):
            if len(text) > ID_CHARACTERS_MAX:
                raise InvalidRequestError(
                    f"{what} of {len(text)} characters: send at most {ID_CHARACTERS_MAX}"
                )
        if request.epoch < AWAY:
            raise InvalidRequestError(f"member epoch {request.epoch}: send -2 or more")
        if request.epoch == AWAY and request.instance_id is None:
            raise InvalidRequestError("epoch -2 is for static members: name the instance id")
        if request.rebalance_timeout_ms is not None and request.rebalance_timeout_ms <= 0:
            raise InvalidRequestError("rebalance_timeout_ms: send more than 0")
        if request.assignor and request.assignor not in self._limits.assignors:
            raise UnsupportedAssignorError(
                f"assignor {request.assignor[:ID_CHARACTERS_MAX]!r} is none of "
                f"{', '.join(self._limits.assignors)}"
            )
        if request.epoch == JOINING:
            _check_join(request)

    # Without a request

    def disconnect(self, member_id: str, now: Moment) -> None:
        """Note that a member's connection broke; a dynamic one has its grace to come back."""
        member = self._group.members.get(member_id)
        if member is not None and member.instance_id is None:
            self._sessions.note_disconnect(member_id, now.monotonic_ms)

    def advance(self, member_id: str, now: Moment) -> HeartbeatDecision | None:
        """Take a member's next step; None when there is none. Replay it before the next one."""
        old = self._group.members[member_id]
        member = self._group.step(old, knows_epoch=self._sessions.knows_epoch(old))
        if member == old:
            return None
        records = self._group.change(member, None, now.wall_ms, self._topics)
        return HeartbeatDecision(records, self._offer(member, now))

    def expire(self, now: Moment) -> list[CoordinatorRecord]:
        """Remove members that were silent for a session; fence those that do not let go in time."""
        gone: dict[str, str] = {}
        if self._sessions.count > len(self._group.members):
            self._sessions.retain(self._group.members)
        for member in self._group.members.values():
            if self._sessions.has_expired(member, now.monotonic_ms):
                gone[member.member_id] = cause = self._cause_of_removal(member)
                self._sessions.note_end(member.member_id, cause)
            elif self._sessions.is_stuck(member, now.monotonic_ms):
                self._sessions.fence(member.member_id)
        if not gone:
            return []
        cause = "; ".join(list(gone.values())[:3])
        return self._group.remove(list(gone), cause, now.wall_ms, self._topics)

    def _cause_of_removal(self, member: Member) -> str:
        if self._sessions.is_fenced(member.member_id):
            return (
                f"member {_shown(member)} did not let go of partitions within "
                f"{member.rebalance_timeout_ms} ms"
            )
        if self._sessions.is_disconnected(member.member_id):
            return f"member {_shown(member)} lost its connection and did not come back"
        return f"member {_shown(member)} was silent for its session"

    # Replies

    def _offer(self, member: Member, now: Moment) -> Reply:
        version = self._sessions.note_offer(member.member_id, member.assigned, now.monotonic_ms)
        return Reply(member.member_id, member.epoch, member.assigned, version)

    def _state_of(self, member: Member) -> Reply:
        version = self._sessions.version(member.member_id)
        return Reply(member.member_id, member.epoch, None, version)


def check_id(what: str, value: str) -> None:
    """Raise `InvalidRequestError` for an empty or a long id."""
    if not 0 < len(value) <= ID_CHARACTERS_MAX:
        raise InvalidRequestError(
            f"{what} of {len(value)} characters: send 1 to {ID_CHARACTERS_MAX}"
        )


def _check_join(request: Heartbeat) -> None:
    if request.rebalance_timeout_ms is None:
        raise InvalidRequestError("a joining member has to send rebalance_timeout_ms")
    if request.topics is None:
        raise InvalidRequestError("a joining member has to send its subscription")
    if request.owned:
        raise InvalidRequestError("a joining member owns nothing: let go of all partitions first")


def _with_fields(member: Member, request: Heartbeat) -> Member:
    """Apply the fields that the request names."""
    return replace(
        member,
        member_id=request.member_id,
        client_id=request.client_id or member.client_id,
        host=request.host or member.host,
        rack_id=_given(request.rack_id, member.rack_id),
        rebalance_timeout_ms=_given(request.rebalance_timeout_ms, member.rebalance_timeout_ms),
        topics=_given(request.topics, member.topics),
        pattern=_given(request.pattern, member.pattern),
        assignor=_given(request.assignor, member.assignor),
        # One that comes back begins at the assignment's epoch, as every newcomer.
        epoch=JOINING if member.epoch == AWAY else member.epoch,
    )


def _given(new: T | None, old: T) -> T:
    return old if new is None else new


def _cause(old: Member | None, member: Member) -> str | None:
    """Say why a group epoch has to begin; None: it has not."""
    if old is None:
        return f"member {_shown(member)} joined"
    if (old.topics, old.pattern) != (member.topics, member.pattern):
        return f"member {_shown(member)} changed its subscription"
    if old.assignor != member.assignor:
        return f"member {_shown(member)} wants another assignor"
    if old.rack_id != member.rack_id:
        return f"member {_shown(member)} moved to another rack"
    return None


def _shown(member: Member) -> str:
    name = member.instance_id or member.client_id
    return f"{member.member_id} ({name})" if name else member.member_id
