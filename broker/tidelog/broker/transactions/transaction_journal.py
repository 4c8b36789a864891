"""The journal of transactions: those that their producer did not end, and fenced producers.

Observes the shards, around `DecidedMarkers`. What a decision did is noted once the in-sync replicas
have its record, and dropped when the leadership ends before. The reason is the caller's to say:
what a producer does with its own transaction is no event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.transactions.decided_markers import DecidedMarkers, HostedTransactions
from tidelog.broker.transactions.transaction import Transaction
from tidelog.core.journal import Event, Kind

PENDING_MAX = 1_000
"""Events of a shard that wait for the commit of their records; further ones are left out."""


class _Pending(NamedTuple):
    """An event that may be noted when the records below `offset` are committed."""

    offset: int
    event: Event


class TransactionJournal:
    """Events of the transactions of this broker. A `RuntimeWatch`, which passes all on."""

    def __init__(self, markers: DecidedMarkers, note: Callable[[Event], None]) -> None:
        self.left_out = 0
        """Number of events that were left out since the start."""
        self._markers = markers
        self._note = note
        self._cause = ""
        self._pending: dict[HostedTransactions, deque[_Pending]] = {}

    @contextmanager
    def because(self, cause: str) -> Iterator[None]:
        """Give what is appended within, without an `await`, its reason."""
        self._cause = cause
        try:
            yield
        finally:
            self._cause = ""

    # RuntimeWatch

    def replaying(
        self,
        hosted: HostedTransactions,
        records: Sequence[CoordinatorRecord],
        replay: Callable[[], None],
    ) -> None:
        """See `RuntimeWatch`."""
        names = [one.key.transaction.transactional_id for one in records] if self._cause else []
        before = {name: hosted.shard.transactions.get(name) for name in names}
        self._markers.replaying(hosted, records, replay)
        waiting = self._pending.setdefault(hosted, deque())
        for name in names:
            event = self._event(hosted, before[name], hosted.shard.transactions.get(name))
            if event is None:
                continue
            if len(waiting) < PENDING_MAX:
                waiting.append(_Pending(hosted.end_offset, event))
            else:
                self.left_out += 1

    def on_committed(self, hosted: HostedTransactions) -> None:
        """See `RuntimeWatch`."""
        waiting = self._pending.get(hosted)
        while waiting and waiting[0].offset <= hosted.high_watermark:
            self._note(waiting.popleft().event)
        self._markers.on_committed(hosted)

    def on_loaded(self, hosted: HostedTransactions, *, records: int, took_ms: int) -> None:
        """See `RuntimeWatch`."""
        self._markers.on_loaded(hosted, records=records, took_ms=took_ms)

    def on_ended(self, hosted: HostedTransactions) -> None:
        """See `RuntimeWatch`: of what is not committed the outcome is unknown."""
        self._pending.pop(hosted, None)
        self._markers.on_ended(hosted)

    def _event(
        self, hosted: HostedTransactions, before: Transaction | None, after: Transaction | None
    ) -> Event | None:
        if before is None or after is None:
            return None  # its first producer, which fences nobody
        return Event(
            Kind.TRANSACTION,
            f"{before.transactional_id}: {self._cause}",
            before=_shown(before),
            after=_shown(after),
            topic=hosted.leadership.topic,
            partition=hosted.partition,
            leader_epoch=hosted.leadership.leader_epoch,
        )


def _shown(one: Transaction) -> str:
    return f"{one.state.name}, producer {one.producer.id} epoch {one.producer.epoch}"
