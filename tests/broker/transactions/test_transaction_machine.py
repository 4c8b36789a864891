"""Any order of requests, time-outs, markers and moves, compared with a model of what was decided.

The model knows what a client knows: producers by their answers, and for each transaction its one
decision. Markers arrive late, twice and from coordinators that are none any more; the log is
loaded as compaction may have left it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.broker.transactions.coordinated_ids import (
    P0,
    P1,
    TIMEOUT_MS,
    CoordinatedIds,
    compactions,
)

from tidelog.broker.partition_adder import Producer, TransactionPartition
from tidelog.broker.transactions.transaction import EPOCH_LAST, State, Transaction
from tidelog.broker.transactions.transaction_shard import Attempt
from tidelog.core.errors import (
    ConcurrentTransactionsError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    ProducerFencedError,
)

NAMES = ("g/1", "g/2", "h/1")
FENCED = (ProducerFencedError, InvalidProducerIdMappingError, InvalidProducerEpochError)
names = st.sampled_from(NAMES)
partitions = st.sampled_from([(P0,), (P1,), (P0, P1)])


@dataclass
class Client:
    """A producer process: what it was answered last."""

    producer: Producer
    is_newest: bool = True
    open: set[TransactionPartition] = field(default_factory=set)
    ended: tuple[Producer, bool, Producer] | None = None
    """Its newest end: as which producer, the decision, the answer."""


class Transactions(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.ids = CoordinatedIds()
        self.clients: dict[str, list[Client]] = {name: [] for name in NAMES}
        self.decisions: dict[tuple[str, Producer], bool] = {}
        """Of each producer id and raised epoch."""
        self.markers: dict[tuple[str, Producer], dict[TransactionPartition, bool]] = {}
        self.late: list[tuple[Attempt, tuple[TransactionPartition, ...]]] = []
        self.answered: set[tuple[str, Producer]] = set()
        self.parts: dict[str, set[TransactionPartition]] = {}

    # Clients

    @rule(name=names)
    def initialise(self, name: str) -> None:
        try:
            producer = self.ids.init(name)
        except ConcurrentTransactionsError:
            assert self.ids.shard.transactions[name].state in (
                State.PrepareAbort,
                State.PrepareCommit,
            )
            return
        assert (name, producer) not in self.answered, "two producers have the same epoch"
        self.answered.add((name, producer))
        for client in self.clients[name]:
            client.is_newest = False
        self.clients[name].append(Client(producer))

    @precondition(lambda self: any(self.clients.values()))
    @rule(data=st.data(), added=partitions)
    def add(self, data: st.DataObject, added: tuple[TransactionPartition, ...]) -> None:
        name, client = self.a_client(data)
        before = self.ids.shard.transactions[name].state
        try:
            self.ids.add(client.producer, *added, name=name)
        except ConcurrentTransactionsError:
            assert before in (State.PrepareAbort, State.PrepareCommit)
        except FENCED:
            assert not client.is_newest or self.was_decided(name, client.producer) is not None
        else:
            assert client.is_newest
            client.open |= set(added)
            client.ended = None
            assert set(self.ids.shard.transactions[name].each_partition()) == client.open

    @precondition(lambda self: any(self.clients.values()))
    @rule(data=st.data(), is_commit=st.booleans())
    def end(self, data: st.DataObject, is_commit: bool) -> None:
        name, client = self.a_client(data)
        before = self.ids.shard.transactions[name].state
        try:
            after = self.ids.end(client.producer, is_commit=is_commit, name=name)
        except ConcurrentTransactionsError:
            assert before in (State.PrepareAbort, State.PrepareCommit)
        except InvalidTxnStateError:
            assert not client.open or self.was_decided(name, client.producer) is True
        except FENCED:
            assert not client.is_newest or self.was_aborted(name, client.producer)
        else:
            assert self.was_decided(name, client.producer) is is_commit
            client.ended = (client.producer, is_commit, after)
            client.producer = after
            client.open.clear()

    @precondition(lambda self: any(self.clients.values()))
    @rule(data=st.data())
    def repeat_end(self, data: st.DataObject) -> None:
        """The answer was lost: it comes again while the newest client has not gone on."""
        name, client = self.a_client(data)
        if client.ended is None or not client.is_newest:
            return
        if self.ids.shard.transactions[name].last != client.ended[0]:
            return  # a later producer has begun to abort what is open
        producer, is_commit, answer = client.ended
        records = len(self.ids.log)
        assert self.ids.end(producer, is_commit=is_commit, name=name) == answer
        assert len(self.ids.log) == records

    @rule(data=st.data())
    def end_group(self, data: st.DataObject) -> None:
        members: dict[str, Client] = {
            name: client
            for name in ("g/1", "g/2")
            for client in self.clients[name]
            if client.open and data.draw(st.sampled_from([True, False]))
        }
        before = dict(self.ids.shard.transactions)
        try:
            self.ids.end_group("g", *((name, one.producer) for name, one in members.items()))
        except InvalidTxnStateError:
            for name, client in members.items():
                assert self.was_decided(name, client.producer) is not True or (
                    before[name].last == client.producer
                )
            decided = [self.was_decided(name, one.producer) for name, one in members.items()]
            assert not all(decided), "it says that none was committed"
        except ProducerFencedError:
            assert self.ids.shard.transactions == before
        else:
            for name, client in members.items():
                assert self.was_decided(name, client.producer) is True
            for name, one in self.ids.shard.transactions.items():
                assert (
                    one.state is not State.Ongoing
                    or not name.startswith("g/")
                    or (
                        before[name] == one
                        and all(
                            before[other].last == client.producer
                            for other, client in members.items()
                        )
                    )
                )

    # Time and markers

    @rule(ms=st.sampled_from([1, TIMEOUT_MS]))
    def pass_time(self, ms: int) -> None:
        self.ids.tick()
        self.ids.pass_ms(ms)
        self.ids.tick()

    @precondition(lambda self: self.ids.shard.prepared)
    @rule(data=st.data(), is_lost=st.booleans())
    def mark(self, data: st.DataObject, is_lost: bool) -> None:
        """A leader writes markers, as the log does it: by the epoch. Its answer may be late."""
        attempt = data.draw(st.sampled_from(self.ids.shard.prepared))
        lacking = self.ids.shard.unmarked(attempt)
        some = tuple(lacking[: data.draw(st.integers(0, len(lacking)))])
        written = self.markers.setdefault((attempt.transactional_id, attempt.producer), {})
        for one in some:
            assert written.setdefault(one, attempt.is_commit) is attempt.is_commit
        self.late.append((attempt, some))
        if not is_lost:
            self.ids.mark(attempt, *some)

    @precondition(lambda self: self.late)
    @rule(data=st.data())
    def answer_late(self, data: st.DataObject) -> None:
        attempt, some = data.draw(st.sampled_from(self.late))
        self.ids.mark(attempt, *some)

    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        """Another coordinator loads what compaction has left, and has the same state."""
        before = dict(self.ids.shard.transactions)
        cut = data.draw(st.integers(0, len(self.ids.log)))
        logs = list(compactions(self.ids.log))
        self.ids.move(logs[cut % len(logs)])
        assert self.ids.shard.transactions == before

    @rule(name=names)
    def use_up_epochs(self, name: str) -> None:
        """Jump to the last epoch that a producer has: an idle one has had many transactions."""
        one = self.ids.shard.transactions.get(name)
        newest = next((c for c in self.clients[name] if c.is_newest), None)
        if one is None or newest is None or one.state is not State.Empty:
            return
        if newest.producer != one.producer:
            return
        last = Producer(one.producer.id, EPOCH_LAST)
        self.answered.add((name, last))
        self.ids.write([Transaction(name, last, TIMEOUT_MS, self.ids.now.wall_ms).record()])
        newest.producer = last

    # What holds

    @invariant()
    def each_transaction_has_one_decision(self) -> None:
        for name, one in self.ids.shard.transactions.items():
            if one.state in (State.PrepareCommit, State.PrepareAbort):
                is_commit = one.state is State.PrepareCommit
                key = (name, one.producer)
                assert self.decisions.setdefault(key, is_commit) is is_commit
                self.parts.setdefault(name, set()).update(one.each_partition())

    @invariant()
    def what_is_complete_has_all_its_markers(self) -> None:
        for name, one in self.ids.shard.transactions.items():
            if one.state in (State.CompleteCommit, State.CompleteAbort):
                expected = self.parts.pop(name, set())
                newest = [key for key in self.markers if key[0] == name]
                written = self.markers[newest[-1]] if newest else {}
                assert expected <= set(written)

    def teardown(self) -> None:
        """Every open transaction ends: by its time-out at the latest, once markers are written."""
        self.ids.move()
        self.ids.tick()
        self.ids.pass_ms(TIMEOUT_MS)
        self.ids.tick()
        self.ids.complete()
        for one in self.ids.shard.transactions.values():
            assert one.state in (State.Empty, State.CompleteCommit, State.CompleteAbort)

    # Looks

    def a_client(self, data: st.DataObject) -> tuple[str, Client]:
        name = data.draw(st.sampled_from([one for one in NAMES if self.clients[one]]))
        return name, data.draw(st.sampled_from(self.clients[name][-2:]))

    def was_decided(self, name: str, producer: Producer) -> bool | None:
        self.each_transaction_has_one_decision()
        return self.decisions.get((name, Producer(producer.id, producer.epoch + 1)))

    def was_aborted(self, name: str, producer: Producer) -> bool:
        return self.was_decided(name, producer) is False


Transactions.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, phases=[Phase.generate]
)
TestTransactions = Transactions.TestCase
