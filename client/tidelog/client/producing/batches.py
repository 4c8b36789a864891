"""Batches of records, and the queue of one partition's. Pure.

Owns a partition's order: which of its batches may fly, and where one that comes back stands.

    waiting --launch--> in flight --finish--> gone
       ^                   |
       +-----put back------+     to its place in the order, whatever came back before it

Without numbers all that flies is in one request: a second one could overtake it. With numbers a
log refuses what overtakes, so that several requests may fly (KIP-98). It knows a batch again that
is among the last five it took; so from the first batch without an outcome to the last one sent
there are never more, those in between with an outcome counted. A batch that comes again waits while
one before it flies: it would be refused before that one's own retry.
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
    """`records_count` records of a batch, from its record `first` on, that one waiter waits for."""

    waiter: W
    first: int
    records_count: int


@dataclass(slots=True, eq=False)
class Batch(Generic[W]):
    """Records of one partition that are sent, acknowledged or refused together."""

    tp: TopicPartition
    place: int
    """Grows with every batch made."""
    created_ms: int
    builder: BatchBuilder
    order: tuple[int, int]
    """Grows within the partition: the place of the batch it was made as, its first record there."""
    data: bytes = b""
    size_bytes: int = HEADER_BYTES
    """Encoded, before compression: what the batch takes of the buffer."""
    runs: list[Run[W]] = field(default_factory=list)
    last_error: Exception | None = None
    is_outcome_unknown: bool = False
    """An attempt may have been appended: a later refusal proves nothing."""
    is_due: bool = False
    is_in_flight: bool = False
    is_over: bool = False
    """It has its outcome."""
    is_stored: bool = False
    """It was acknowledged."""
    is_after_another: bool = False
    """When it was sent last, one before it had no outcome."""
    is_alone: bool = False
    """Sent without its neighbours, so that a refusal hits only what deserves it."""
    topic_id: bytes = b""
    """The incarnation of the topic that its records were meant for; empty: any."""
    numbers: Numbers | None = None
    """Of an idempotent producer's batch, from its first attempt on."""

    @property
    def records_count(self) -> int:
        """Records in the batch."""
        return self.builder.records_count

    def seal(self) -> None:
        """Encode; no record is added after this."""
        if not self.data:
            self.data = self.builder.build()
            self.is_due = True

    def adopt(self, data: bytes, records_count: int) -> None:
        """It is these bytes, a whole batch that was encoded elsewhere, and nothing else."""
        self.data, self.size_bytes, self.is_due = data, len(data), True
        self.builder.records_count = records_count

    def number(self, numbers: Numbers) -> None:
        """From now on the sealed batch is this one, however often it is sent."""
        self.numbers = numbers
        self.data = set_sequence(self.data, **numbers._asdict())


@dataclass(slots=True)
class PartitionQueue(Generic[W]):
    """One partition's batches, in order."""

    waiting: deque[Batch[W]] = field(default_factory=deque)
    sent: list[Batch[W]] = field(default_factory=list)
    """From the first one without an outcome on; without numbers only what is in flight."""
    resume_ms: int | None = None
    """The pause after a failure ends then."""

    @property
    def flying(self) -> list[Batch[W]]:
        """What is in flight."""
        return [batch for batch in self.sent if batch.is_in_flight]

    @property
    def is_in_flight(self) -> bool:
        """Whether anything is."""
        return any(batch.is_in_flight for batch in self.sent)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be known of it."""
        return not self.waiting and not self.sent and self.resume_ms is None

    def is_ready(self, span_max: int | None) -> bool:
        """Whether the first waiting batch may be sent now; `span_max` as in `admits`."""
        if self.resume_ms is not None or not self.waiting or not self.waiting[0].is_due:
            return False
        if span_max is None:
            return not self.sent
        return self.admits(self.waiting[0], self.flying, span_max)

    def admits(self, batch: Batch[W], flying: Sequence[Batch[W]], span_max: int | None) -> bool:
        """Whether a request may carry the first waiting batch, while others carry `flying`.

        `span_max` is how many batches there may be from the first without an outcome on; None:
        they have no numbers.
        """
        if span_max is None:
            return True
        if batch.numbers is not None and flying and flying[0].order < batch.order:
            return False
        if self.sent and self.sent[0].topic_id != batch.topic_id:
            return False
        return self._count_before(batch) < span_max

    def sendable(self, span_max: int | None) -> Iterator[Batch[W]]:
        """The first waiting batches, new ones as many as may be sent; `span_max` as in `admits`."""
        unsent = (span_max or len(self.waiting)) - len(self.sent)
        for batch in self.waiting:
            if batch.numbers is None:
                unsent -= 1
                if unsent < 0:
                    return
            yield batch

    def is_overtaken(self, batch: Batch[W]) -> bool:
        """Whether a later one is stored: a log that knew the producer would not have taken it."""
        return any(one.is_stored and one.order > batch.order for one in self.sent)

    def launch(self, batch: Batch[W]) -> None:
        """The first waiting batch is in a request."""
        self.waiting.popleft()
        place = self._count_before(batch)
        batch.is_in_flight, batch.is_after_another = True, place > 0
        if place == len(self.sent) or self.sent[place] is not batch:
            self.sent.insert(place, batch)

    def put_back(self, batch: Batch[W]) -> bool:
        """Its request is over and it is to come again; whether it is the first to be sent."""
        batch.is_in_flight = False
        if batch.numbers is None:
            self._leave(batch)
        place = 0
        while place < len(self.waiting) and self.waiting[place].order < batch.order:
            place += 1
        self.waiting.insert(place, batch)
        return place == 0

    def finish(self, batch: Batch[W]) -> None:
        """It has its outcome, in flight or not."""
        batch.is_in_flight, batch.is_over = False, True
        while self.sent and self.sent[0].is_over:
            self.sent.pop(0)

    def replace(self, batch: Batch[W], halves: Sequence[Batch[W]]) -> None:
        """A batch in flight comes again as these, in this order."""
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
