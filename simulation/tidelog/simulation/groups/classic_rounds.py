"""A classic group seen from inside its coordinator, after each of its steps (I24).

    barrier   a generation begins when each member of the group has joined, or the time to join is
              over
    removal   a member goes when it leaves, when it was silent for a session, counted from the
              newest of its requests that was taken and from the load at the earliest, or when it
              missed the end of a round; a newcomer whose caller went has less time to come back,
              and none where it was not told its id

Reads the coordinator's objects, never changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.broker.coordinator.classic_group import ClassicGroup
from tidelog.broker.coordinator.classic_member import Member
from tidelog.broker.coordinator.classic_messages import LeaveRequest
from tidelog.broker.coordinator.classic_requests import NEW_MEMBER_RETURN_MS_MAX
from tidelog.chaos.invariants.invariant import Report

I24 = "I24"


class Seen(NamedTuple):
    """A member at a look."""

    instance_id: str | None
    session_ms: int
    """Time for which it may be silent."""
    is_waiting: bool
    """True if a request of it waits and its first generation is behind it."""


@dataclass(slots=True)
class Look:
    """A group at a look; `begun` is an object that lasts as long as its memory does."""

    begun: object
    begun_ms: int
    generation: int
    members: dict[str, Seen]
    pending: dict[str, int]
    join_deadline_ms: int | None
    sync_deadline_ms: int | None
    heard: dict[str, int] = field(default_factory=dict)
    """By member, the arrival of its newest request that was taken."""


class ClassicRounds:
    """Calls `report` for each violation."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._looks: dict[int, Look] = {}
        """By node."""
        self._leaving: set[str] = set()
        """Member and instance ids that leaves have named; only asked, never gone through."""

    def on_heard(self, node_id: int, member_id: str, arrived_ms: int) -> None:
        """A member's request is taken, which arrived at `arrived_ms` by the node's clock."""
        look = self._looks.get(node_id)
        if look is not None:
            look.heard[member_id] = arrived_ms

    def on_leave(self, request: LeaveRequest) -> None:
        """A leave arrives."""
        for one in request.members:
            self._leaving |= {one.member_id, one.instance_id or ""}

    def look(self, node_id: int, group: ClassicGroup, now_ms: int) -> None:
        """Compare the group at a node with how it was before this step."""
        before, now = self._looks.get(node_id), _look(group, now_ms)
        self._looks[node_id] = now
        if before is None or before.begun is not now.begun:
            return
        now.begun_ms, now.heard = before.begun_ms, before.heard
        for member_id, seen in before.members.items():
            if member_id not in now.members:
                why = self._why_it_stays(before, member_id, seen, group, now_ms)
                if why:
                    self._report(I24, f"{member_id} was removed, {why}")
        if now.generation > before.generation and not _is_over(before.join_deadline_ms, now_ms):
            for late in self._unjoined(before, now, group, now_ms):
                self._report(I24, f"generation {now.generation} began before {late} had joined")

    def _why_it_stays(
        self, before: Look, member_id: str, seen: Seen, group: ClassicGroup, now_ms: int
    ) -> str:
        """Say why a member may not go; empty: it may."""
        if self._has_left(member_id, seen) or group.instance(seen.instance_id) is not None:
            return ""
        if _is_over(before.join_deadline_ms, now_ms) or _is_over(before.sync_deadline_ms, now_ms):
            return ""
        if seen.is_waiting:
            return "while it waited for its answer"
        silent_ms = now_ms - max(before.begun_ms, before.heard.get(member_id, 0))
        if silent_ms < seen.session_ms:
            return f"{silent_ms} ms after it was heard, or loaded"
        return ""

    def _has_left(self, member_id: str, seen: Seen) -> bool:
        return member_id in self._leaving or (seen.instance_id or "-") in self._leaving

    def _unjoined(self, before: Look, now: Look, group: ClassicGroup, now_ms: int) -> Iterator[str]:
        for member_id in before.members:
            if member_id in now.members and member_id not in group.round.unsynced:
                yield member_id
        # A group that its last member has left has nobody to wait for.
        for member_id, end_ms in before.pending.items() if now.members else ():
            is_gone = member_id in self._leaving or end_ms <= now_ms
            if not is_gone and member_id not in now.members:
                yield member_id


def _look(group: ClassicGroup, now_ms: int) -> Look:
    return Look(
        group._instances,  # noqa: SLF001  # another object when the group begins again
        now_ms,
        group.generation,
        {
            one.member_id: Seen(one.instance_id, _session_ms(one), one.is_exempt)
            for one in group.members.values()
        },
        dict(group.pending),
        group.round.join_deadline_ms,
        group.round.sync_deadline_ms,
    )


def _session_ms(member: Member) -> int:
    if not member.is_new or member.ticket is not None:
        return member.session_timeout_ms
    return min(member.session_timeout_ms, NEW_MEMBER_RETURN_MS_MAX) if member.knows_id else 0


def _is_over(deadline_ms: int | None, now_ms: int) -> bool:
    return deadline_ms is not None and deadline_ms <= now_ms
