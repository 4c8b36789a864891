"""Records waiting to be sent, gathered into batches, with a queue of batches per partition. Pure.

Decides when a batch is due and which batches may be sent, counts the buffer's use, and keeps the
order of every partition:

    open --full--> sealed ----+
      |                       +--> ready --take--> in flight --complete--> gone
      +--linger over, flush---+      ^                 |
                                     +------ retry ----+   (to its place, after a pause)

A later batch never overtakes an earlier one that failed: the queue of a partition decides which
batches may be in flight together, see `batches`. A batch of an idempotent producer gets its numbers
when it is first taken and keeps them, see `sequences`. Never talks to brokers, and only carries the
waiters.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tidelog.client.producing.batches import Batch, PartitionQueue, Run
from tidelog.client.producing.ranked import Ranked
from tidelog.client.producing.sequences import Sequences
from tidelog.client.records import Headers, TopicPartition
from tidelog.records.batch import HEADER_BYTES
from tidelog.records.compression import Codec
from tidelog.records.records import BatchBuilder, Record, iter_records

W = TypeVar("W")
RECORD_OVERHEAD_BYTES = 31
"""The maximum bytes of a record beyond key, value and headers: attributes and six varints."""
_HEADER_OVERHEAD_BYTES = 10


@dataclass(frozen=True, slots=True)
class AccumulatorConfig:
    """The limits of an accumulator: sizes in bytes, before compression; times in milliseconds."""

    batch_size: int
    linger_ms: int
    buffer_memory: int
    delivery_timeout_ms: int
    codec: Codec = Codec.NONE
    compression_level: int | None = None


def record_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """An upper bound for the bytes of one record."""
    size = RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
    for name, content in headers:
        size += _HEADER_OVERHEAD_BYTES + 4 * len(name) + len(content or b"")
    return size


class Accumulator(Generic[W]):
    """The batches of a producer, from their first record to their outcome."""

    def __init__(self, config: AccumulatorConfig, sequences: Sequences | None = None) -> None:
        self._config = config
        self._sequences = sequences
        self._queues: dict[TopicPartition, PartitionQueue[W]] = {}
        self._incomplete: dict[int, Batch[W]] = {}
        self._lingering: deque[Batch[W]] = deque()
        self._pauses: list[tuple[int, int, TopicPartition]] = []
        self._ready: dict[TopicPartition, int] = {}
        self._changes: dict[TopicPartition, None] = {}
        self._expiring: Ranked[tuple[int, int], Batch[W]] = Ranked()
        """Batches that are not in flight, by their age."""
        self._rank = 0
        self._place = 0
        self._used_bytes = 0

    @property
    def incomplete(self) -> list[Batch[W]]:
        """Batches without an outcome, in flight or not."""
        return list(self._incomplete.values())

    def is_done_until(self, created_ms: int) -> bool:
        """True if every batch opened until `created_ms` has its outcome."""
        return all(batch.created_ms > created_ms for batch in self._incomplete.values())

    def has_room(self, size_bytes: int) -> bool:
        """True if the buffer has room for `size_bytes` more; an empty one takes any size."""
        return not self._used_bytes or (self._used_bytes + size_bytes <= self._config.buffer_memory)

    def append(
        self,
        tp: TopicPartition,
        records: Iterable[tuple[bytes | None, bytes | None]],
        *,
        timestamp_ms: int,
        headers: Headers = (),
        waiter: W,
        now_ms: int,
        topic_id: bytes = b"",
    ) -> bool:
        """Add records (key, value) in this order; the caller must check `has_room` before.

        Returns True when a batch was opened or filled, so that the sender must be woken.
        """
        is_news = False
        batch_size = self._config.batch_size
        overhead = record_size(None, None, headers)
        batch: Batch[W] | None = None
        size = first = 0
        for key, value in records:
            most = overhead + (len(key) if key else 0) + (len(value) if value else 0)
            if batch is None or size + most > batch_size:
                if batch is not None:
                    self._grow(batch, waiter, first)
                batch, is_new = self._open_batch(tp, most, now_ms, topic_id)
                is_news |= is_new
                first = batch.builder.records_count
            size = batch.builder.append(
                timestamp_ms=timestamp_ms, key=key, value=value, headers=headers
            )
        if batch is not None:
            self._grow(batch, waiter, first)
            if size + RECORD_OVERHEAD_BYTES > batch_size:
                self._seal(batch)
                is_news = True
        return is_news

    def add(
        self,
        tp: TopicPartition,
        data: bytes,
        *,
        records_count: int,
        waiter: W,
        waiters: Sequence[W] = (),
        now_ms: int,
        topic_id: bytes = b"",
    ) -> None:
        """Add an encoded batch behind all others; `waiters`: of each record, for `waiter`."""
        batch = self._new_batch(tp, now_ms, topic_id)
        batch.adopt(data, records_count)
        self._used_bytes += len(data) - HEADER_BYTES
        of_each = [Run(one, place, 1) for place, one in enumerate(waiters)]
        batch.runs += of_each or [Run(waiter, 0, records_count)]
        self._queue(tp).waiting.append(batch)
        self._note(tp)

    @property
    def ready(self) -> Mapping[TopicPartition, int]:
        """Partitions whose first batch may be sent now, in the order in which they became ready.

        The value is the partition's rank: the lower, the longer it has been ready without a break.
        """
        return self._ready

    def advance(self, now_ms: int) -> None:
        """End the lingers and pauses that are over at `now_ms`."""
        lingering = self._lingering
        while lingering and self._is_over(lingering[0], now_ms):
            batch = lingering.popleft()
            batch.is_due = True
            self._note(batch.tp)
        while self._pauses and self._pauses[0][0] <= now_ms:
            resume_ms, _, tp = heapq.heappop(self._pauses)
            queue = self._queues.get(tp)
            if queue is not None and queue.resume_ms == resume_ms:
                queue.resume_ms = None
                self._note(tp)
                self._forget_if_empty(tp)

    def take_changes(self) -> list[TopicPartition]:
        """Partitions whose readiness or size may have changed since the last call.

        A record that joins an open batch is no change.
        """
        changes, self._changes = list(self._changes), {}
        return changes

    def note_moved(self, tp: TopicPartition) -> None:
        """Note that the partition's leader or topic changed, if any of its batches are here."""
        if tp in self._queues:
            self._changes[tp] = None

    def next_event_ms(self) -> int | None:
        """The next time at which `advance` or `expire` may change something."""
        times = []
        while self._lingering and self._lingering[0].is_due:
            self._lingering.popleft()
        if self._lingering:
            times.append(self._lingering[0].created_ms + self._config.linger_ms)
        if self._pauses:
            times.append(self._pauses[0][0])
        if self._expiring:
            times.append(self._expiring.first.created_ms + self._config.delivery_timeout_ms)
        return min(times, default=None)

    def full_bytes(self, tp: TopicPartition, enough: int) -> int:
        """Bytes of the batches of a ready partition that take no more records.

        Counts the first batches that may be sent, until `enough` is reached.
        """
        total = 0
        for batch in self._queues[tp].iterate_sendable(self._span_max(tp)):
            if total >= enough:
                break
            total += len(batch.data)  # none while it takes records
        return total

    def take(self, tp: TopicPartition, *, max_bytes: int) -> list[Batch[W]]:
        """Put the first due batches of a ready partition in flight: one, or up to `max_bytes`.

        For an idempotent producer, at most as many as its sequences allow.
        """
        queue, sequences = self._queues[tp], self._sequences
        if sequences is not None and queue.waiting:
            sequences.begin(tp, queue.waiting[0].topic_id)
        span_max, flying = self._span_max(tp), queue.flying
        taken: list[Batch[W]] = []
        total = 0
        while queue.waiting and queue.waiting[0].is_due:
            batch = queue.waiting[0]
            if not queue.admits(batch, flying, span_max):
                break
            batch.seal()
            total += len(batch.data)
            if taken and (total > max_bytes or batch.topic_id != taken[0].topic_id):
                break
            if sequences is not None and batch.numbers is None:
                numbers = sequences.number(tp, batch.records_count)
                batch.number(numbers, is_transactional=sequences.is_transactional)
            queue.launch(batch)
            self._expiring.drop(_age(batch))
            taken.append(batch)
            if batch.is_alone:
                break
        self._note(tp)
        return taken

    def complete(self, batches: list[Batch[W]]) -> None:
        """Remove batches of one partition that were in flight and have their outcome."""
        queue = self._queues[batches[0].tp]
        for batch in batches:
            self._release(batch)
            queue.finish(batch)
        self._land(batches[0].tp)

    def is_first(self, batch: Batch[W]) -> bool:
        """True if no batch before `batch`, which is in flight, waits in its partition."""
        waiting = self._queues[batch.tp].waiting
        return not waiting or batch.order < waiting[0].order

    def retry(self, batches: list[Batch[W]], *, at_ms: int) -> None:
        """Put batches of one partition that were in flight back in their places.

        If the first waiting batch is one of them, it is not sent before `at_ms`.
        """
        tp = batches[0].tp
        queue = self._queues[tp]
        for batch in reversed(batches):
            if queue.put_back(batch):
                queue.resume_ms = at_ms
            self._expiring.put(_age(batch), batch)
        if queue.waiting[0] is batches[0]:
            heapq.heappush(self._pauses, (at_ms, batches[0].place, tp))
        self._land(tp)

    def resume(self, tp: TopicPartition) -> None:
        """End the partition's pause, if there is one."""
        queue = self._queues.get(tp)
        if queue is not None and queue.resume_ms is not None:
            queue.resume_ms = None
            self._note(tp)
            self._forget_if_empty(tp)

    def split(self, batch: Batch[W]) -> None:
        """Put a batch that was in flight and too large back in its place as two halves.

        The halves of a numbered batch share its sequences.
        """
        records, middle = list(iter_records(batch.data)), batch.records_count // 2
        self._release(batch)
        halves = []
        for places in (range(middle), range(middle, len(records))):
            half = self._part(batch, [records[place] for place in places], places)
            if batch.numbers is not None:
                numbers = batch.numbers.after(places.start)
                half.number(numbers, is_transactional=self._is_transactional)
            halves.append(half)
        self._queues[batch.tp].replace(batch, halves)
        self._land(batch.tp)

    def leave_out(self, batch: Batch[W], places: Collection[int]) -> None:
        """Put a batch that was in flight back in its place without the records at `places`.

        A numbered batch gets other numbers: break off its epoch.
        """
        records = list(iter_records(batch.data))
        kept = [place for place in range(len(records)) if place not in places]
        self._release(batch)
        rest = self._part(batch, [records[place] for place in kept], kept)
        self._queues[batch.tp].replace(batch, [rest])
        self._land(batch.tp)

    def _part(self, batch: Batch[W], records: Iterable[Record], places: Sequence[int]) -> Batch[W]:
        """A sealed batch of these `records`, which are at `places` of the other one."""
        part = self._new_batch(batch.tp, batch.created_ms, batch.topic_id)
        part.order = (batch.order[0], batch.order[1] + places[0])
        part.is_outcome_unknown = batch.is_outcome_unknown
        for record in records:
            part.size_bytes = part.builder.append(
                timestamp_ms=record.timestamp,
                key=record.key,
                value=record.value,
                headers=record.headers,
            )
        self._used_bytes += part.size_bytes - HEADER_BYTES
        part.runs = list(_kept_runs(batch.runs, places))
        part.seal()
        return part

    def expire(self, now_ms: int) -> list[Batch[W]]:
        """Remove and return the batches past the delivery timeout that are not in flight."""
        expired = []
        created_max_ms = now_ms - self._config.delivery_timeout_ms
        while self._expiring and self._expiring.first.created_ms <= created_max_ms:
            expired.append(self._expiring.first)
            self._drop(self._expiring.first)
        return expired

    def discard(self, tp: TopicPartition, is_gone: Callable[[bytes], bool]) -> list[Batch[W]]:
        """Remove and return the waiting batches for a deleted incarnation of the topic.

        They are the first that wait. Batches in flight are not removed until they are back.
        """
        queue = self._queues[tp]
        void = []
        while queue.waiting and is_gone(queue.waiting[0].topic_id):
            void.append(queue.waiting[0])
            self._drop(queue.waiting[0])
        return void

    def renumber(self, tp: TopicPartition) -> list[Batch[W]]:
        """Begin the next epoch of a partition whose sequence broke, once none is in flight.

        Until then no batch of the partition is ready. Removes and returns the batches that may have
        been appended, whose outcome stays unknown, and those that were overtaken: a log that had
        forgotten the producer appended a later batch first.
        """
        queue, sequences = self._queues.get(tp), self._sequences
        if sequences is None or self._is_transactional or not sequences.is_broken(tp):
            return []
        if queue is not None and queue.is_in_flight:
            self._note(tp)
            return []
        sequences.end_epoch(tp)
        if queue is None:
            return []
        sent = [batch for batch in queue.waiting if batch.numbers is not None]
        lost = [one for one in sent if one.is_outcome_unknown or queue.is_overtaken(one)]
        queue.sent.clear()
        for batch in sent:
            batch.numbers = None
        for batch in lost:
            self._drop(batch)
        self._land(tp)
        return lost

    def drop_waiting(self) -> list[Batch[W]]:
        """Remove and return all batches that are not in flight, of a transaction that failed."""
        waiting = [batch for batch in self._incomplete.values() if not batch.is_in_flight]
        for batch in waiting:
            self._drop(batch)
        return waiting

    def drop_all(self) -> list[Batch[W]]:
        """Remove and return all batches, of a transaction that is aborted.

        Those in flight are over: the caller ignores their answers.
        """
        flying = [batch for batch in self._incomplete.values() if batch.is_in_flight]
        dropped = self.drop_waiting()
        for batch in flying:
            self.complete([batch])
        for tp in list(self._queues):
            self.resume(tp)
        return dropped + flying

    def make_all_due(self) -> None:
        """End the linger of all batches."""
        for batch in self._lingering:
            batch.is_due = True
            self._note(batch.tp)
        self._lingering.clear()

    @property
    def _is_transactional(self) -> bool:
        return self._sequences is not None and self._sequences.is_transactional

    def _is_over(self, batch: Batch[W], now_ms: int) -> bool:
        return batch.is_due or batch.created_ms + self._config.linger_ms <= now_ms

    def _open_batch(
        self, tp: TopicPartition, size_bytes: int, now_ms: int, topic_id: bytes
    ) -> tuple[Batch[W], bool]:
        """The batch that takes a record of `size_bytes`, and whether it is new."""
        queue = self._queue(tp)
        if queue.waiting and not queue.waiting[-1].data:
            batch = queue.waiting[-1]
            has_room = batch.size_bytes + size_bytes <= self._config.batch_size
            if has_room and batch.topic_id == topic_id:
                return batch, False
            self._seal(batch)
        batch = self._new_batch(tp, now_ms, topic_id)
        self._lingering.append(batch)
        queue.waiting.append(batch)
        return batch, True

    def _queue(self, tp: TopicPartition) -> PartitionQueue[W]:
        queue = self._queues.get(tp)
        if queue is None:
            queue = self._queues[tp] = PartitionQueue()
        return queue

    def _new_batch(self, tp: TopicPartition, created_ms: int, topic_id: bytes) -> Batch[W]:
        self._place += 1
        builder = BatchBuilder(compression=self._config.codec, level=self._config.compression_level)
        batch: Batch[W] = Batch(
            tp, self._place, created_ms, builder, (self._place, 0), topic_id=topic_id
        )
        self._incomplete[batch.place] = batch
        self._expiring.put(_age(batch), batch)
        self._used_bytes += batch.size_bytes
        return batch

    def _grow(self, batch: Batch[W], waiter: W, first: int) -> None:
        """Note the records added to a batch since its record `first`."""
        builder = batch.builder
        batch.runs.append(Run(waiter, first, builder.records_count - first))
        self._used_bytes += builder.size_in_bytes - batch.size_bytes
        batch.size_bytes = builder.size_in_bytes

    def _seal(self, batch: Batch[W]) -> None:
        batch.seal()
        self._note(batch.tp)

    def _drop(self, batch: Batch[W]) -> None:
        """Remove a batch that is not in flight."""
        queue = self._queues[batch.tp]
        queue.waiting.remove(batch)
        queue.finish(batch)
        self._release(batch)
        self._land(batch.tp)

    def _release(self, batch: Batch[W]) -> None:
        del self._incomplete[batch.place]
        self._expiring.drop(_age(batch))
        self._used_bytes -= batch.size_bytes

    def _land(self, tp: TopicPartition) -> None:
        self._note(tp)
        self._forget_if_empty(tp)

    def _note(self, tp: TopicPartition) -> None:
        """Add the partition to the ready ones if it is ready, else remove it."""
        self._changes[tp] = None
        queue = self._queues.get(tp)
        if queue is None or not self._is_ready(tp, queue):
            self._ready.pop(tp, None)
        elif tp not in self._ready:
            self._rank += 1
            self._ready[tp] = self._rank

    def _is_ready(self, tp: TopicPartition, queue: PartitionQueue[W]) -> bool:
        is_broken = self._sequences is not None and self._sequences.is_broken(tp)
        return queue.is_ready(self._span_max(tp)) and not is_broken

    def _span_max(self, tp: TopicPartition) -> int | None:
        return None if self._sequences is None else self._sequences.in_flight_max(tp)

    def _forget_if_empty(self, tp: TopicPartition) -> None:
        queue = self._queues.get(tp)
        if queue is not None and queue.is_empty:
            del self._queues[tp]


def _age(batch: Batch[W]) -> tuple[int, int]:
    return batch.created_ms, batch.place


def _kept_runs(runs: Iterable[Run[W]], places: Sequence[int]) -> Iterator[Run[W]]:
    """The runs of the records at these ascending places, counted from the first of them."""
    first = 0
    for waiter, start, count in runs:
        end = bisect_left(places, start + count)
        if first < end:
            yield Run(waiter, first, end - first)
        first = end
