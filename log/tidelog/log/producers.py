"""State of idempotent and transactional producers in one log. Pure (KIP-98, KIP-360).

Owns the last five batches of each producer id in its newest epoch, and which transactions are open:

    a batch of ...                       whose base sequence is ...       check says
    an unknown producer id               any                              append
    the known epoch                      the last one + 1                 append
    the known epoch                      that of one of the last five,    duplicate: answer with it
                                         and its last sequence too
    the known epoch                      anything else                    OutOfOrderSequenceError
    a newer epoch                        0                                append
    a newer epoch                        anything else                    OutOfOrderSequenceError
    an older epoch                       any                              InvalidProducerEpochError

A transaction is one epoch long: its marker carries the next one (KIP-890, version 2), which fences
what is late. So a transactional batch of an unknown producer begins at sequence 0, too, and

    a marker of ...            while its transaction is ...   check_marker says
    an unknown producer        -                              append
    a newer epoch              open or not                    append
    the known epoch            not open                       duplicate
    the known epoch            open                           InvalidProducerEpochError: it began
                                                              after that marker
    an older epoch             any                            InvalidProducerEpochError
    an older coordinator       any                            TransactionCoordinatorFencedError

Sequences count records and wrap from 2**31 - 1 to 0. Markers have none. A coordinator that writes
for a producer does not know its sequences: each of its batches begins at 0, and none is a duplicate
(Kafka's AppendOrigin.COORDINATOR). Never appends: the checks change nothing, `update` records an
appended batch. Facts: Kafka's ProducerStateManager, ProducerAppendInfo and ProducerStateEntry.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.core.errors import (
    InvalidProducerEpochError,
    InvalidRecordError,
    OutOfOrderSequenceError,
    ThrottlingQuotaExceededError,
    TransactionCoordinatorFencedError,
)
from tidelog.log.transactions import CompletedTransaction, EndedTransaction, Transactions
from tidelog.records.batch import (
    BATCHES_PER_PRODUCER_MAX,
    CONTROL_FLAG,
    SEQUENCE_MASK,
    TRANSACTIONAL_FLAG,
    BatchHeader,
)
from tidelog.records.records import ControlMarker

NO_COORDINATOR_EPOCH = -1
EPOCH_MAX = 2**15 - 1
"""Last epoch of a producer id; its owner gets another id then."""
PRODUCERS_MAX = 4096
"""Maximum remembered producers without an undecided transaction, and undecided transactions, of a
log."""
EXPIRATION_MS = 24 * 60 * 60 * 1000
"""Default time for which a silent producer is remembered (producer.id.expiration.ms)."""


class BatchMetadata(NamedTuple):
    """An appended batch; offsets and sequences of its first and last record, both inclusive."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp_ms: int
    """Max timestamp of the batch."""


