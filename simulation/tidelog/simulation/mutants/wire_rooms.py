"""Mutants of rooms and turns: what wide, slow, unread and crowding strangers may take of a node."""
# they take the place of methods

from __future__ import annotations

from typing import Any

from tidelog.broker.coordinator.member_bytes import MemberBytes
from tidelog.broker.kafka.crowd import Crowd
from tidelog.broker.kafka.request_budget import REQUEST_COST_BYTES, RequestBudget, RequestRoom
from tidelog.core import turns
from tidelog.net.answer_budget import Answer, AnswerBudget
from tidelog.simulation.mutants.mutant import replaces


@replaces(turns, "turn")
async def wide_requests_in_one_step() -> None:
    """A wide request does not yield the loop to others."""


@replaces(RequestBudget, "_give")
def frames_reserved_whole(self: RequestBudget, room: RequestRoom) -> bool:
    """A frame has all its room when its size is announced; others wait behind, in one line."""
    line: dict[RequestRoom, None] = vars(self).setdefault("_line", {})
    line.setdefault(room)
    for one in list(line):
        if one is not room and one not in one.of.queue(is_small=one.is_small):
            del line[one]  # it has ended
    wanted = room.size_bytes - room.granted_bytes + REQUEST_COST_BYTES
    held = self.held_bytes
    if next(iter(line)) is not room or (held and held + wanted > self.bytes_max):
        return False
    del line[room]
    cost = 0 if room.held_bytes else REQUEST_COST_BYTES
    room.take(self._shared, room.size_bytes - room.granted_bytes + cost)
    return True


@replaces(AnswerBudget, "_give")
def answers_without_room(self: AnswerBudget, answer: Answer) -> bool:
    """An answer is made however many others nobody has read."""
    answer.take(self._shared)
    return True


@replaces(Crowd, "gives_way")
def idle_connections_stay(_self: Crowd[Any], _host: str, _now_s: float) -> Any:
    """No idle connection gives way to a newcomer."""
    return None


@replaces(MemberBytes, "check_room")
def members_without_room(
    _self: MemberBytes, _group_id: str, _host: str, _growth_bytes: int
) -> None:
    """Members join however much all of them hold already."""
