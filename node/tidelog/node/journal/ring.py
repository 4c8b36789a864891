"""A bounded journal of the newest events, numbered; repeated refusals are merged.

Refusals and events of consumer groups have rings of their own, a quarter of the journal each, and
those of transactions an eighth, so that any number of different ones does not evict events of
leaders and ISRs. A repeated refusal, see `same_refusal`, increments the count of the first for a
minute.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice

from tidelog.core.journal import Event, Kind

REPEAT_MS_MAX = 60_000
_SHARE = 4
"""Refusals, and events of groups, take at most one part of so many, those of transactions half."""
_ENTRY_BYTES = 500
"""Approximate memory of an entry without its texts."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An event in the journal; times are wall-clock milliseconds."""

    sequence: int
    time_ms: int
    last_ms: int
    count: int
    event: Event


class Journal:
    """Journal; sequences increase by one per event, from `first_sequence` on."""

    def __init__(self, *, size_max: int, bytes_max: int, first_sequence: int = 1) -> None:
        self.next_sequence = first_sequence
        size, size_bytes = max(1, size_max // _SHARE), bytes_max // _SHARE
        self._refusals, self._groups = _Ring(size, size_bytes), _Ring(size, size_bytes)
        few, few_bytes = max(1, size // 2), size_bytes // 2
        self._transactions = _Ring(few, few_bytes)
        self._events = _Ring(
            max(1, size_max - 2 * size - few), bytes_max - 2 * size_bytes - few_bytes
        )
        self._repeating: dict[tuple[object, ...], int] = {}

    def __len__(self) -> int:
        return sum(len(ring.entries) for ring in self._rings)

    @property
    def size_bytes(self) -> int:
        """Approximate memory of all entries."""
        return sum(ring.size_bytes for ring in self._rings)

    @property
    def _rings(self) -> tuple[_Ring, ...]:
        return self._events, self._refusals, self._groups, self._transactions

    def _ring_of(self, kind: Kind) -> _Ring:
        if kind == Kind.TRANSACTION:
            return self._transactions
        return self._groups if kind == Kind.GROUP else self._events

    def note(self, event: Event, time_ms: int) -> None:
        """Add an event that happened at `time_ms`."""
        event = event.within_bounds()
        if event.kind != Kind.REFUSAL:
            self._ring_of(event.kind).add(self._entry(event, time_ms))
            return
        key = same_refusal(event)
        known = self._refusals.entries.get(self._repeating.get(key, -1))
        if known is not None and time_ms - known.time_ms < REPEAT_MS_MAX:
            self._refusals.entries[known.sequence] = replace(
                known, last_ms=time_ms, count=known.count + 1
            )
            return
        entry = self._entry(event, time_ms)
        self._repeating[key] = entry.sequence
        for gone in self._refusals.add(entry):
            gone_key = same_refusal(gone.event)
            if self._repeating.get(gone_key) == gone.sequence:
                del self._repeating[gone_key]

    def page(
        self, *, after: int, limit: int, matches: Callable[[Entry], bool] = lambda _: True
    ) -> list[Entry]:
        """List the oldest `limit` matching entries with a sequence above `after`."""
        entries = merge(*(ring.entries.values() for ring in self._rings), key=_sequence)
        found = (one for one in entries if one.sequence > after and matches(one))
        return list(islice(found, limit))

    def _entry(self, event: Event, time_ms: int) -> Entry:
        self.next_sequence += 1
        return Entry(self.next_sequence - 1, time_ms, time_ms, 1, event)


class _Ring:
    """Entries by sequence, oldest first; the oldest are evicted beyond the limits."""

    def __init__(self, size_max: int, bytes_max: int) -> None:
        # An OrderedDict, since finding a dict's first entry walks all slots removed before it.
        self.entries: OrderedDict[int, Entry] = OrderedDict()
        self.size_bytes = 0
        self._size_max = size_max
        self._bytes_max = bytes_max

    def add(self, entry: Entry) -> list[Entry]:
        """Append an entry; return the evicted ones."""
        self.entries[entry.sequence] = entry
        self.size_bytes += _size_of(entry)
        return list(self._trim())

    def _trim(self) -> Iterator[Entry]:
        while len(self.entries) > 1 and (
            len(self.entries) > self._size_max or self.size_bytes > self._bytes_max
        ):
            _, gone = self.entries.popitem(last=False)
            self.size_bytes -= _size_of(gone)
            yield gone


def same_refusal(event: Event) -> tuple[object, ...]:
    """Key of a refusal, equal for those merged into one: all but the text of the cause."""
    return (event.topic, event.partition, event.broker_id, event.before, event.after)


def _sequence(entry: Entry) -> int:
    return entry.sequence


def _size_of(entry: Entry) -> int:
    event = entry.event
    texts = (event.cause, event.before, event.after, event.topic, event.group)
    return _ENTRY_BYTES + sum(map(len, texts))
