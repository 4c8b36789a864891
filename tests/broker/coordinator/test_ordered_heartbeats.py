"""Members that number nothing, as Kafka's clients: a partition has one owner, whatever comes late.

A client has one request at a time on a connection that keeps order, and names what it owns when
that has changed, and in the first request of a connection. Connections break with requests and
answers on their way; what was sent on an earlier one may arrive at any later time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from tests.broker.coordinator.consumer_groups import (
    REBALANCE_MS,
    Coordinator,
    joining,
    orders,
)

from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat, Reply
from tidelog.broker.coordinator.consumer_member import JOINING, NOTHING, Partitions
from tidelog.broker.coordinator.consumer_sessions import Answered
from tidelog.broker.coordinator.ordered_heartbeats import answered, is_late, numbered
from tidelog.core.chance import SeededRandom, one_of, shuffled
from tidelog.core.errors import KafkaError

SEEDS, STEPS = range(60), 300
NUMBERS = (0, 1, 2, 3)


def ask_in_order(coordinator: Coordinator, request: Heartbeat, connection: int) -> Reply | None:
    """Answer a request as a coordinator's listener does; None: it came late."""
    newest = coordinator.sessions.answered(request.member_id)
    if is_late(connection, newest):
        return None
    request = numbered(request, connection, newest)
    reply = coordinator.ask(request)
    note = answered(request, reply, connection, newest)
    coordinator.sessions.note_answered(request.member_id, note)
    return reply


@dataclass(slots=True)
class Client:
    """A member as it sees itself."""

    member_id: str
    connection: int
    epoch: int = JOINING
    owned: Partitions = NOTHING
    target: Partitions | None = None
    """An assignment that is being carried out, to its end whatever comes meanwhile."""
    next_target: Partitions | None = None
    has_to_say: bool = True
    """Whether its next request names what it owns."""
    is_waiting: bool = False

    def request(self) -> Heartbeat:
        """Ask with what has changed since the last request, as Kafka's clients do."""
        owned = self.owned if self.has_to_say else None
        self.is_waiting, self.has_to_say = True, False
        if self.epoch == JOINING:
            return joining(self.member_id)
        return Heartbeat(self.member_id, self.epoch, rebalance_timeout_ms=REBALANCE_MS, owned=owned)

    def take(self, reply: Reply) -> None:
        """Hear an answer; an assignment is begun at once, unless another one is not at its end."""
        self.is_waiting, self.epoch = False, reply.epoch
        if reply.assignment is not None:
            self.next_target = reply.assignment
        self.begin()

    def begin(self) -> None:
        """Begin what was given last, once all before is carried out and said."""
        if self.target is None and not self.has_to_say and self.next_target is not None:
            self.target = None if self.next_target == self.owned else self.next_target
            self.next_target = None

    def reconcile(self) -> None:
        """Let go of what is to go, or else take what is given; a request says it at the end."""
        self.begin()
        if self.target is None:
            return
        if self.owned - self.target:
            self.owned &= self.target
        else:
            self.owned, self.target, self.has_to_say = self.target, None, True

    @property
    def is_taking(self) -> bool:
        """True while it may come to own what it does not name yet: Kafka's clients are alike."""
        return self.target is not None and bool(self.target - self.owned)

    def drop(self, connection: int) -> None:
        """Let go of everything; the next request joins."""
        self.owned, self.target, self.next_target = NOTHING, None, None
        self.epoch, self.connection = JOINING, connection
        self.is_waiting, self.has_to_say = False, True