class ProducerEntry(NamedTuple):
    """State of a producer after its newest batch or marker."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    timestamp_ms: int
    """Max timestamp of the newest batch or marker."""
    first_unstable_offset: int | None
    """First offset of its open transaction."""
    batches: tuple[BatchMetadata, ...]
    """Last batches of this epoch, oldest first."""


@dataclass(slots=True)
class _Producer:
    epoch: int
    coordinator_epoch: int = NO_COORDINATOR_EPOCH
    timestamp_ms: int = -1
    first_unstable_offset: int | None = None
    next_sequence: int = 0
    appended_at_ms: int | None = None
    """Local wall-clock time of the last append; None: none since the start."""
    marker_offset: int | None = None
    """Offset of the last marker; None: none since the start."""
    batches: list[BatchMetadata] = field(default_factory=list)

    def begin_epoch(self, epoch: int) -> None:
        self.epoch, self.next_sequence = epoch, 0
        self.batches.clear()

    def add(self, batch: BatchMetadata) -> None:
        self.batches.append(batch)
        if len(self.batches) > BATCHES_PER_PRODUCER_MAX:
            del self.batches[0]
        self.next_sequence = (batch.last_sequence + 1) & SEQUENCE_MASK


class ProducerStates:
    """Producers of one log, the longest silent first."""

    def __init__(self, *, producers_max: int = PRODUCERS_MAX, high_watermark: int = 0) -> None:
        self._producers: OrderedDict[int, _Producer] = OrderedDict()
        self.transactions = Transactions(high_watermark=high_watermark)
        """Undecided transactions."""
        self.forgotten = 0
        """Producers forgotten so far: evicted, or silent for too long."""
        self._producers_max = producers_max

    @classmethod
    def from_entries(
        cls,
        entries: Iterable[ProducerEntry],
        *,
        ended: Iterable[EndedTransaction] = (),
        high_watermark: int = 0,
    ) -> ProducerStates:
        """Build the state from `entries`, one per producer id, the longest silent first.

        `ended`: transactions that may be undecided for their marker, in the same records.
        """
        states = cls(high_watermark=high_watermark)
        for entry in entries:
            producer = _Producer(entry.producer_epoch, entry.coordinator_epoch, entry.timestamp_ms)
            producer.first_unstable_offset = entry.first_unstable_offset
            for batch in entry.batches:
                producer.add(batch)
            states._producers[entry.producer_id] = producer
        for first_offset, producer_id in states._open_transactions():
            states.transactions.begin(producer_id, first_offset)
        states.transactions.adopt(ended)
        states._evict()
        return states

    def entries(self) -> tuple[ProducerEntry, ...]:
        """Current state of every producer."""
        return tuple(
            ProducerEntry(
                producer_id,
                producer.epoch,
                producer.coordinator_epoch,
                producer.timestamp_ms,
                producer.first_unstable_offset,
                tuple(producer.batches),
            )
            for producer_id, producer in self._producers.items()
        )

    @property
    def first_unstable_offset(self) -> int | None:
        """First offset of the oldest open transaction."""
        return self.transactions.first_open_offset

    def is_in_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """True when the producer's transaction is open and of this epoch."""
        producer = self._producers.get(producer_id)
        is_of_epoch = producer is not None and producer.epoch == producer_epoch
        return is_of_epoch and self.transactions.is_open(producer_id)

    def may_have_forgotten(self, producer_id: int, *, forgotten: int) -> bool:
        """True when the producer is unknown, and another number was forgotten then than by now.

        A marker that ended its transaction since then may be forgotten with it.
        """
        return producer_id not in self._producers and self.forgotten != forgotten

    def marker_offset(self, producer_id: int) -> int | None:
        """Offset of the producer's last marker; None when that is not known."""
        producer = self._producers.get(producer_id)
        return None if producer is None else producer.marker_offset

    def check(self, header: BatchHeader, *, numbered: bool = True) -> BatchMetadata | None:
        """Check a batch. None: append it, then call `update`. Else: the batch it duplicates.

        `numbered` False: its sequences tell nothing, a coordinator wrote it for the producer.
        Raises the errors of the module's table; `InvalidRecordError` for a batch with a producer id
        but no epoch or sequence, or outside the producer's open transaction; `KafkaError`
        (retriable) where too many transactions are open. A leader checks one batch at a time.
        """
        if header.producer_id < 0:
            return None
        producer = self._producers.get(header.producer_id)
        if producer is not None and header.producer_epoch < producer.epoch:
            raise InvalidProducerEpochError(f"{_name(header)}: fenced by epoch {producer.epoch}")
        if header.attributes & CONTROL_FLAG:
            return None
        if header.producer_epoch < 0 or header.base_sequence < 0:
            raise InvalidRecordError(f"{_name(header)} lacks its epoch or its sequence")
        if producer is not None and numbered:
            duplicate = _check_sequence(producer, header)
            if duplicate is not None:
                return duplicate
        self._check_transaction(header, producer)
        return None

    def check_marker(
        self, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
    ) -> bool:
        """Check a coordinator's marker. True: it was appended before. False: append it.

        Raises the errors of the module's table.
        """
        name = f"a marker of producer {producer_id} in its epoch {producer_epoch}"
        if producer_id < 0 or coordinator_epoch < 0 or not 0 <= producer_epoch <= EPOCH_MAX:
            raise InvalidRecordError(f"{name}, of coordinator epoch {coordinator_epoch}: no epochs")
        producer = self._producers.get(producer_id)
        if producer is None:
            return False
        if producer_epoch < producer.epoch:
            raise InvalidProducerEpochError(f"{name}: epoch {producer.epoch} has written")
        if coordinator_epoch < producer.coordinator_epoch:
            raise TransactionCoordinatorFencedError(
                f"{name} of coordinator epoch {coordinator_epoch}: epoch "
                f"{producer.coordinator_epoch} has written: find the coordinator again"
            )
        if producer_epoch > producer.epoch:
            return False
        if self.transactions.is_open(producer_id):
            raise InvalidProducerEpochError(
                f"{name}: the open transaction is of that epoch, and its marker is of the next one"
            )
        return True

    def update(
        self, header: BatchHeader, *, now_ms: int, marker: ControlMarker | None = None
    ) -> CompletedTransaction | None:
        """Record an appended batch, without checking it: of a leader, a follower or recovery.

        `marker` is the decoded record of a control batch; None if compaction removed the record.
        Returns the transaction that it ends, if any.
        """
        producer_id, attributes = header.producer_id, header.attributes
        if producer_id < 0 or (attributes & CONTROL_FLAG and marker is None):
            return None
        producer = self._producers.get(producer_id)
        if producer is None:
            producer = self._producers[producer_id] = _Producer(header.producer_epoch)
        elif producer.epoch != header.producer_epoch:
            producer.begin_epoch(header.producer_epoch)
        producer.timestamp_ms, producer.appended_at_ms = header.max_timestamp, now_ms
        completed = None
        if marker is not None:
            producer.coordinator_epoch = marker.coordinator_epoch
            producer.first_unstable_offset, producer.marker_offset = None, header.last_offset
            completed = self.transactions.end(
                producer_id, header.last_offset, is_commit=marker.is_commit
            )
        else:
            producer.add(_metadata(header))
            # A batch without records is of a decided transaction: compaction stops below others.
            is_part = attributes & TRANSACTIONAL_FLAG and header.records_count
            if is_part and producer.first_unstable_offset is None:
                producer.first_unstable_offset = header.base_offset
                self.transactions.begin(producer_id, header.base_offset)
        self._producers.move_to_end(producer_id)
        self._evict()
        return completed

    def is_last_batch(self, header: BatchHeader) -> bool:
        """True when the log needs this batch to restore its producer's epoch and sequence.

        Compaction keeps it, at least without records: the newest batch, or, if the newest epoch has
        none, its markers.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return False
        if producer.batches:
            return producer.batches[-1].last_offset == header.last_offset
        return header.producer_epoch == producer.epoch

    def expire(self, now_ms: int, *, expiration_ms: int) -> None:
        """Forget producers silent for `expiration_ms`, except those with undecided transactions.

        For producers loaded from a file silence begins now: their own timestamps may be of any age.
        """
        for producer_id, producer in tuple(self._producers.items()):
            if producer.appended_at_ms is None:
                producer.appended_at_ms = now_ms
            is_silent = now_ms - producer.appended_at_ms >= expiration_ms
            if is_silent and not self.transactions.is_undecided(producer_id):
                self._forget(producer_id)

    def clear(self) -> None:
        """Forget all producers."""
        self._producers.clear()
        self.transactions.clear()

    def _check_transaction(self, header: BatchHeader, producer: _Producer | None) -> None:
        is_transactional = bool(header.attributes & TRANSACTIONAL_FLAG)
        is_open = self.transactions.is_open(header.producer_id)
        if is_open and not is_transactional:
            raise InvalidRecordError(f"{_name(header)} is not part of its open transaction")
        if is_open and producer is not None and header.producer_epoch > producer.epoch:
            # Its marker was lost, by an unclean election: one marker must not end them both.
            raise InvalidRecordError(
                f"{_name(header)}: the transaction of epoch {producer.epoch} has no marker here: "
                "abort both"
            )
        if is_transactional and producer is None and header.base_sequence:
            raise OutOfOrderSequenceError(
                f"{_name(header)} has base sequence {header.base_sequence}, expected 0: the first "
                "batches of its transaction are not here"
            )
        if is_transactional and not is_open and len(self.transactions) >= self._producers_max:
            raise ThrottlingQuotaExceededError(
                f"{len(self.transactions)} transactions are open in this partition, or await the "
                "replication of their end: wait for one",
            )

    def _open_transactions(self) -> list[tuple[int, int]]:
        """First offset and producer id of each open transaction, ascending."""
        offsets = (
            (producer_id, producer.first_unstable_offset)
            for producer_id, producer in self._producers.items()
        )
        return sorted(
            (offset, producer_id) for producer_id, offset in offsets if offset is not None
        )

    def _evict(self) -> None:
        """Evict the longest silent beyond the limit, except those with undecided transactions."""
        while len(self._producers) - self.transactions.producers_count > self._producers_max:
            producer_id = next(iter(self._producers))
            if self.transactions.is_undecided(producer_id):
                self._producers.move_to_end(producer_id)
            else:
                self._forget(producer_id)

    def _forget(self, producer_id: int) -> None:
        del self._producers[producer_id]
        self.forgotten += 1


def _check_sequence(producer: _Producer, header: BatchHeader) -> BatchMetadata | None:
    is_same_epoch = header.producer_epoch == producer.epoch
    expected = producer.next_sequence if is_same_epoch else 0
    if header.base_sequence == expected:
        return None
    sequences = (header.base_sequence, _last_sequence(header))
    for appended in producer.batches if is_same_epoch else ():
        if appended[:2] == sequences:
            return appended
    raise OutOfOrderSequenceError(
        f"{_name(header)} has sequences {sequences[0]} to {sequences[1]}, expected {expected} next"
    )


def _metadata(header: BatchHeader) -> BatchMetadata:
    base_offset, _, _, _, _, _, last_delta, _, timestamp_ms, _, _, base_sequence, _ = header
    last_sequence = (base_sequence + last_delta) & SEQUENCE_MASK
    return BatchMetadata(
        base_sequence, last_sequence, base_offset, base_offset + last_delta, timestamp_ms
    )


def _last_sequence(header: BatchHeader) -> int:
    return (header.base_sequence + header.last_offset_delta) & SEQUENCE_MASK


def _name(header: BatchHeader) -> str:
    return f"a batch of producer {header.producer_id} in its epoch {header.producer_epoch}"
