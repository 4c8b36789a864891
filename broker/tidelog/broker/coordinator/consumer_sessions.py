"""Sessions of the members of one group: who is alive, and what each was sent. Pure.

Kept in memory only. A coordinator that has loaded the group begins every session afresh, and
numbers assignments from another `first_version`, so that nothing that was sent before counts.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.broker.coordinator.consumer_member import JOINING, NOTHING, Member, Partitions

ENDED_KEPT = 500
"""Members that are gone and whose late requests are still refused, of each group."""


class Answered(NamedTuple):
    """An answer to a member that numbers nothing, see `ordered_heartbeats`."""

    connection: int
    """Number of the connection; later ones have higher numbers."""
    version: int
    """Number of the newest assignment that the member knows."""
    owned: Partitions | None
    """Partitions that it named as owned, while all answers had this number; None: it named none."""


@dataclass(slots=True)
class Session:
    """A member's time, and the newest assignment that it was sent."""

    heard_ms: int
    epoch: int = -1
    """Epoch of the newest request; -1: there was none."""
    version: int = 0
    """Number of the newest assignment that was sent; 0: none yet."""
    offered: Partitions | None = None
    """The newest assignment that was sent; None: none yet."""
    sequence: int = 0
    """Highest number of a request."""
    commit_sequence: int = 0
    """Highest number of a commit, or of the request by which the member joined."""
    revoking: Partitions = NOTHING
    """Partitions that the member had to let go of at the last look."""
    revoking_since_ms: int = 0
    is_fenced: bool = False
    disconnected_ms: int | None = None
    """Time at which the member's connection broke; None: it was heard since."""
    requested_ms: int | None = None
    """Time of the newest request; None: there was none since the coordinator loaded the group."""
    end_cause: str = ""
    """Reason for which the member is being removed; empty: it is not."""
    answered: Answered | None = None
    """The newest answer to a member that numbers nothing; None: there was none."""


