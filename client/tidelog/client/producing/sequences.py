"""An idempotent producer's numbers: who it is, which sequence comes next where. Pure.

Owns producer id, epoch and next sequence of every partition written to (KIP-98), and when an epoch
ends (KIP-360):

    a batch was ...                                       then
    acknowledged                                          the log knows this epoch: five may fly
    given up, though it was numbered                      its sequences are missing in the log, or
                                                          may be: the epoch ends
    refused as out of order, sent after all before it     the log lost what it had: the epoch ends
    were acknowledged
    refused as out of order, sent before that             it came too early, or the refusal does: it
                                                          comes again
    refused as of an older epoch                          somebody else has this id: take a new one

Epochs count in each partition alone, as brokers compare them. A batch that may have been appended
is never numbered again: under other numbers the log would not know it for what it is.
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
    """What a batch carries so that a log knows it when it comes again."""

    producer_id: int
    producer_epoch: int
    base_sequence: int

    def after(self, records_count: int) -> Numbers:
        """Those of a batch that begins so many records later."""
        return self._replace(base_sequence=(self.base_sequence + records_count) & SEQUENCE_MASK)


class Verdict(Enum):
    """What becomes of a numbered batch after an answer."""

    DONE = auto()
    AGAIN = auto()
    """As it is, after those before it."""
    SPLIT = auto()
    RENUMBER = auto()
    """The epoch ends; the batch comes again in the next one, unless it may have been appended."""
    FAILED = auto()
    """And the epoch ends."""
    FENCED = auto()
    """And the producer id is another's."""


def verdict_on(
    error: TidelogError | None, *, records_count: int, is_after_another: bool
) -> Verdict:
    """For a batch of `records_count` records.

    `is_after_another`: when it was sent one before it had no outcome yet.
    """
    if error is None:
        return Verdict.DONE
    if error.code == common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER:
        return Verdict.AGAIN if is_after_another else Verdict.RENUMBER
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
    """Something of this epoch was acknowledged."""
    topic_id: bytes = b""
    is_broken: bool = False
    is_fenced: bool = False


class Sequences:
    """Of one producer; `producer_id` is None while one is to be asked for."""

    def __init__(self) -> None:
        self.producer_id: int | None = None
        self._epoch = 0
        self._partitions: dict[TopicPartition, _Partition] = {}

    def adopt(self, producer_id: int, producer_epoch: int) -> None:
        """The id that a broker gave; for the partitions that have none yet."""
        self.producer_id, self._epoch = producer_id, producer_epoch

    def begin(self, tp: TopicPartition, topic_id: bytes) -> None:
        """The next batch is for this incarnation of the topic, whose log knows none before it.

        Call it while the partition has nothing in flight, or the incarnation is the same.
        """
        state = self._partitions.get(tp)
        if state is None:
            assert self.producer_id is not None  # the caller has looked
            self._partitions[tp] = _Partition(self.producer_id, self._epoch, topic_id=topic_id)
        elif state.topic_id != topic_id:
            self._partitions[tp] = _Partition(state.producer_id, state.epoch, topic_id=topic_id)

    def in_flight_max(self, tp: TopicPartition) -> int:
        """How many batches there may be from the first without an outcome to the last sent.

        One until the log knows the epoch: it takes the first it sees, whatever its sequence. Then
        as many as the log remembers.
        """
        state = self._partitions.get(tp)
        return BATCHES_PER_PRODUCER_MAX if state is not None and state.is_known else 1

    def number(self, tp: TopicPartition, records_count: int) -> Numbers:
        """The numbers of the next batch of a partition; ask only while there is a producer id."""
        state = self._partitions.get(tp)
        if state is None:
            assert self.producer_id is not None  # the caller has looked
            state = self._partitions[tp] = _Partition(self.producer_id, self._epoch)
        numbers = Numbers(state.producer_id, state.epoch, state.next_sequence)
        state.next_sequence = (state.next_sequence + records_count) & SEQUENCE_MASK
        return numbers

    def acknowledged(self, tp: TopicPartition) -> None:
        """A batch of the partition's epoch is in the log."""
        self._partitions[tp].is_known = True

    def break_off(self, tp: TopicPartition, *, is_fenced: bool = False) -> None:
        """The epoch ends as soon as nothing of it is in flight."""
        state = self._partitions[tp]
        state.is_broken = True
        state.is_fenced |= is_fenced

    def is_broken(self, tp: TopicPartition) -> bool:
        """Whether the partition's epoch is to be ended."""
        state = self._partitions.get(tp)
        return state is not None and state.is_broken

    def end_epoch(self, tp: TopicPartition) -> None:
        """Begin the next epoch of a partition that has nothing in flight, in sequence 0."""
        state = self._partitions[tp]
        if state.is_fenced or state.epoch == PRODUCER_EPOCH_MAX:
            del self._partitions[tp]
            if self.producer_id == state.producer_id:
                self.producer_id = None
        else:
            self._partitions[tp] = _Partition(
                state.producer_id, state.epoch + 1, topic_id=state.topic_id
            )
