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

Sequences count records and wrap from 2**31 - 1 to 0. Markers have none; only their epoch is
checked. Never appends: `check` changes nothing, `update` records an appended batch. Facts: Kafka's
ProducerStateManager, ProducerAppendInfo and ProducerStateEntry.
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
)
from tidelog.records.batch import (
    BATCHES_PER_PRODUCER_MAX,
    CONTROL_FLAG,
    NO_PRODUCER_ID,
    SEQUENCE_MASK,
    TRANSACTIONAL_FLAG,
    BatchHeader,
)
from tidelog.records.records import ControlMarker

NO_COORDINATOR_EPOCH = -1
PRODUCERS_MAX = 4096
"""Maximum remembered producers without an open transaction, and open transactions, per log."""
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

    def __init__(self, *, producers_max: int = PRODUCERS_MAX) -> None:
        self._producers: OrderedDict[int, _Producer] = OrderedDict()
        self._open: dict[int, int] = {}
        """First offset of each open transaction by producer id, ascending."""
        self._producers_max = producers_max

    @classmethod
    def from_entries(cls, entries: Iterable[ProducerEntry]) -> ProducerStates:
        """Build the state from `entries`, one per producer id, the longest silent first."""
        states = cls()
        for entry in entries:
            producer = _Producer(entry.producer_epoch, entry.coordinator_epoch, entry.timestamp_ms)
            producer.first_unstable_offset = entry.first_unstable_offset
            for batch in entry.batches:
                producer.add(batch)
            states._producers[entry.producer_id] = producer
        states._open = states._open_transactions()
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
        return next(iter(self._open.values()), None)

    def check(self, header: BatchHeader) -> BatchMetadata | None:
        """Check a batch. None: append it, then call `update`. Else: the batch it duplicates.

        Raises the errors of the module's table; `InvalidRecordError` for a batch with a producer id
        but no epoch or sequence, or outside the producer's open transaction; `KafkaError`
        (retriable) where too many transactions are open. A leader checks one batch at a time.
        """
        if header.producer_id == NO_PRODUCER_ID:
            return None
        producer = self._producers.get(header.producer_id)
        if producer is not None and header.producer_epoch < producer.epoch:
            raise InvalidProducerEpochError(f"{_name(header)}: fenced by epoch {producer.epoch}")
        if header.attributes & CONTROL_FLAG:
            return None
        if header.producer_epoch < 0 or header.base_sequence < 0:
            raise InvalidRecordError(f"{_name(header)} lacks its epoch or its sequence")
        if producer is not None:
            duplicate = _check_sequence(producer, header)
            if duplicate is not None:
                return duplicate
        self._check_transaction(header)
        return None

    def update(
        self, header: BatchHeader, *, now_ms: int, marker: ControlMarker | None = None
    ) -> None:
        """Record an appended batch, without checking it: of a leader, a follower or recovery.

        `marker` is the decoded record of a control batch; None if compaction removed the record.
        """
        producer_id, attributes = header.producer_id, header.attributes
        if producer_id == NO_PRODUCER_ID or (attributes & CONTROL_FLAG and marker is None):
            return
        producer = self._producers.get(producer_id)
        if producer is None:
            producer = self._producers[producer_id] = _Producer(header.producer_epoch)
        elif producer.epoch != header.producer_epoch:
            producer.begin_epoch(header.producer_epoch)
        producer.timestamp_ms, producer.appended_at_ms = header.max_timestamp, now_ms
        if marker is not None:
            producer.coordinator_epoch = marker.coordinator_epoch
            producer.first_unstable_offset = None
            self._open.pop(producer_id, None)
        else:
            producer.add(_metadata(header))
            if attributes & TRANSACTIONAL_FLAG and producer.first_unstable_offset is None:
                producer.first_unstable_offset = self._open[producer_id] = header.base_offset
        self._producers.move_to_end(producer_id)
        self._evict()

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
        """Forget producers silent for `expiration_ms`, except those with an open transaction.

        For producers loaded from a file silence begins now: their own timestamps may be of any age.
        """
        for producer_id, producer in tuple(self._producers.items()):
            if producer.appended_at_ms is None:
                producer.appended_at_ms = now_ms
            is_silent = now_ms - producer.appended_at_ms >= expiration_ms
            if is_silent and producer_id not in self._open:
                del self._producers[producer_id]

    def clear(self) -> None:
        """Forget all producers."""
        self._producers.clear()
        self._open.clear()

    def _check_transaction(self, header: BatchHeader) -> None:
        is_transactional = bool(header.attributes & TRANSACTIONAL_FLAG)
        is_open = header.producer_id in self._open
        if is_open and not is_transactional:
            raise InvalidRecordError(f"{_name(header)} is not part of its open transaction")
        if is_transactional and not is_open and len(self._open) >= self._producers_max:
            raise ThrottlingQuotaExceededError(
                f"{len(self._open)} transactions are open in this partition: wait for one to end",
            )

    def _open_transactions(self) -> dict[int, int]:
        offsets = (
            (producer_id, producer.first_unstable_offset)
            for producer_id, producer in self._producers.items()
        )
        found = [(offset, producer_id) for producer_id, offset in offsets if offset is not None]
        return {producer_id: offset for offset, producer_id in sorted(found)}

    def _evict(self) -> None:
        """Evict the longest silent beyond the limit, except those with an open transaction."""
        while len(self._producers) - len(self._open) > self._producers_max:
            producer_id = next(iter(self._producers))
            if producer_id in self._open:
                self._producers.move_to_end(producer_id)
            else:
                del self._producers[producer_id]


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
