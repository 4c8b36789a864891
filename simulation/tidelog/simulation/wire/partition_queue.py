"""Batches of one partition of a producer: numbered, in flight, to be sent again. Pure.

    waiting ─► in flight ─► acknowledged
                   │ ▲
                   ▼ │        an error that may pass; alone, the first of those without an answer
               to be sent again ─► failed, when its time is over or an error is final

Up to IN_FLIGHT_MAX batches are in flight together, the first one alone. A batch's number is that of
its first attempt: what was sent once is never sent under another (KIP-98).
OUT_OF_ORDER_SEQUENCE_NUMBER is no error while a batch before it has no answer.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

from tidelog.records.batch import BATCHES_PER_PRODUCER_MAX

IN_FLIGHT_MAX = BATCHES_PER_PRODUCER_MAX

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Batch(Generic[T]):
    """Records that are sent together."""

    items: list[T]
    sequence: int
    """Number of the first record."""
    created_s: float
    is_in_flight: bool = True
    is_outcome_unknown: bool = False
    """True if an attempt may have been stored."""
    reason: str = ""
    """The last error."""


class PartitionQueue(Generic[T]):
    """See the module."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[T, float]] = deque()
        """Items that are in no batch yet, and when they came."""
        self._sent: list[Batch[T]] = []
        """Batches without a final answer, in the order of their numbers."""
        self._next_sequence = 0
        self._is_known = False
        """True when the log knows the producer: from a stranger it takes any number."""

    @property
    def is_empty(self) -> bool:
        """True if all that was added has ended."""
        return not self.waiting and not self._sent

    def next_batch(self, records_max: int) -> Batch[T] | None:
        """Return the batch to send now, which is in flight then."""
        again = next((one for one in self._sent if not one.is_in_flight), None)
        if again is not None:
            if any(one.is_in_flight for one in self._sent):
                return None
            again.is_in_flight = True
            return again
        if not self.waiting or len(self._sent) >= (IN_FLIGHT_MAX if self._is_known else 1):
            return None
        _, created_s = self.waiting[0]
        count = min(records_max, len(self.waiting))
        items = [self.waiting.popleft()[0] for _ in range(count)]
        batch = Batch(items, self._next_sequence, created_s)
        self._next_sequence += count
        self._sent.append(batch)
        return batch

    def is_first(self, batch: Batch[T]) -> bool:
        """True if every batch before it is acknowledged."""
        return bool(self._sent) and self._sent[0] is batch

    def end(self, batch: Batch[T]) -> None:
        """Forget a batch that is acknowledged."""
        self._is_known = True
        if batch in self._sent:
            self._sent.remove(batch)

    def put_back(self, batch: Batch[T], reason: str, *, is_outcome_unknown: bool) -> None:
        """Send it again later."""
        batch.is_in_flight = False
        batch.is_outcome_unknown |= is_outcome_unknown
        batch.reason = reason

    def oldest_s(self) -> float | None:
        """When the oldest item without an end came."""
        if self._sent:
            return self._sent[0].created_s
        return self.waiting[0][1] if self.waiting else None

    def drop_all(self) -> list[tuple[T, bool]]:
        """Give up everything: each item, and whether it may be stored."""
        dropped = [
            (item, batch.is_in_flight or batch.is_outcome_unknown)
            for batch in self._sent
            for item in batch.items
        ]
        dropped += [(item, False) for item, _ in self.waiting]
        self._sent.clear()
        self.waiting.clear()
        return dropped
