"""Invariants of transactions in one log, batch by batch. Pure.

I20  a producer's sequences follow each other, from 0 in each epoch
I21  a producer's epochs never fall; a marker has a higher one than what it ends (KIP-890), so that
     nothing of its transaction can come after it
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.chaos.invariants.replicas import Broken
from tidelog.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG, BatchHeader
from tidelog.records.records import read_marker

SEQUENCES = 1 << 31


class Open(NamedTuple):
    """A transaction without a marker: its first offset, its epoch."""

    first_offset: int
    epoch: int


@dataclass(slots=True)
class TransactionOrder:
    """Producers of a log up to some batch."""

    sequences: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The newest epoch and the next sequence of each producer."""
    open: dict[int, Open] = field(default_factory=dict)
    """By producer id."""

    @property
    def first_open_offset(self) -> int | None:
        """First offset of the oldest transaction without a marker."""
        return min((one.first_offset for one in self.open.values()), default=None)

    def follow(self, at: str, header: BatchHeader) -> Broken:
        """Yield what this batch breaks, then go on behind it; consume all of it."""
        if header.producer_id < 0:
            return
        epoch, expected = self.sequences.get(header.producer_id, (-1, 0))
        is_control = bool(header.attributes & CONTROL_FLAG)
        if header.producer_epoch < epoch:
            yield "I21", f"{at}: epoch {header.producer_epoch} after {epoch}: {header}"
        elif is_control:
            yield from self._follow_marker(at, header)
        elif header.base_sequence != (expected if header.producer_epoch == epoch else 0):
            yield "I20", f"{at}: sequence {expected} is next: {header}"
        if is_control:
            following = expected if header.producer_epoch == epoch else 0
        else:
            following = (header.base_sequence + header.last_offset_delta + 1) % SEQUENCES
            yield from self._follow_batch(at, header)
        self.sequences[header.producer_id] = header.producer_epoch, following

    def _follow_marker(self, at: str, header: BatchHeader) -> Broken:
        ended = self.open.pop(header.producer_id, None)
        if ended is not None and header.producer_epoch <= ended.epoch:
            epochs = f"{header.producer_epoch} ends a transaction of epoch {ended.epoch}"
            yield "I21", f"{at}: a marker of epoch {epochs}"

    def _follow_batch(self, at: str, header: BatchHeader) -> Broken:
        known = self.open.get(header.producer_id)
        if not header.attributes & TRANSACTIONAL_FLAG:
            if known is not None:
                yield "I22", f"{at}: {header} is in no transaction, its producer's is open"
        elif known is None:
            self.open[header.producer_id] = Open(header.base_offset, header.producer_epoch)
        elif known.epoch != header.producer_epoch:
            yield "I22", f"{at}: {header} follows the open transaction of epoch {known.epoch}"


def rebuilt_aborted(batches: Iterable[tuple[BatchHeader, memoryview]]) -> list[tuple[int, int]]:
    """Producer id and first offset of each aborted transaction in these batches, by first offset.

    Raises `CorruptMessageError` for a control batch that is no marker.
    """
    open_: dict[int, int] = {}
    found: list[tuple[int, int]] = []
    for header, batch in batches:
        if header.attributes & CONTROL_FLAG and header.records_count:
            first = open_.pop(header.producer_id, None)
            if first is not None and not read_marker(batch).is_commit:
                found.append((header.producer_id, first))
        elif header.attributes & TRANSACTIONAL_FLAG:
            open_.setdefault(header.producer_id, header.base_offset)
    return sorted(found, key=lambda one: one[1])