class World:
    """One coordinator, three clients, and what is on its way on connections, alive and broken."""

    def __init__(self, seed: int) -> None:
        self.random = SeededRandom(seed)
        self.coordinator = Coordinator()
        self.connections = 3
        self.clients = {name: Client(name, n) for n, name in enumerate("abc", start=1)}
        self.asked: list[tuple[Heartbeat, int]] = []
        self.answers: list[tuple[Reply | KafkaError, str, int]] = []

    def step(self) -> None:
        """Do one thing."""
        choice = self.random.randrange(0, 20)
        client = one_of(self.random, list(self.clients.values()))
        if choice < 6:
            self.send(client)
        elif choice < 11:
            self.receive()
        elif choice < 15:
            self.answer()
        elif choice < 17:
            client.reconcile()
        elif choice == 17:
            self.assign()
        elif choice == 18 and self.random.random() < 0.4:
            self.reconnect(client)
        elif choice == 19 and self.random.random() < 0.2:
            self.coordinator.load()
        self.check()

    def send(self, client: Client) -> None:
        if not client.is_waiting:
            self.asked.append((client.request(), client.connection))

    def receive(self) -> None:
        """Let the oldest request of a connection arrive, however late."""
        if not self.asked:
            return
        connection = one_of(self.random, sorted({one for _, one in self.asked}))
        asked = next(one for one in self.asked if one[1] == connection)
        self.asked.remove(asked)
        try:
            answer: Reply | KafkaError | None = ask_in_order(self.coordinator, *asked)
        except KafkaError as error:
            answer = error
        if answer is not None:
            self.answers.append((answer, asked[0].member_id, connection))

    def answer(self) -> None:
        """Let an answer arrive, unless its connection is broken."""
        if not self.answers:
            return
        at = self.random.randrange(0, len(self.answers))
        answer, name, connection = self.answers.pop(at)
        client = self.clients[name]
        if connection != client.connection:
            return
        if isinstance(answer, Reply):
            client.take(answer)
        else:
            client.drop(client.connection)

    def reconnect(self, client: Client) -> None:
        """Break a connection; the first request of the next one names what the client owns."""
        if client.is_taking:
            return
        self.connections += 1
        client.connection = self.connections
        client.is_waiting, client.has_to_say = False, True

    def assign(self) -> None:
        members = shuffled(self.random, sorted(self.coordinator.group.members))
        if members:
            dealt = [one_of(self.random, members) for _ in NUMBERS]
            self.coordinator.assign(
                **{name: orders(*(n for n in NUMBERS if dealt[n] == name)) for name in members}
            )

    def check(self) -> None:
        owned = [partition for one in self.clients.values() for partition in one.owned]
        assert len(owned) == len(set(owned)), self.clients

    def settle(self) -> None:
        """Nothing is late: the group comes to rest."""
        self.asked.clear()
        self.answers.clear()
        for client in self.clients.values():
            while client.target is not None:
                client.reconcile()
            self.reconnect(client)
        for _ in range(12):
            for client in self.clients.values():
                try:
                    reply = ask_in_order(self.coordinator, client.request(), client.connection)
                    assert reply is not None
                    client.take(reply)
                except KafkaError:
                    client.drop(client.connection)
                client.reconcile()
                client.reconcile()
            if self.coordinator.group.needs_assignment:
                self.coordinator.assign(a=orders(0, 1), b=orders(2), c=orders(3))
            self.check()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_partition_has_two_owners_and_the_group_comes_to_rest(seed: int) -> None:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.clients["a"].drop(world.clients["a"].connection)
    world.coordinator.append(
        world.coordinator.group.begin("test", world.coordinator.now_ms, world.coordinator.topics)
    )
    world.settle()
    owned = {name: client.owned for name, client in world.clients.items()}
    assert owned == {"a": orders(0, 1), "b": orders(2), "c": orders(3)}


def test_a_request_names_the_newest_answer_of_its_own_connection() -> None:
    request = Heartbeat("a", 5)
    newest = Answered(2, 7, orders(1))
    assert numbered(request, 2, newest) == replace(request, version=7, owned=orders(1))
    said = replace(request, owned=orders(3))
    assert numbered(said, 2, newest) == replace(said, version=7)
    assert numbered(request, 3, newest) == request
    assert numbered(request, 2, None) == request
    join = replace(request, epoch=JOINING)
    assert numbered(join, 2, newest) == join, "who joins owns nothing"
    assert [is_late(one, newest) for one in (1, 2, 3)] == [True, False, False]
    assert not is_late(1, None)


def test_what_a_first_request_owned_counts_when_the_member_has_said_that_it_is_so() -> None:
    coordinator = Coordinator()
    a, b = joining("a"), joining("b")
    reply = ask_in_order(coordinator, a, 1)
    assert reply is not None
    coordinator.assign(a=orders(0, 1))
    reply = ask_in_order(coordinator, Heartbeat("a", reply.epoch), 1)
    assert reply is not None
    assert reply.assignment == orders(0, 1)
    ask_in_order(coordinator, b, 2)
    coordinator.assign(a=orders(0), b=orders(1))
    reply = ask_in_order(coordinator, Heartbeat("a", reply.epoch, owned=orders(0, 1)), 1)
    assert reply is not None
    assert reply.assignment == orders(0)
    # It lets go; its connection breaks before it can say so.
    first = ask_in_order(coordinator, Heartbeat("a", reply.epoch, owned=orders(0)), 3)
    assert first is not None
    assert first.assignment == orders(0)
    assert coordinator.group.members["a"].revoking == orders(1), "it may have been written before"
    assert ask_in_order(coordinator, Heartbeat("a", first.epoch), 1) is None
    ask_in_order(coordinator, Heartbeat("a", first.epoch), 3)
    assert coordinator.group.members["a"].revoking == NOTHING
