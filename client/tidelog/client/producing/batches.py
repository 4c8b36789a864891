"""Batches of records, and the queue of batches of a partition. Pure.

Owns the order of a partition: which batches may be in flight, and the place of a retried one.

    waiting --launch--> in flight --finish--> gone
       ^                   |
       +-----put back------+     to its place in the order, in whatever order batches come back

Without sequence numbers all batches in flight are in one request: a second request could overtake
it. With numbers a log refuses a batch that overtakes, so several requests may be in flight
(KIP-98). A log recognises a batch among the last five it appended. So the queue never sends more
than five from the first batch without an outcome to the last one sent, including those in between
that have one. A retried batch waits while an earlier one is in flight: it would be refused before
that one's retry.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from tidelog.client.producing.sequences import Numbers
from tidelog.client.records import TopicPartition
from tidelog.records.batch import HEADER_BYTES, set_sequence
from tidelog.records.records import BatchBuilder

W = TypeVar("W")


class Run(NamedTuple, Generic[W]):
    """The `records_count` records of a batch from `first` on that belong to one waiter."""

    waiter: W
    first: int
    records_count: int


@dataclass(slots=True, eq=False)
class Batch(Generic[W]):
    """Records of one partition that are sent, acknowledged or refused together."""

    tp: TopicPartition
    place: int
    """The number of the batch, in the order of creation."""
    created_ms: int
    builder: BatchBuilder
    order: tuple[int, int]
    """The order in the partition: the place of the original batch, and the first record in it."""
    data: bytes = b""
    size_bytes: int = HEADER_BYTES
    """The encoded size before compression: the bytes that the batch uses of the buffer."""
    runs: list[Run[W]] = field(default_factory=list)
    last_error: Exception | None = None
    retries: int = 0
    """The number of times that it was sent again after a failure."""
    is_outcome_unknown: bool = False
    """True if an attempt may have been appended: a later refusal proves nothing."""
    is_due: bool = False
    is_in_flight: bool = False
    is_over: bool = False
    """True if the batch has its outcome."""
    is_stored: bool = False
    """True if the batch was acknowledged."""
    is_after_another: bool = False
    """True if an earlier batch had no outcome when this one was last sent."""
    is_alone: bool = False
    """True if it is sent alone, so that a refusal concerns this batch only."""
    topic_id: bytes = b""
    """The incarnation of the topic that its records are meant for; empty: any."""
    numbers: Numbers | None = None
    """The numbers of an idempotent producer's batch, set at its first attempt."""

    @property
    def records_count(self) -> int:
        """The number of records in the batch."""
        return self.builder.records_count

    def seal(self) -> None:
        """Encode the batch, after which it takes no more records."""
        if not self.data:
            self.data = self.builder.build()
            self.is_due = True

    def adopt(self, data: bytes, records_count: int) -> None:
        """Take the bytes of a whole batch that was encoded elsewhere as its content."""
        self.data, self.size_bytes, self.is_due = data, len(data), True
        self.builder.records_count = records_count

    def number(self, numbers: Numbers, *, is_transactional: bool = False) -> None:
        """Give the sealed batch its numbers, which it keeps for all attempts."""
        self.numbers = numbers
        self.data = set_sequence(self.data, **numbers._asdict(), is_transactional=is_transactional)


@dataclass(slots=True)
class PartitionQueue(Generic[W]):
    """The batches of a partition, in order."""

    waiting: deque[Batch[W]] = field(default_factory=deque)
    sent: list[Batch[W]] = field(default_factory=list)
    """The sent batches from the first without an outcome on; without numbers those in flight."""
    resume_ms: int | None = None
    """The end of the pause after a failure."""

    @property
    def flying(self) -> list[Batch[W]]:
        """The batches in flight."""
        return [batch for batch in self.sent if batch.is_in_flight]

    @property
    def is_in_flight(self) -> bool:
        """True if a batch is in flight."""
        return any(batch.is_in_flight for batch in self.sent)

    @property
    def is_empty(self) -> bool:
        """True if the queue holds no batch and no pause."""
        return not self.waiting and not self.sent and self.resume_ms is None

    def is_ready(self, span_max: int | None) -> bool:
        """True if the first waiting batch may be sent now; `span_max` as in `admits`."""
        if self.resume_ms is not None or not self.waiting or not self.waiting[0].is_due:
            return False
        if span_max is None:
            return not self.sent
        return self.admits(self.waiting[0], self.flying, span_max)

    def admits(self, batch: Batch[W], flying: Sequence[Batch[W]], span_max: int | None) -> bool:
        """True if a request may carry the first waiting batch while others carry `flying`.

        `span_max` limits the number of batches from the first without an outcome on; None: batches
        have no numbers.
        """
        if span_max is None:
            return True
        if batch.numbers is not None and flying and flying[0].order < batch.order:
            return False
        if self.sent and self.sent[0].topic_id != batch.topic_id:
            return False
        return self._count_before(batch) < span_max

    def iterate_sendable(self, span_max: int | None) -> Iterator[Batch[W]]:
        """The first waiting batches that may be sent; `span_max` as in `admits`."""
        unsent = (span_max or len(self.waiting)) - len(self.sent)
        for batch in self.waiting:
            if batch.numbers is None:
                unsent -= 1
                if unsent < 0:
                    return
            yield batch

    def is_overtaken(self, batch: Batch[W]) -> bool:
        """True if a later batch is stored: a log that knew the producer would have refused it."""
        return any(one.is_stored and one.order > batch.order for one in self.sent)

    def launch(self, batch: Batch[W]) -> None:
        """Put the first waiting batch in flight."""
        self.waiting.popleft()
        place = self._count_before(batch)
        batch.is_in_flight, batch.is_after_another = True, place > 0
        if place == len(self.sent) or self.sent[place] is not batch:
            self.sent.insert(place, batch)

    def put_back(self, batch: Batch[W]) -> bool:
        """Put a batch in flight back to be sent again; return whether it is the first to send."""
        batch.is_in_flight = False
        if batch.numbers is None:
            self._leave(batch)
        place = 0
        while place < len(self.waiting) and self.waiting[place].order < batch.order:
            place += 1
        self.waiting.insert(place, batch)
        return place == 0

    def finish(self, batch: Batch[W]) -> None:
        """Note that a batch, in flight or not, has its outcome."""
        batch.is_in_flight, batch.is_over = False, True
        while self.sent and self.sent[0].is_over:
            self.sent.pop(0)

    def replace(self, batch: Batch[W], halves: Sequence[Batch[W]]) -> None:
        """Put a batch in flight back as several batches, in this order."""
        if batch.numbers is not None:
            place = self.sent.index(batch)
            self.sent[place : place + 1] = halves
        else:
            self._leave(batch)
        batch.is_in_flight, batch.is_over = False, True
        for half in halves:
            self.put_back(half)

    def _leave(self, batch: Batch[W]) -> None:
        if self.sent and self.sent[-1] is batch:
            self.sent.pop()
        elif batch in self.sent:
            self.sent.remove(batch)

    def _count_before(self, batch: Batch[W]) -> int:
        if not self.sent or self.sent[-1].order < batch.order:
            return len(self.sent)
        return sum(one.order < batch.order for one in self.sent)
