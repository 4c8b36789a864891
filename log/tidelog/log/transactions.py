"""Transactions of one log that are not decided yet: open, or ended above the high watermark. Pure.

    begin             the first batch of a transaction was appended
    end               its marker was appended: it is decided once that is below the high watermark
    raise_high_watermark   what is decided is forgotten

A marker at or above the high watermark may still be truncated, after which the transaction is open
again: readers of committed records must not pass its first batch before that. Facts: Kafka's
ProducerStateManager (ongoingTxns, unreplicatedTxns).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import NamedTuple

from tidelog.log.epochs import NO_END


class EndedTransaction(NamedTuple):
    """A transaction with its marker in the log."""

    producer_id: int
    first_offset: int
    marker_offset: int


class CompletedTransaction(NamedTuple):
    """The end of a transaction, as an entry of the transaction index has it."""

    producer_id: int
    first_offset: int
    last_offset: int
    """Offset of the marker."""
    last_stable_offset: int
    """First offset of the oldest other transaction that was open then; else that behind this."""
    is_commit: bool


class Step(NamedTuple):
    """A batch of a transaction, or its marker."""

    producer_id: int
    offset: int
    is_commit: bool | None
    """None: no marker."""


class Transactions:
    """Undecided transactions, at most one of them open per producer."""

    def __init__(self, *, high_watermark: int = 0) -> None:
        self.high_watermark = high_watermark
        self._open: dict[int, int] = {}
        """First offset of each open transaction by producer id, ascending."""
        self._ended: deque[EndedTransaction] = deque()
        """Those with a marker at or above the high watermark, by marker."""
        self._undecided: OrderedDict[int, int] = OrderedDict()
        """Producer id by first offset, ascending: of both kinds."""
        self._count_by_producer: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._undecided)

    @property
    def open_count(self) -> int:
        """Number of open transactions."""
        return len(self._open)

    @property
    def producers_count(self) -> int:
        """Number of producers with an undecided transaction."""
        return len(self._count_by_producer)

    @property
    def first_open_offset(self) -> int | None:
        """First offset of the oldest open transaction."""
        return next(iter(self._open.values()), None)

    @property
    def first_undecided_offset(self) -> int | None:
        """First offset of the oldest undecided transaction."""
        return next(iter(self._undecided), None)

    @property
    def ended(self) -> tuple[EndedTransaction, ...]:
        """Transactions that ended at or above the high watermark, by marker."""
        return tuple(self._ended)

    def is_open(self, producer_id: int) -> bool:
        """True when the producer has an open transaction."""
        return producer_id in self._open

    def is_undecided(self, producer_id: int) -> bool:
        """True when any transaction of the producer is undecided."""
        return producer_id in self._count_by_producer

    def begin(self, producer_id: int, first_offset: int) -> None:
        """Open a transaction; its first offset is above those of all others."""
        self._open[producer_id] = first_offset
        self._note(producer_id, first_offset)

    def end(
        self, producer_id: int, marker_offset: int, *, is_commit: bool
    ) -> CompletedTransaction | None:
        """End the producer's open transaction; None when there is none."""
        first_offset = self._open.pop(producer_id, None)
        if first_offset is None:
            return None
        ended = EndedTransaction(producer_id, first_offset, marker_offset)
        if marker_offset < self.high_watermark:
            self._forget(ended)
        else:
            self._ended.append(ended)
        first_open = self.first_open_offset
        stable_offset = marker_offset + 1 if first_open is None else first_open
        return CompletedTransaction(*ended, stable_offset, is_commit)

    def raise_high_watermark(self, offset: int) -> None:
        """Forget transactions whose marker is below `offset`; a lower one changes nothing."""
        self.high_watermark = max(self.high_watermark, offset)
        while self._ended and self._ended[0].marker_offset < self.high_watermark:
            self._forget(self._ended.popleft())

    def aborted_by(self, steps: Iterable[Step]) -> list[CompletedTransaction]:
        """Aborted transactions that these batches would end; changes nothing."""
        after = Transactions(high_watermark=NO_END)
        after._open = dict(self._open)
        after._undecided = OrderedDict((first, who) for who, first in self._open.items())
        after._count_by_producer = dict.fromkeys(self._open, 1)
        found = []
        for producer_id, offset, is_commit in steps:
            if is_commit is None:
                if not after.is_open(producer_id):
                    after.begin(producer_id, offset)
            else:
                completed = after.end(producer_id, offset, is_commit=is_commit)
                if completed is not None and not is_commit:
                    found.append(completed)
        return found

    def lower_high_watermark(self, log_end_offset: int) -> None:
        """Lower the high watermark to the end of a log that lost its last batches."""
        self.high_watermark = min(self.high_watermark, log_end_offset)

    def adopt(self, ended: Iterable[EndedTransaction]) -> None:
        """Add transactions that ended before those known here; decided ones are left out."""
        older = [one for one in ended if one.marker_offset >= self.high_watermark]
        self._ended = deque(sorted([*older, *self._ended], key=lambda one: one.marker_offset))
        for one in older:
            self._note(one.producer_id, one.first_offset)
        self._undecided = OrderedDict(sorted(self._undecided.items()))

    def clear(self) -> None:
        """Forget all transactions, and the high watermark."""
        self.high_watermark = 0
        self._open.clear()
        self._ended.clear()
        self._undecided.clear()
        self._count_by_producer.clear()

    def _note(self, producer_id: int, first_offset: int) -> None:
        self._undecided[first_offset] = producer_id
        count = self._count_by_producer.get(producer_id, 0)
        self._count_by_producer[producer_id] = count + 1

    def _forget(self, ended: EndedTransaction) -> None:
        del self._undecided[ended.first_offset]
        count = self._count_by_producer.pop(ended.producer_id) - 1
        if count:
            self._count_by_producer[ended.producer_id] = count
