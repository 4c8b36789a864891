"""A transactional id: its producer, and the state of the newest transaction. Pure.

A value; its methods make the next one, and refuse what is no edge of Kafka's:

    from                      to                   by
    (none), Empty, Complete*  Empty                InitProducerId: epoch + 1, or a new id
    Empty, Complete*, Ongoing Ongoing              partitions are added
    Ongoing                   PrepareCommit        EndTxn: epoch + 1
    Ongoing                   PrepareAbort         EndTxn: epoch + 1
    Ongoing                   PrepareEpochFence    InitProducerId, a time-out, EndTransactions:
    PrepareEpochFence         PrepareAbort         both edges in one decision, epoch + 1 once
    Empty, Complete*          PrepareAbort         EndTxn of an empty transaction: epoch + 1
    Prepare*                  Complete*            each partition has its marker
    Empty, Complete*          Dead                 unused for transactional.id.expiration.ms

The epoch is raised when the end is decided (KIP-890, version 2): markers carry it, and what is late
has an older one. 32,767 is in markers alone: where the raised epoch is that one, the producer goes
on with another producer id, in epoch 0.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.partition_adder import Producer, Topic, TransactionPartition
from tidelog.core.errors import invariant
from tidelog.v1.coordinator_records_pb2 import CoordinatorKey, TransactionKey, TransactionValue

__all__ = ["Producer", "Topic", "TransactionPartition"]  # defined below the rooms that share them

EPOCH_LAST = 32_766
"""Highest epoch in which a producer writes; the markers of its end have 32,767."""
GROWTH_BYTES_MAX = 32
"""Bytes by which a record grows from the transaction's last addition to its decision."""


class State(Enum):
    """Kafka's states, by its names and numbers."""

    Empty = 0
    Ongoing = 1
    PrepareCommit = 2
    PrepareAbort = 3
    CompleteCommit = 4
    CompleteAbort = 5
    Dead = 6
    PrepareEpochFence = 7


PREPARED = frozenset({State.PrepareCommit, State.PrepareAbort})
IDLE = frozenset({State.Empty, State.CompleteCommit, State.CompleteAbort})
COMMITTED = frozenset({State.PrepareCommit, State.CompleteCommit})
ABORTED = frozenset({State.PrepareAbort, State.CompleteAbort})
EDGES: Mapping[State, frozenset[State]] = {
    **dict.fromkeys(IDLE, frozenset({State.Empty, State.Ongoing, State.PrepareAbort, State.Dead})),
    State.Ongoing: frozenset({State.Ongoing, State.PrepareEpochFence, *PREPARED}),
    State.PrepareEpochFence: frozenset({State.PrepareAbort}),
    State.PrepareCommit: frozenset({State.CompleteCommit}),
    State.PrepareAbort: frozenset({State.CompleteAbort}),
    State.Dead: frozenset(),
}
"""States that may follow each."""


