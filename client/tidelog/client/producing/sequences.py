"""The numbers of an idempotent producer: its id, epochs and sequences. Pure.

Owns producer id, epoch and next sequence of every partition written to (KIP-98), and decides when
an epoch ends (KIP-360):

    a batch was ...                                       consequence
    acknowledged                                          the log knows this epoch: five may fly
    given up, though it was numbered                      its sequences are missing in the log, or
                                                          may be: the epoch ends
    refused as out of order, sent after all before it     the log lost what it had: the epoch ends
    were acknowledged
    refused as out of order, sent before that             it was sent too early, or the refusal is
                                                          stale: send it again
    refused as of an older epoch                          another producer has this id: take a new
                                                          one

Epochs are per partition, as brokers compare them. A batch that may have been appended is never
numbered again: the log would not recognise it under other numbers.

A transactional producer has one epoch in all partitions, its coordinator's, for each transaction
(KIP-890). It ends none itself: where the table above ends an epoch, the transaction has failed. The
next transaction's epoch begins at sequence 0 everywhere.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from tidelog.client.errors import TidelogError
from tidelog.client.records import TopicPartition
from tidelog.records.batch import BATCHES_PER_PRODUCER_MAX, SEQUENCE_MASK
from tidelog.v1 import common_pb2

PRODUCER_EPOCH_MAX = 2**15 - 1


class Numbers(NamedTuple):
    """The numbers in a batch, by which a log recognises a retry."""

    producer_id: int
    producer_epoch: int
    base_sequence: int

    def after(self, records_count: int) -> Numbers:
        """The numbers of a batch that begins `records_count` records later."""
        return self._replace(base_sequence=(self.base_sequence + records_count) & SEQUENCE_MASK)


class Verdict(Enum):
    """The fate of a numbered batch after an answer."""

    DONE = auto()
    AGAIN = auto()
    """Send it again unchanged, after the batches before it."""
    SPLIT = auto()
    RENUMBER = auto()
    """End the epoch, and send it again in the next one unless it may have been appended."""
    FAILED = auto()
    """Fail it and end the epoch."""
    FENCED = auto()
    """Fail it and take a new producer id: another producer has this one."""


def verdict_on(
    error: TidelogError | None,
    *,
    records_count: int,
    is_after_another: bool,
    is_transactional: bool = False,
) -> Verdict:
    """The verdict on a batch of `records_count` records.

    `is_after_another`: an earlier batch had no outcome when this one was sent.
    """
    if error is None:
        return Verdict.DONE
    if error.code == common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER:
        if is_after_another:
            return Verdict.AGAIN
        return Verdict.FAILED if is_transactional else Verdict.RENUMBER
    if error.code == common_pb2.INVALID_PRODUCER_EPOCH:
        return Verdict.FENCED
    if error.is_retriable:
        return Verdict.AGAIN
    if error.code == common_pb2.MESSAGE_TOO_LARGE and records_count > 1:
        return Verdict.SPLIT
    return Verdict.FAILED


@dataclass(slots=True)
class _Partition:
    producer_id: int
    epoch: int
    next_sequence: int = 0
    is_known: bool = False
    """True if a batch of this epoch was acknowledged."""
    topic_id: bytes = b""
    is_broken: bool = False
    is_fenced: bool = False


class Sequences:
    """The numbers of a producer; `producer_id` is None while one must be requested.

    `is_transactional`: a coordinator gives id and epoch, for one transaction each.
    """

    def __init__(self, *, is_transactional: bool = False) -> None:
        self.is_transactional = is_transactional
        self.producer_id: int | None = None
        self._epoch = 0
        self._partitions: dict[TopicPartition, _Partition] = {}

    def adopt(self, producer_id: int, producer_epoch: int) -> None:
        """Take the id that a broker gave, for partitions without one.

        A transactional producer takes it for all partitions, and has no batch then.
        """
        self.producer_id, self._epoch = producer_id, producer_epoch
        if self.is_transactional:
            self._partitions.clear()

    def begin(self, tp: TopicPartition, topic_id: bytes) -> None:
        """Begin a new sequence if the next batch is for another incarnation of the topic.

        Call it while the partition has no batch in flight, or for the same incarnation.
        """
        state = self._partitions.get(tp)
        if state is None:
            assert self.producer_id is not None  # the caller has looked
            self._partitions[tp] = _Partition(self.producer_id, self._epoch, topic_id=topic_id)
        elif state.topic_id != topic_id:
            self._partitions[tp] = _Partition(state.producer_id, state.epoch, topic_id=topic_id)

    def in_flight_max(self, tp: TopicPartition) -> int:
        """The maximum number of batches from the first without an outcome to the last one sent.

        It is one until the log knows the epoch, since a log accepts any sequence in the first batch
        of an epoch, and then as many as the log remembers.
        """
        state = self._partitions.get(tp)
        return BATCHES_PER_PRODUCER_MAX if state is not None and state.is_known else 1

    def number(self, tp: TopicPartition, records_count: int) -> Numbers:
        """Number the next batch of a partition; there must be a producer id."""
        state = self._partitions.get(tp)
        if state is None:
            assert self.producer_id is not None  # the caller has looked
            state = self._partitions[tp] = _Partition(self.producer_id, self._epoch)
        numbers = Numbers(state.producer_id, state.epoch, state.next_sequence)
        state.next_sequence = (state.next_sequence + records_count) & SEQUENCE_MASK
        return numbers

    def note_acknowledged(self, tp: TopicPartition) -> None:
        """Note that a batch of the partition's epoch is in the log."""
        self._partitions[tp].is_known = True

    def break_off(self, tp: TopicPartition, *, is_fenced: bool = False) -> None:
        """End the epoch as soon as no batch of it is in flight."""
        state = self._partitions[tp]
        state.is_broken = True
        state.is_fenced |= is_fenced

    def is_broken(self, tp: TopicPartition) -> bool:
        """True if the partition's epoch must be ended."""
        state = self._partitions.get(tp)
        return state is not None and state.is_broken

    def end_epoch(self, tp: TopicPartition) -> None:
        """Begin the next epoch, at sequence 0, of a partition with no batch in flight."""
        state = self._partitions[tp]
        if state.is_fenced or state.epoch == PRODUCER_EPOCH_MAX:
            del self._partitions[tp]
            if self.producer_id == state.producer_id:
                self.producer_id = None
        else:
            self._partitions[tp] = _Partition(
                state.producer_id, state.epoch + 1, topic_id=state.topic_id
            )
