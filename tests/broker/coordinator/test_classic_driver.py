"""Members of a classic group that are killed, come back, lose answers; coordinators replaced."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from tests.broker.coordinator.classic_groups import Coordinator, request

from tidelog.broker.coordinator.classic_messages import (
    ClassicLimits,
    HeartbeatRequest,
    JoinAnswer,
    LeavingMember,
    MemberIdGivenError,
    SyncAnswer,
    SyncRequest,
    Ticket,
)
from tidelog.broker.coordinator.classic_record import from_value
from tidelog.core.errors import FencedInstanceIdError, KafkaError, UnknownMemberIdError

SEEDS, STEPS, SETTLING = 40, 600, 400
LIMITS = ClassicLimits(size_max=6, record_bytes_max=100_000)


@dataclass
class Client:
    """A member as its client is: what it was told, and what it waits for."""

    instance_id: str | None
    member_id: str = ""
    joined: JoinAnswer | None = None
    assignment: bytes | None = None
    ticket: Ticket | None = None


class Storm:
    """Clients and one coordinator after another."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.group = Coordinator(LIMITS)
        self.clients = [Client(f"desk-{one}" if one < 2 else None) for one in range(5)]
        self.assigned: dict[tuple[int, str], bytes] = {}
        self.generation = 0
        self.checked = 0
        """Records that were checked."""

    def step(self) -> None:
        """Do something to somebody."""
        client = self.random.choice(self.clients)
        dice = self.random.random()
        if dice < 0.80:
            self.act(client)
        elif dice < 0.83:
            client.ticket = None  # its connection broke: the answer is lost
        elif dice < 0.84:
            self.kill(client)
        elif dice < 0.85:
            self.leave(client)
        elif dice < 0.86:
            self.load()
        else:
            self.group.after(self.random.choice((100, 500, 500, 1_000, 1_000, 4_000, 12_000)))
        self.check()

    def kill(self, client: Client) -> None:
        self.clients[self.clients.index(client)] = Client(client.instance_id)

    def leave(self, client: Client) -> None:
        if client.member_id:
            self.group.leave(LeavingMember(client.member_id, client.instance_id))
        self.kill(client)

    def load(self) -> None:
        """Replace the coordinator; whoever waits hears nothing more."""
        self.group.load()
        for one in self.clients:
            one.ticket = None

    def act(self, client: Client) -> None:
        """Do what a client does next."""
        try:
            if client.ticket is not None:
                self.take(client)
            elif client.joined is None:
                self.join(client)
            elif client.assignment is None:
                self.sync(client, client.joined)
            else:
                beat = HeartbeatRequest(
                    client.member_id, client.joined.generation, client.instance_id
                )
                self.group.requests.heartbeat(beat, self.group.now)
        except KafkaError as error:
            self.heed(client, error)

    def heed(self, client: Client, error: KafkaError) -> None:
        client.joined = client.assignment = client.ticket = None
        if isinstance(error, (UnknownMemberIdError, FencedInstanceIdError)):
            client.member_id = ""

    def join(self, client: Client) -> None:
        join = request(client.member_id, client.instance_id, "range", "sticky")
        if self.random.random() < 0.1:
            join = replace(join, protocols=join.protocols[::-1])
        client.ticket = self.group.ticket()
        try:
            step = self.group.requests.join(
                join, client.ticket, f"id-{client.ticket}", self.group.now
            )
        except MemberIdGivenError as given:
            client.member_id, client.ticket = given.member_id, None
            return
        self.group.apply(step)

    def sync(self, client: Client, joined: JoinAnswer) -> None:
        assignments = {}
        if joined.leader == client.member_id and not joined.skip_assignment:
            parts = f"{joined.generation}-{self.random.random()}"
            assignments = {one.member_id: f"{parts}-{one.member_id}".encode()
                           for one in joined.members}  # fmt: skip
        client.ticket = self.group.ticket()
        self.group.apply(
            self.group.requests.sync(
                SyncRequest(
                    client.member_id, joined.generation, client.instance_id, assignments=assignments
                ),
                client.ticket,
                self.group.now,
            )
        )

    def take(self, client: Client) -> None:
        """Take an answer if there is one."""
        assert client.ticket is not None
        answer = self.group.answers.get(client.ticket)
        if answer is None:
            return
        client.ticket = None
        if isinstance(answer, KafkaError):
            raise answer
        if isinstance(answer, JoinAnswer):
            client.member_id, client.joined, client.assignment = answer.member_id, answer, None
        else:
            client.assignment = answer.assignment

    def check(self) -> None:
        """Check what holds always."""
        group = self.group.group
        assert group.generation >= self.generation, "a generation fell"
        self.generation = group.generation
        newest, self.checked = self.group.values[self.checked :], len(self.group.values)
        if newest:
            assert group.recorded == from_value(newest[-1]), "memory is not what the log says"
        for recorded in map(from_value, newest):
            for one in recorded.members.values() if recorded.is_complete else ():
                instance = one.instance_id or one.member_id
                held = self.assigned.setdefault((recorded.generation, instance), one.assignment)
                assert held == one.assignment, "two assignments in one generation"
        live = [one for one in self.clients if one.assignment and one.joined]
        told = [(one.joined.generation, one.assignment) for one in live if one.joined]
        assert len(told) == len(set(told)), "two members with one assignment"
        tickets = group.tickets
        assert len(tickets) == len(set(tickets))
        assert not set(tickets) & self.group.answers.keys()
        assert group.counted_bytes == sum(one.counted_bytes for one in group.members.values())

    def settle(self) -> None:
        """Let all be well for a while; everybody has its part of one generation then."""
        for _ in range(SETTLING):
            for client in self.clients:
                self.act(client)
            self.group.after(500)
            self.check()
        group = self.group.group
        assert self.group.state == "Stable", self.group.state
        assert {one.member_id for one in self.clients} == set(group.members)
        for one in self.clients:
            assert one.joined is not None
            assert one.joined.generation == group.generation
            assert one.assignment == group.recorded.members[one.member_id].assignment


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_group_survives_and_settles(seed: int) -> None:
    storm = Storm(seed)
    for _ in range(STEPS):
        storm.step()
    storm.settle()
    answers = storm.group.answers.values()
    assert sum(isinstance(one, JoinAnswer) for one in answers) > 20
    assert sum(isinstance(one, SyncAnswer) for one in answers) >= 5