class ProducerIdNeededError(Exception):
    """The decision takes a new producer id: have one allocated, then decide again."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """State of a transactional id; times of the wall clock."""

    transactional_id: str
    producer: Producer
    timeout_ms: int
    update_ms: int
    state: State = State.Empty
    last: Producer | None = None
    """Producer before the last change of id or epoch, whose request may come again."""
    next_producer_id: int | None = None
    """Producer id of the transactions after this one, which is prepared."""
    partitions: Mapping[Topic, frozenset[int]] = field(default_factory=dict)
    start_ms: int | None = None

    @property
    def following(self) -> Producer:
        """Producer of the next transaction: what the answer to an end says."""
        if self.next_producer_id is not None:
            return Producer(self.next_producer_id, 0)
        return self.producer

    @property
    def needs_producer_id(self) -> bool:
        """True when the next epoch is of markers alone."""
        return self.producer.epoch >= EPOCH_LAST

    def each_partition(self) -> Iterator[TransactionPartition]:
        """Partitions in order."""
        for topic in sorted(self.partitions):
            for number in sorted(self.partitions[topic]):
                yield TransactionPartition(topic, number)

    def has(self, partition: TransactionPartition) -> bool:
        """True for a partition of the transaction."""
        return partition.number in self.partitions.get(partition.topic, ())

    # Edges

    def initialise(
        self, fresh_ids: Iterator[int], *, timeout_ms: int, now_ms: int, is_fencing: bool
    ) -> Transaction:
        """Begin another epoch, or id, of an idle producer.

        `is_fencing`: not asked for by the producer itself, whose requests are refused from now on.
        """
        return self._move(
            State.Empty,
            producer=self._raised(fresh_ids, is_rotated_at_once=True),
            last=None if is_fencing else self.producer,
            timeout_ms=timeout_ms,
            start_ms=None,
            update_ms=now_ms,
        )

    def add(self, added: Iterator[TransactionPartition], *, now_ms: int) -> Transaction:
        """Add partitions; the first ones begin the transaction."""
        partitions: dict[Topic, set[int]] = {
            topic: set(numbers) for topic, numbers in self.partitions.items()
        }
        for one in added:
            partitions.setdefault(one.topic, set()).add(one.number)
        return self._move(
            State.Ongoing,
            partitions={topic: frozenset(numbers) for topic, numbers in partitions.items()},
            # Its producer goes on: nobody waits for an answer to the request before.
            last=None,
            start_ms=self.start_ms if self.state is State.Ongoing else now_ms,
            update_ms=now_ms,
        )

    def prepare(self, fresh_ids: Iterator[int], *, is_commit: bool, now_ms: int) -> Transaction:
        """Decide the end, as the producer asked."""
        raised = self._raised(fresh_ids, is_rotated_at_once=False)
        return self._move(
            State.PrepareCommit if is_commit else State.PrepareAbort,
            producer=Producer(self.producer.id, self.producer.epoch + 1),
            last=self.producer,
            next_producer_id=None if raised.id == self.producer.id else raised.id,
            start_ms=now_ms if self.state in IDLE else self.start_ms,
            update_ms=now_ms,
        )

    def fence(self, fresh_ids: Iterator[int], *, now_ms: int, is_final: bool) -> Transaction:
        """Abort an open transaction that its producer did not end.

        `is_final`: another producer comes, and this one's requests are refused from now on.
        """
        fenced = self._move(State.PrepareEpochFence)
        aborted = fenced.prepare(fresh_ids, is_commit=False, now_ms=now_ms)
        return replace(aborted, last=None) if is_final else aborted

    def complete(self, *, now_ms: int) -> Transaction:
        """End a prepared transaction, each partition of which has its marker."""
        is_commit = self.state is State.PrepareCommit
        return self._move(
            State.CompleteCommit if is_commit else State.CompleteAbort,
            producer=self.following,
            next_producer_id=None,
            partitions={},
            update_ms=now_ms,
        )

    def expire(self) -> CoordinatorRecord:
        """Remove an idle id."""
        self._move(State.Dead)
        return CoordinatorRecord(key_of(self.transactional_id), None)

    def _raised(self, fresh_ids: Iterator[int], *, is_rotated_at_once: bool) -> Producer:
        if not self.needs_producer_id:
            return Producer(self.producer.id, self.producer.epoch + 1)
        invariant(
            is_rotated_at_once or self.producer.epoch == EPOCH_LAST,
            "no epoch is left for the markers",
            self.producer,
        )
        return Producer(take(fresh_ids), 0)

    def _move(self, to: State, **changes: object) -> Transaction:
        invariant(to in EDGES[self.state], "no edge", self.transactional_id, self.state, to)
        return replace(self, state=to, **changes)  # type: ignore[arg-type]  # by their names

    # Records

    def record(self) -> CoordinatorRecord:
        """Make the record of this state."""
        value = TransactionValue(
            producer_id=self.producer.id,
            producer_epoch=self.producer.epoch,
            next_producer_id=self.next_producer_id,
            state=TransactionValue.State.Name(self.state.value),  # Dead and the fence have none
            timeout_ms=self.timeout_ms,
            topics=[
                TransactionValue.Topic(
                    topic_id=topic.id, topic=topic.name, partitions=sorted(self.partitions[topic])
                )
                for topic in sorted(self.partitions)
            ],
            start_ms=self.start_ms,
            update_ms=self.update_ms,
        )
        if self.last is not None:
            value.previous_producer_id, value.last_epoch = self.last
        return CoordinatorRecord(key_of(self.transactional_id), value)


def from_value(transactional_id: str, value: TransactionValue) -> Transaction:
    """Read a record."""
    has_last = value.HasField("previous_producer_id") and value.HasField("last_epoch")
    return Transaction(
        transactional_id,
        Producer(value.producer_id, value.producer_epoch),
        timeout_ms=value.timeout_ms,
        update_ms=value.update_ms,
        state=State(value.state),
        last=Producer(value.previous_producer_id, value.last_epoch) if has_last else None,
        next_producer_id=value.next_producer_id if value.HasField("next_producer_id") else None,
        partitions={
            Topic(one.topic_id, one.topic): frozenset(one.partitions) for one in value.topics
        },
        start_ms=value.start_ms if value.HasField("start_ms") else None,
    )


def key_of(transactional_id: str) -> CoordinatorKey:
    """Make the key of an id's records."""
    return CoordinatorKey(transaction=TransactionKey(transactional_id=transactional_id))


def take(fresh_ids: Iterator[int]) -> int:
    """Take an allocated producer id. Raises `ProducerIdNeededError`."""
    found = next(fresh_ids, None)
    if found is None:
        raise ProducerIdNeededError
    return found
