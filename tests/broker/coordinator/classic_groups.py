"""A group of the classic protocol under a hand-made coordinator: append at once, then replay."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tidelog.broker.coordinator.classic_group import ClassicGroup
from tidelog.broker.coordinator.classic_messages import (
    Answer,
    ClassicLimits,
    ClassicStep,
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveRequest,
    LeavingMember,
    MemberIdGivenError,
    MemberProtocol,
    SyncAnswer,
    SyncRequest,
    Ticket,
)
from tidelog.broker.coordinator.classic_record import Recorded, from_value
from tidelog.broker.coordinator.classic_requests import ClassicRequests
from tidelog.broker.coordinator.coordinator_records import decode, encode
from tidelog.broker.coordinator.moment import Moment
from tidelog.core.errors import KafkaError, code_name
from tidelog.v1.coordinator_records_pb2 import ClassicGroupValue

SESSION_MS, REBALANCE_MS, DELAY_MS = 10_000, 60_000, 3_000
WALL_AHEAD_MS = 3_600_000
LIMITS = ClassicLimits(size_max=4, record_bytes_max=4_000, initial_rebalance_delay_ms=DELAY_MS)


def request(
    member_id: str = "", instance_id: str | None = None, *protocols: str, metadata: bytes = b"m"
) -> JoinRequest:
    """Make a join of a consumer."""
    return JoinRequest(
        "consumer",
        tuple(MemberProtocol(name, metadata) for name in protocols or ("range",)),
        SESSION_MS,
        REBALANCE_MS,
        member_id,
        instance_id,
        client_id="c",
        host="here",
    )


class Coordinator:
    """Coordinates the group `g`; `answers` has what was answered by ticket."""

    def __init__(self, limits: ClassicLimits = LIMITS) -> None:
        self.limits = limits
        self.now_ms = 0
        self.values: list[ClassicGroupValue] = []
        self.answers: dict[Ticket, Answer | KafkaError] = {}
        self.tickets = 0
        self.load()

    @property
    def now(self) -> Moment:
        """Now; the wall clock is an hour ahead."""
        return Moment(self.now_ms, self.now_ms + WALL_AHEAD_MS)

    def load(self) -> None:
        """Begin as the coordinator of a later leader epoch, from the newest record alone."""
        self.group = ClassicGroup("g")
        self.requests = ClassicRequests(self.group, self.limits)
        if self.values:
            self.group.replay(self.values[-1])
        self.requests.after_load(self.now)

    def apply(self, step: ClassicStep) -> None:
        """Append a step, then answer; no ticket is answered twice."""
        for record in step.records:
            again = decode(*encode(record))
            assert again is not None
            assert isinstance(again.value, ClassicGroupValue)
            self.values.append(again.value)
            self.group.replay(again.value)
        for ticket, answer in step.answers:
            assert ticket not in self.answers, "answered twice"
            self.answers[ticket] = answer

    def ticket(self) -> Ticket:
        self.tickets += 1
        return self.tickets

    def send(self, join: JoinRequest) -> Ticket:
        """Send a join."""
        ticket = self.ticket()
        self.apply(self.requests.join(join, ticket, f"id-{ticket}", self.now))
        return ticket

    def refusal(self, join: JoinRequest) -> str:
        """Send a join that is refused at once; the error's name."""
        with pytest.raises(KafkaError) as refused:
            self.send(join)
        return code_name(refused.value.code)

    def join(self, *protocols: str, instance_id: str | None = None) -> Ticket:
        """Have a new member join, with the id that it is given."""
        first = request("", instance_id, *protocols)
        try:
            return self.send(first)
        except MemberIdGivenError as given:
            return self.send(request(given.member_id, instance_id, *protocols))

    def after(self, ms: int) -> None:
        """Let time pass, and the coordinator look."""
        self.now_ms += ms
        self.apply(self.requests.expire(self.now))

    def joined(self, ticket: Ticket) -> JoinAnswer:
        """Answer to a join."""
        answer = self.answers[ticket]
        assert isinstance(answer, JoinAnswer), answer
        return answer

    def sync(self, joined: JoinAnswer, assignments: Mapping[str, bytes] | None = None) -> Ticket:
        """Send a sync of one that has joined."""
        ticket = self.ticket()
        sync = SyncRequest(joined.member_id, joined.generation, assignments=assignments or {})
        self.apply(self.requests.sync(sync, ticket, self.now))
        return ticket

    def synced(self, ticket: Ticket) -> bytes:
        """Assignment in the answer to a sync."""
        answer = self.answers[ticket]
        assert isinstance(answer, SyncAnswer), answer
        return answer.assignment

    def heartbeat(self, joined: JoinAnswer) -> str:
        """Name the outcome of a heartbeat."""
        try:
            beat = HeartbeatRequest(joined.member_id, joined.generation)
            self.requests.heartbeat(beat, self.now)
        except KafkaError as error:
            return code_name(error.code)
        return "NONE"

    def leave(self, *members: LeavingMember) -> list[str]:
        """Name the outcomes of a leave."""
        decision = self.requests.leave(LeaveRequest(members), self.now)
        self.apply(decision.step)
        return ["NONE" if one is None else code_name(one.code) for one in decision.results]

    def refused(self, ticket: Ticket) -> str:
        """Name the error with which a waiting request was answered."""
        answer = self.answers[ticket]
        assert isinstance(answer, KafkaError), answer
        return code_name(answer.code)

    def settled(self, count: int, *instances: str) -> list[JoinAnswer]:
        """Have members join an empty group together, and get their assignments."""
        names = [*instances, *[None] * (count - len(instances))]
        tickets = [self.join(instance_id=name) for name in names]
        for _ in range(3):
            self.after(DELAY_MS)
        joined = [self.joined(one) for one in tickets]
        leader = next(one for one in joined if one.leader == one.member_id)
        everybody = {one.member_id: one.member_id.encode() for one in leader.members}
        for one in joined:
            self.sync(one, everybody if one is leader else None)
        assert self.state == "Stable"
        return joined

    @property
    def state(self) -> str:
        """Public name of the group's state."""
        return self.group.state.value

    @property
    def log(self) -> list[Recorded]:
        """Records, the newest last."""
        return [from_value(one) for one in self.values]
