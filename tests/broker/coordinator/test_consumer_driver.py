"""Random groups of the consumer protocol: no partition has two owners, whatever comes late.

Clients own what they were given and have not let go of; they drop it when they are fenced or were
not answered for a session. Requests and answers are delayed, repeated, reordered and lost;
coordinators are replaced and know the log alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.broker.coordinator.consumer_groups import REBALANCE_MS, SESSION_MS, Coordinator, orders

from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat, Reply
from tidelog.broker.coordinator.consumer_member import LEAVING, NOTHING, Partitions
from tidelog.core.chance import SeededRandom, one_of, shuffled
from tidelog.core.errors import FencedMemberEpochError, KafkaError, UnknownMemberIdError

SEEDS, STEPS = range(60), 250
CLIENTS = ("a", "b", "c")
NUMBERS = (0, 1, 2, 3)


@dataclass(slots=True)
class Client:
    """A member as it sees itself."""

    member_id: str
    epoch: int = 0
    version: int = 0
    owned: Partitions = NOTHING
    sequence: int = 0
    answered_ms: int = 0
    """Time of sending of the newest request that was answered."""
    is_member: bool = False

    def drop(self) -> None:
        """Let go of everything; the next request joins."""
        self.epoch, self.owned, self.is_member = 0, NOTHING, False

    def request(self) -> Heartbeat:
        """Ask with every field."""
        self.sequence += 1
        return Heartbeat(
            self.member_id,
            self.epoch,
            rebalance_timeout_ms=REBALANCE_MS,
            topics=frozenset({"orders"}),
            owned=self.owned,
            sequence=self.sequence,
            version=self.version,
        )

    def take(self, reply: Reply) -> None:
        """Carry out an answer or a push, unless a newer one came before."""
        if reply.version < self.version or reply.epoch < self.epoch:
            return
        if reply.assignment is not None:
            self.version, self.owned = reply.version, reply.assignment
        if reply.version == self.version:
            self.epoch, self.is_member = reply.epoch, True


class World:
    """One coordinator at a time, three clients, and what is on its way between them."""

    def __init__(self, seed: int) -> None:
        self.random = SeededRandom(seed)
        self.coordinator = Coordinator()
        self.clients = {name: Client(name) for name in CLIENTS}
        self.asked: list[tuple[Heartbeat, int, int]] = []
        self.answers: list[tuple[Reply | KafkaError, str, int, int]] = []

    def step(self) -> None:
        """Do one thing."""
        choice = self.random.randrange(0, 20)
        name = one_of(self.random, CLIENTS)
        if choice < 5:
            self.send(self.clients[name])
        elif choice < 9:
            self.receive()
        elif choice < 13:
            self.answer()
        elif choice < 15:
            self.assign()
        elif choice < 17:
            self.push(name)
        elif choice == 17:
            self.pass_ms(one_of(self.random, (1_000, 10_000, 20_000)))
        elif choice == 18 and self.random.random() < 0.3:
            self.leave(self.clients[name])
        elif choice == 19 and self.random.random() < 0.3:
            self.replace_coordinator()
        self.check()

    def send(self, client: Client) -> None:
        self.asked.append((client.request(), self.now_ms, self.coordinator.loads))

    def leave(self, client: Client) -> None:
        client.drop()
        client.sequence += 1
        leave = Heartbeat(client.member_id, LEAVING, sequence=client.sequence)
        self.asked.append((leave, self.now_ms, self.coordinator.loads))

    def receive(self) -> None:
        """Let a request arrive; perhaps it stays on its way, to arrive again."""
        if not self.asked:
            return
        at = self.random.randrange(0, len(self.asked))
        request, sent_ms, addressee = self.asked[at]
        if self.random.random() < 0.7:
            del self.asked[at]
        if addressee != self.coordinator.loads:
            return  # for a coordinator that is no more
        answer: Reply | KafkaError
        try:
            answer = self.coordinator.ask(request)
        except KafkaError as error:
            answer = error
        if request.epoch != LEAVING:
            self.answers.append((answer, request.member_id, sent_ms, request.sequence))

    def answer(self) -> None:
        """Let an answer arrive, or be lost."""
        if not self.answers:
            return
        at = self.random.randrange(0, len(self.answers))
        answer, name, sent_ms, sequence = self.answers.pop(at)
        client = self.clients[name]
        if self.random.random() < 0.2 or 0 < sequence < client.sequence:
            return  # lost, or no longer awaited
        if not sequence and not client.is_member:
            return  # a push to one that has dropped everything
        if isinstance(answer, (FencedMemberEpochError, UnknownMemberIdError)):
            client.drop()
        elif isinstance(answer, Reply):
            client.take(answer)
            if sequence:
                client.answered_ms = max(client.answered_ms, sent_ms)

    def assign(self) -> None:
        """Deal the partitions to the members at random."""
        members = shuffled(self.random, sorted(self.coordinator.group.members))
        if members:
            dealt = [one_of(self.random, members) for _ in NUMBERS]
            self.coordinator.assign(
                **{name: orders(*(n for n in NUMBERS if dealt[n] == name)) for name in members}
            )

    def push(self, name: str) -> None:
        if name in self.coordinator.group.members:
            reply = self.coordinator.push(name)
            if reply is not None:
                self.answers.append((reply, name, 0, 0))

    def pass_ms(self, duration_ms: int) -> None:
        """Let time pass; clients look at their own clocks first, as they would all along."""
        for client in self.clients.values():
            if self.now_ms + duration_ms - client.answered_ms >= SESSION_MS:
                client.drop()
        self.coordinator.pass_ms(duration_ms)

    def replace_coordinator(self) -> None:
        self.coordinator.load()
        self.coordinator.pass_ms(0)

    @property
    def now_ms(self) -> int:
        return self.coordinator.now_ms

    def check(self) -> None:
        """No partition has two owners; the log gives the state in memory; epochs do not fall."""
        owned = [partition for one in self.clients.values() for partition in one.owned]
        assert len(owned) == len(set(owned)), self.clients
        for member in self.coordinator.group.members.values():
            for partition in member.held:
                assert self.coordinator.group.holder(partition) == member.member_id
            assert not member.assigned & member.revoking

    def settle(self) -> None:
        """Everything arrives, nothing is late: the group comes to rest."""
        self.asked.clear()
        self.answers.clear()
        for _ in range(12):
            for client in self.clients.values():
                sent = client.request()
                try:
                    client.take(self.coordinator.ask(sent))
                except KafkaError:
                    client.drop()
            if self.coordinator.group.needs_assignment:
                self.coordinator.assign(a=orders(0, 1), b=orders(2), c=orders(3))
            self.check()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_partition_has_two_owners_and_the_group_comes_to_rest(seed: int) -> None:
    world = World(seed)
    epochs = [0]
    for _ in range(STEPS):
        world.step()
        epochs.append(world.coordinator.group.state.epoch)
    assert epochs == sorted(epochs)
    state = (world.coordinator.group.state, world.coordinator.group.members)
    world.coordinator.load()
    assert state == (world.coordinator.group.state, world.coordinator.group.members)
    world.clients["a"].drop()
    world.coordinator.append(
        world.coordinator.group.begin("test", world.now_ms, world.coordinator.topics)
    )
    world.settle()
    owned = {name: client.owned for name, client in world.clients.items()}
    assert owned == {"a": orders(0, 1), "b": orders(2), "c": orders(3)}
