"""The book of what is committed: every batch below any high watermark, as it was seen there first.

Owns what is compared with it: the same offset holds the same batch for everyone and for good, base
offsets have no gap, epochs never decrease, an idempotent producer's sequences follow each other,
and no record lies there whose every attempt was answered as failed. Compacted topics have no
page, and that of a partition is closed by an unclean election: both change what was committed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.broker.partition.partition import Partition
from tidelog.chaos.invariants.batches import BatchOrder
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.transaction_order import TransactionOrder
from tidelog.chaos.node_inside import log_of
from tidelog.records.batch import BatchHeader

Key = tuple[bytes, int]
"""Topic id and partition."""


class Identity(NamedTuple):
    """Fields of a batch that stay the same from the producer to every replica."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int
    crc: int


def identity(header: BatchHeader) -> Identity:
    """Identity of the batch with this header."""
    return Identity(
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.records_count,
        header.crc,
    )


@dataclass(slots=True)
class Attempts:
    """Attempts to append a batch, and those answered with a definite error."""

    begun: int = 0
    refused: int = 0

    @property
    def is_refused(self) -> bool:
        """True if its producer knows that it is not stored."""
        return 0 < self.begun <= self.refused


@dataclass(slots=True)
class Page:
    """Committed batches of a partition, by base offset."""

    name: str
    batches: dict[int, BatchHeader] = field(default_factory=dict)
    order: BatchOrder = field(default_factory=BatchOrder)
    transactions: TransactionOrder = field(default_factory=TransactionOrder)
    identities: set[Identity] = field(default_factory=set)

    @property
    def end(self) -> int:
        """Offset behind the last batch; -1: there is none."""
        return self.order.end


class Book:
    """Pages of every partition. Reports contradictions."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._pages: dict[Key, Page] = {}
        self._exempt: set[Key] = set()  # never iterated
        self._attempts: dict[tuple[str, int, Identity], Attempts] = {}
        self.seen: Counter[str] = Counter()
        """Amounts compared."""

    def page(self, hosted: Partition) -> Page | None:
        """The partition's; None if what is committed there may change."""
        key = hosted.topic_id, hosted.partition
        log = log_of(hosted)
        if log is not None and log.config.is_compacted:
            self._exempt.add(key)
        if key in self._exempt:
            return None
        page = self._pages.get(key)
        if page is None:
            page = self._pages[key] = Page(hosted.name)
        return page

    def close(self, topic_id: bytes, partition: int) -> None:
        """Stop holding replicas to it: its committed records may be lost from now on."""
        self._exempt.add((topic_id, partition))

    def known(self, topic_id: bytes, partition: int) -> Page | None:
        """The page that was begun for it, unless it is exempt since."""
        key = topic_id, partition
        return None if key in self._exempt else self._pages.get(key)

    def compare(self, page: Page, header: BatchHeader) -> bool:
        """True if a batch is as the book says; True for one the book has nothing of."""
        if page.end < 0 or header.base_offset >= page.end:
            return True
        self.seen["compared"] += 1
        return page.batches.get(header.base_offset) == header

    def add(self, page: Page, header: BatchHeader, *, topic: str, partition: int) -> None:
        """A batch is committed that follows the last one."""
        at = f"{page.name}/{header.base_offset}"
        for broken in page.order.follow(f"committed {page.name}", header):
            self._report(*broken)
        for broken in page.transactions.follow(at, header):
            self._report(*broken)
        known = self._attempts.get((topic, partition, identity(header)))
        if known is not None and known.is_refused:
            self._report("I28", f"{at} is committed, every attempt to write it was refused")
        page.batches[header.base_offset] = header
        page.identities.add(identity(header))
        self.seen["committed"] += 1

    def note_attempt(self, topic: str, partition: int, batch: Identity) -> None:
        """A producer's batch came to a leader."""
        self._attempts.setdefault((topic, partition, batch), Attempts()).begun += 1

    def note_refusal(self, topic: str, partition: int, batch: Identity, page: Page | None) -> None:
        """It was answered with a definite error."""
        attempts = self._attempts.setdefault((topic, partition, batch), Attempts())
        attempts.refused += 1
        if attempts.is_refused and page is not None and batch in page.identities:
            self._report("I28", f"{batch} of {page.name} was refused, and is committed")
