"""The transactional ids of one partition of `__transaction_state`: decides, and replays. Pure.

Each decision returns records and changes nothing; `replay` of a record alone changes the state.
What is not in the log begins again with each load: a transaction has its whole time-out again, and
all markers of a prepared one are written again, in this coordinator's epoch.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar, cast

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.state_bytes import StateBytes
from tidelog.broker.partition_adder import Producer, TransactionPartition, check_transactional_id
from tidelog.broker.transactions import transaction_requests as requests
from tidelog.broker.transactions.end_transactions import GroupEnd, Member, check_members, end_group
from tidelog.broker.transactions.transaction import (
    IDLE,
    PREPARED,
    State,
    Transaction,
    from_value,
    take,
)
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.broker.transactions.transaction_key import SEPARATOR
from tidelog.core.errors import (
    InvalidProducerIdMappingError,
    InvalidRequestError,
    InvalidTransactionTimeoutError,
    ThrottlingQuotaExceededError,
    TidelogError,
    TransactionalIdNotFoundError,
)
from tidelog.v1.coordinator_records_pb2 import TransactionValue

T = TypeVar("T")


class Decision(NamedTuple, Generic[T]):
    """Records of a request; once they are committed, its answer or its error."""

    records: list[CoordinatorRecord]
    reply: T
    refusal: TidelogError | None = None


class Attempt(NamedTuple):
    """Work of one coordinator on the markers of one transaction."""

    transactional_id: str
    producer: Producer
    """Producer of the markers, in the raised epoch."""
    is_commit: bool
    coordinator_epoch: int


class TransactionShard:
    """Transactional ids of one partition, as of one leader epoch of this broker."""

    def __init__(self, config: TransactionConfig, *, coordinator_epoch: int) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.transactions: dict[str, Transaction] = {}
        self._config = config
        self._opened_ms: dict[str, int | None] = {}  # monotonic; None: not looked at yet
        self._unmarked: dict[str, set[TransactionPartition]] = {}
        self._bytes = StateBytes()

    # Change

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record that was appended or loaded."""
        if record.key.WhichOneof("kind") != "transaction":
            return
        name = record.key.transaction.transactional_id
        value = cast("TransactionValue | None", record.value)  # as of `VALUE_TYPES`
        self._unmarked.pop(name, None)
        if value is None:
            self.transactions.pop(name, None)
            self._opened_ms.pop(name, None)
            self._bytes.note(name, 0)
            return
        one = self.transactions[name] = from_value(name, value)
        if one.state is State.Ongoing:
            self._opened_ms.setdefault(name, None)
        else:
            self._opened_ms.pop(name, None)
        if one.state in PREPARED:
            self._unmarked[name] = set(one.each_partition())
        self._bytes.note(name, len(name) + value.ByteSize())

    def replay_pending(self, record: CoordinatorRecord, producer_id: int) -> None:
        """See `Shard`: nobody writes here in a transaction."""

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """See `Shard`."""

    def pending_of(self, producer_id: int) -> list[CoordinatorRecord]:
        """See `Shard`."""
        del producer_id
        return []

    # Requests of producers

    def initialise(
        self,
        name: str,
        *,
        timeout_ms: int,
        expected: Producer | None,
        fresh_ids: Iterator[int],
        now: Moment,
    ) -> Decision[Producer | None]:
        """Initialise a producer (InitProducerId). Raises `KafkaError`: nothing has changed.

        `timeout_ms`: 0 is the longest that is allowed.
        """
        check_transactional_id(name)
        limit = self._config.transaction_max_timeout_ms
        if not 0 <= timeout_ms <= limit:
            raise InvalidTransactionTimeoutError(
                f"a transaction timeout of {timeout_ms} ms: 0 to {limit}, "
                "transaction.max.timeout.ms"
            )
        timeout_ms = timeout_ms or limit
        known = self.transactions.get(name)
        if known is None:
            self._check_room(is_new=True)
            producer = Producer(take(fresh_ids), 0)
            one = Transaction(name, producer, timeout_ms=timeout_ms, update_ms=now.wall_ms)
            return Decision([one.record()], producer)
        step = requests.initialise(
            known, expected, fresh_ids, timeout_ms=timeout_ms, now_ms=now.wall_ms
        )
        if isinstance(step, Transaction):
            return Decision([step.record()], None, requests.concurrent(known))
        return Decision(_records(step.after), step.producer)

    def add_partitions(
        self,
        name: str,
        producer: Producer,
        partitions: Sequence[TransactionPartition],
        now: Moment,
    ) -> Decision[None]:
        """Add partitions to the open transaction, or begin one. Raises `KafkaError`."""
        one = self._of_producer(name)
        if not partitions:
            raise InvalidRequestError("no partitions to add: name one at least")
        after = requests.add_partitions(one, producer, partitions, now_ms=now.wall_ms)
        if after is None:
            return Decision([], None)
        record = after.record()
        size = 0 if record.value is None else record.value.ByteSize()
        if size > self._config.transaction_record_bytes_max:
            raise InvalidRequestError(
                f"transactional id {name!r}: with these partitions its record has {size} bytes, at "
                f"most {self._config.transaction_record_bytes_max}: write to fewer in a transaction"
            )
        self._check_room(is_new=False)
        return Decision([record], None)

    def end(
        self,
        name: str,
        producer: Producer,
        *,
        is_commit: bool,
        fresh_ids: Iterator[int],
        now: Moment,
    ) -> Decision[Producer]:
        """End the transaction; the reply is the next one's producer. Raises `KafkaError`."""
        step = requests.end(
            self._of_producer(name), producer, fresh_ids, is_commit=is_commit, now_ms=now.wall_ms
        )
        return Decision(_records(step.after), step.producer)

    def end_group(
        self, group: str, members: Sequence[Member], fresh_ids: Iterator[int], now: Moment
    ) -> GroupEnd:
        """End transactions of a prefix together (EndTransactions). Raises `KafkaError`."""
        check_members(group, members)
        return end_group(
            members,
            known=self.transactions,
            open_ids=sorted(one for one in self._opened_ms if one.startswith(group + SEPARATOR)),
            fresh_ids=fresh_ids,
            now_ms=now.wall_ms,
        )

    def abort(self, name: str, fresh_ids: Iterator[int], now: Moment) -> list[CoordinatorRecord]:
        """Abort an open transaction that its producer did not end; nothing where none is open."""
        one = self.transactions.get(name)
        if one is None or one.state is not State.Ongoing:
            return []
        return [one.fence(fresh_ids, now_ms=now.wall_ms, is_final=False).record()]

    # Markers

    @property
    def prepared(self) -> list[Attempt]:
        """Transactions that are decided, and whose markers are not all written."""
        return [self.attempt_of(name) for name in self._unmarked]

    @property
    def marked(self) -> list[Attempt]:
        """Transactions that are decided and lack nothing but the record that they are complete."""
        return [self.attempt_of(name) for name, lacking in self._unmarked.items() if not lacking]

    def attempt_of(self, name: str) -> Attempt:
        """Return the work on a prepared transaction's markers."""
        one = self.transactions[name]
        is_commit = one.state is State.PrepareCommit
        return Attempt(name, one.producer, is_commit, self.coordinator_epoch)

    def unmarked(self, attempt: Attempt) -> list[TransactionPartition]:
        """Partitions whose marker is not known to be written; none of another attempt."""
        return sorted(self._unmarked[attempt.transactional_id]) if self._is_at(attempt) else []

    def note_marked(self, attempt: Attempt, partitions: Iterable[TransactionPartition]) -> None:
        """Note that partitions have their marker, or are gone; ignored of another attempt."""
        if self._is_at(attempt):
            self._unmarked[attempt.transactional_id].difference_update(partitions)

    def complete(self, attempt: Attempt, now: Moment) -> list[CoordinatorRecord]:
        """Complete a transaction each partition of which has its marker; else nothing."""
        if not self._is_at(attempt) or self._unmarked[attempt.transactional_id]:
            return []
        one = self.transactions[attempt.transactional_id]
        return [one.complete(now_ms=now.wall_ms).record()]

    def _is_at(self, attempt: Attempt) -> bool:
        return (
            attempt.transactional_id in self._unmarked
            and self.attempt_of(attempt.transactional_id) == attempt
        )

    # Time

    def timed_out(self, now: Moment) -> list[str]:
        """Look for open transactions whose time is over: it counts from their recorded start.

        The first look at each, as after a load, finds by the wall clock for how long it is open;
        from then on the clock counts that only rises.
        """
        found: list[str] = []
        for name, opened_ms in self._opened_ms.items():
            if opened_ms is None:
                self._opened_ms[name] = now.monotonic_ms - self._open_for_ms(name, now)
            if self.is_late(name, now):
                found.append(name)
        return found

    def _open_for_ms(self, name: str, now: Moment) -> int:
        """Time since the recorded start, never negative: the clocks of two brokers differ."""
        start_ms = self.transactions[name].start_ms
        return 0 if start_ms is None else max(0, now.wall_ms - start_ms)

    def is_late(self, name: str, now: Moment) -> bool:
        """True for an open transaction whose time is over."""
        opened_ms = self._opened_ms.get(name)
        if opened_ms is None:
            return False
        return now.monotonic_ms - opened_ms >= self.transactions[name].timeout_ms

    def expire(self, name: str, now: Moment) -> list[CoordinatorRecord]:
        """Remove an idle id after transactional.id.expiration.ms."""
        one = self.transactions.get(name)
        age_ms = 0 if one is None else now.wall_ms - one.update_ms
        if one is None or one.state not in IDLE:
            return []
        return [one.expire()] if age_ms >= self._config.transactional_id_expiration_ms else []

    # Looks

    def describe(self, name: str) -> Transaction:
        """Find an id. Raises `TransactionalIdNotFoundError`."""
        check_transactional_id(name)
        one = self.transactions.get(name)
        if one is None:
            raise TransactionalIdNotFoundError(
                f"transactional id {name!r} is not known: check its name"
            )
        return one

    @property
    def open_count(self) -> int:
        """Number of open transactions."""
        return len(self._opened_ms)

    @property
    def state_bytes(self) -> int:
        """Bytes of all that is kept, about as many as in its records."""
        return self._bytes.total

    def _of_producer(self, name: str) -> Transaction:
        check_transactional_id(name)
        one = self.transactions.get(name)
        if one is None:
            raise InvalidProducerIdMappingError(
                f"transactional id {name!r} is not known, or was unused for too long: initialise "
                "the producer again"
            )
        return one

    def _check_room(self, *, is_new: bool) -> None:
        ids_max, bytes_max = (
            self._config.transactional_ids_max,
            self._config.transaction_partition_state_bytes,
        )
        if is_new and len(self.transactions) >= ids_max:
            raise ThrottlingQuotaExceededError(
                f"the coordinator's partition has {ids_max} transactional ids, its maximum: use "
                "fewer ids, again and again; unused ones go after transactional.id.expiration.ms"
            )
        if self.state_bytes >= bytes_max:
            raise ThrottlingQuotaExceededError(
                f"the coordinator's partition has {self.state_bytes} bytes of transactions, at "
                f"most {bytes_max}, transaction.partition.state.bytes: try again later"
            )


def _records(after: Transaction | None) -> list[CoordinatorRecord]:
    return [] if after is None else [after.record()]
