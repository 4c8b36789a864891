"""A shard and its log: decisions are appended and replayed as the runtime does it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, decode, encode
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.partition_adder import Producer, Topic, TransactionPartition
from tidelog.broker.transactions.end_transactions import Member
from tidelog.broker.transactions.transaction import EDGES, ProducerIdNeededError, State, Transaction
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.broker.transactions.transaction_shard import Attempt, TransactionShard
from tidelog.core.errors import KafkaError

T = TypeVar("T")

TOPIC = Topic(b"t" * 16, "orders")
P0, P1 = TransactionPartition(TOPIC, 0), TransactionPartition(TOPIC, 1)
TIMEOUT_MS = 60_000


class CoordinatedIds:
    """The ids of one partition, with a clock, a log and producer ids from 100 on."""

    def __init__(self, config: TransactionConfig | None = None) -> None:
        self.config = config or TransactionConfig()
        self.log: list[CoordinatorRecord] = []
        self.batches: list[int] = []
        """Records of each decision."""
        self.now = Moment(1_000, 1_000_000)
        self.next_id = 100
        self.epoch = 5
        self.shard = TransactionShard(self.config, coordinator_epoch=self.epoch)

    def pass_ms(self, ms: int) -> None:
        self.now = Moment(self.now.monotonic_ms + ms, self.now.wall_ms + ms)

    def move(self, log: Sequence[CoordinatorRecord] | None = None) -> None:
        """Have another coordinator load the log, or what compaction left of it."""
        self.epoch += 1
        self.now = Moment(self.now.monotonic_ms - 900, self.now.wall_ms)  # its own clock
        self.shard = TransactionShard(self.config, coordinator_epoch=self.epoch)
        for record in self.log if log is None else log:
            self.shard.replay(record)

    def write(self, records: Sequence[CoordinatorRecord]) -> None:
        if records:
            self.batches.append(len(records))
        for record in records:
            name = record.key.transaction.transactional_id
            before = self.shard.transactions.get(name)
            decoded = decode(*encode(record))
            assert decoded is not None
            self.log.append(decoded)
            self.shard.replay(decoded)
            _check_step(before, self.shard.transactions.get(name))

    def with_ids(self, decide: Callable[[Iterator[int]], T]) -> T:
        ids: list[int] = []
        while True:
            try:
                return decide(iter(ids))
            except ProducerIdNeededError:
                ids.append(self.next_id)
                self.next_id += 1

    # Requests; what is refused raises

    def init(
        self, name: str = "a", expected: Producer | None = None, timeout_ms: int = TIMEOUT_MS
    ) -> Producer:
        decision = self.with_ids(
            lambda ids: self.shard.initialise(
                name, timeout_ms=timeout_ms, expected=expected, fresh_ids=ids, now=self.now
            )
        )
        self.write(decision.records)
        if decision.refusal is not None:
            raise decision.refusal
        assert decision.reply is not None
        return decision.reply

    def add(self, producer: Producer, *partitions: TransactionPartition, name: str = "a") -> int:
        """Add partitions; return the number of records."""
        decision = self.shard.add_partitions(name, producer, partitions or (P0,), self.now)
        self.write(decision.records)
        return len(decision.records)

    def end(self, producer: Producer, *, is_commit: bool = True, name: str = "a") -> Producer:
        decision = self.with_ids(
            lambda ids: self.shard.end(
                name, producer, is_commit=is_commit, fresh_ids=ids, now=self.now
            )
        )
        self.write(decision.records)
        return decision.reply

    def end_group(self, group: str, *members: tuple[str, Producer]) -> int:
        """End transactions of a group; return the number of records."""
        named = [Member(*one) for one in members]
        end = self.with_ids(lambda ids: self.shard.end_group(group, named, ids, self.now))
        self.write(end.records)
        if end.refusal is not None:
            raise end.refusal
        return len(end.records)

    def tick(self) -> list[str]:
        """Abort what has timed out."""
        found = self.shard.timed_out(self.now)
        for name in found:

            def decide(ids: Iterator[int], name: str = name) -> list[CoordinatorRecord]:
                return self.shard.abort(name, ids, self.now)

            self.write(self.with_ids(decide))
        return found

    def mark(self, attempt: Attempt, *partitions: TransactionPartition) -> None:
        """Have partitions answer, and complete what is ready."""
        self.shard.note_marked(attempt, partitions)
        self.write(self.shard.complete(attempt, self.now))

    def complete(self) -> list[Attempt]:
        """Have all partitions of all prepared transactions answer."""
        attempts = self.shard.prepared
        for attempt in attempts:
            self.mark(attempt, *self.shard.unmarked(attempt))
        return attempts

    def begun(self, name: str = "a", *partitions: TransactionPartition) -> Producer:
        """Begin a transaction of a new producer."""
        producer = self.init(name)
        self.add(producer, *partitions, name=name)
        return producer

    def state(self, name: str = "a") -> State:
        return self.shard.transactions[name].state


def _check_step(before: Transaction | None, after: Transaction | None) -> None:
    """Check what holds of each two records of an id: a legal edge, and epochs that never fall."""
    if before is None or after is None:
        return
    via = {State.PrepareAbort} if State.PrepareEpochFence in EDGES[before.state] else set()
    assert after.state in EDGES[before.state] | via, (before, after)
    if after.producer.id == before.producer.id:
        assert after.producer.epoch >= before.producer.epoch
    else:
        assert after.producer.epoch == 0


def refusal(call: Callable[[], object]) -> str:
    """Name of the error that a call raises."""
    try:
        call()
    except KafkaError as error:
        return type(error).__name__.removesuffix("Error")
    return "none"


def compactions(log: Sequence[CoordinatorRecord]) -> Iterator[list[CoordinatorRecord]]:
    """Logs that compaction may leave: at each place of a cut, the newest of each key before it."""
    for cut in itertools.chain(range(0, len(log), 3), [len(log)]):
        newest = {encode(one).key: number for number, one in enumerate(log[:cut])}
        kept = sorted(newest.values())
        yield [*(log[number] for number in kept), *log[cut:]]