class ConsumerSessions:
    """Sessions by member id; times are those of a clock that only rises."""

    def __init__(
        self, *, session_timeout_ms: int, disconnect_grace_ms: int, first_version: int
    ) -> None:
        self._timeout_ms = session_timeout_ms
        self._grace_ms = disconnect_grace_ms
        self._version = first_version
        self._by_member: dict[str, Session] = {}
        self._dismissed: dict[str, None] = {}
        self._ended: dict[str, int] = {}

    def begin(self, member_id: str, now_ms: int) -> Session:
        """Find the member's session; a member without one gets a full one now."""
        session = self._by_member.get(member_id)
        if session is None:
            session = self._by_member[member_id] = Session(now_ms)
        return session

    def is_late(self, member_id: str, sequence: int) -> bool:
        """True for a request that a later one of the member has overtaken; 0 is never late."""
        session = self._by_member.get(member_id)
        highest = self._ended.get(member_id, 0) if session is None else session.sequence
        return 0 < sequence <= highest

    def note_request(self, member_id: str, epoch: int, sequence: int, now_ms: int) -> None:
        """Renew the session."""
        session = self.begin(member_id, now_ms)
        session.epoch, session.end_cause = epoch, ""
        if epoch == JOINING:
            session.offered = None  # it has dropped what it was sent
        session.heard_ms, session.is_fenced, session.disconnected_ms = now_ms, False, None
        session.requested_ms = now_ms
        session.sequence = max(session.sequence, sequence)
        if epoch == JOINING:
            # What it asked to commit before is of partitions that it has lost.
            session.commit_sequence = max(session.commit_sequence, sequence)

    def note_commit(self, member_id: str, sequence: int) -> bool:
        """Note the number of a commit; False if that of an earlier one is higher.

        Parts of one request have one number.
        """
        session = self._by_member.get(member_id)
        if session is None:
            return True
        is_late = sequence < session.commit_sequence
        session.commit_sequence = max(session.commit_sequence, sequence)
        return not is_late

    def answered(self, member_id: str) -> Answered | None:
        """Return the newest answer to one that numbers nothing; None: there was none."""
        session = self._by_member.get(member_id)
        return None if session is None else session.answered

    def note_answered(self, member_id: str, answered: Answered) -> None:
        """Note an answer that is about to be sent."""
        session = self._by_member.get(member_id)
        if session is not None:
            session.answered = answered

    def silent_ms(self, member_id: str, now_ms: int) -> int | None:
        """Return the time since the member's newest request.

        None: it has made none since this coordinator loaded the group.
        """
        session = self._by_member.get(member_id)
        if session is None or session.requested_ms is None:
            return None
        return now_ms - session.requested_ms

    def note_disconnect(self, member_id: str, now_ms: int) -> None:
        """Begin the member's grace to come back."""
        self.begin(member_id, now_ms).disconnected_ms = now_ms

    def is_disconnected(self, member_id: str) -> bool:
        """True if the member's connection broke and it was not heard since."""
        session = self._by_member.get(member_id)
        return session is not None and session.disconnected_ms is not None

    def note_offer(self, member_id: str, assigned: Partitions, now_ms: int) -> int:
        """Number an assignment that is about to be sent; no number is used twice in a group.

        The newest one that is sent again keeps its number: with another one, requests that are on
        their way would name an old number each, and none of them would confirm anything.
        """
        session = self.begin(member_id, now_ms)
        if session.version and session.offered == assigned:
            return session.version
        self._version += 1
        session.version, session.offered = self._version, assigned
        return session.version

    def knows(self, member: Member, version: int) -> bool:
        """True if a request of this version was sent by one who knows the member's assignment."""
        session = self._by_member.get(member.member_id)
        return (
            session is not None
            and session.version == version
            and session.offered == member.assigned
        )

    def confirms(self, member: Member, version: int) -> bool:
        """True if a request of this version may say that the member has let go of partitions.

        One that was written before it heard of its newest assignment says nothing about that.
        """
        return self.knows(member, version)

    def fence(self, member_id: str) -> None:
        """Refuse the member until it joins again; its session runs out meanwhile."""
        session = self._by_member[member_id]
        if not session.is_fenced:
            session.is_fenced = True
            self._dismissed[member_id] = None

    def take_dismissed(self, members: Container[str]) -> list[str]:
        """Take those who were fenced or ended since the last look, and did not join again.

        A coordinator that loads the group reads of every removal, whatever became of the member.
        """
        dismissed, self._dismissed = self._dismissed, {}
        return [one for one in dismissed if one not in members or self.is_fenced(one)]

    def is_fenced(self, member_id: str) -> bool:
        """True if the member did not let go in time."""
        session = self._by_member.get(member_id)
        return session is not None and session.is_fenced

    def note_end(self, member_id: str, cause: str) -> None:
        """Note why a member is about to be removed."""
        session = self._by_member.get(member_id)
        if session is not None:
            session.end_cause = cause

    def end_cause(self, member_id: str) -> str:
        """Name the reason that `note_end` got; empty: the member stays."""
        session = self._by_member.get(member_id)
        return "" if session is None else session.end_cause

    def end(self, member_id: str) -> None:
        """Forget a member that is gone, but the number of its last request for a while."""
        session = self._by_member.pop(member_id, None)
        self._dismissed[member_id] = None
        if session is not None and session.sequence:
            self._ended[member_id] = session.sequence
        while len(self._ended) > ENDED_KEPT:
            del self._ended[next(iter(self._ended))]

    @property
    def count(self) -> int:
        """Number of sessions."""
        return len(self._by_member)

    def retain(self, member_ids: Container[str]) -> None:
        """Forget sessions of others: their joins were not appended."""
        for member_id in [one for one in self._by_member if one not in member_ids]:
            del self._by_member[member_id]

    def knows_epoch(self, member: Member) -> bool:
        """True if the member's newest request had its epoch."""
        session = self._by_member.get(member.member_id)
        return session is not None and session.epoch == member.epoch

    def version(self, member_id: str) -> int:
        """Number of the newest assignment that the member was sent."""
        session = self._by_member.get(member_id)
        return 0 if session is None else session.version

    def has_expired(self, member: Member, now_ms: int) -> bool:
        """True if the member was silent for its session, or did not come back in its grace.

        A member without a session begins it now.
        """
        session = self.begin(member.member_id, now_ms)
        if session.disconnected_ms is not None and (
            now_ms - session.disconnected_ms >= self._grace_ms
        ):
            return True
        return now_ms - session.heard_ms >= self._timeout_ms

    def is_stuck(self, member: Member, now_ms: int) -> bool:
        """True if the member did not let go of partitions within its rebalance timeout."""
        session = self.begin(member.member_id, now_ms)
        if session.revoking != member.revoking:
            session.revoking, session.revoking_since_ms = member.revoking, now_ms
        waited_ms = now_ms - session.revoking_since_ms
        return bool(member.revoking) and waited_ms >= member.rebalance_timeout_ms
